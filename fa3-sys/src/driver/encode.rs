//! Tensor maps, encoded by the driver.

use bytemuck::Zeroable;

use super::context::Context;
use super::error::{DriverError, check};
use super::memory::DevicePtr;
use super::probe::entry;
use crate::tensormap::{Access, TensorMap, TensorMapDesc, TensorMapError};

/// Why a tensor map was not encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The description breaks a rule; the driver was not asked.
    #[error("tensor map `{desc}` at {address}: {source}")]
    Refused {
        /// The description.
        desc: Box<TensorMapDesc>,
        /// The tensor's address.
        address: DevicePtr,
        /// The rule, and what would do.
        source: TensorMapError,
    },
    /// The driver refused what the rules allow, or could not be asked.
    #[error("tensor map `{desc}` at {address} breaks no known rule, but: {source}")]
    Driver {
        /// The description.
        desc: Box<TensorMapDesc>,
        /// The tensor's address.
        address: DevicePtr,
        /// What the driver said.
        source: DriverError,
    },
}

impl TensorMapDesc {
    /// Encodes the map of a tensor at `address`, for kernels on the context's device. The map holds
    /// the address and nothing else of the tensor: it stays good for as long as the memory does.
    ///
    /// ```no_run
    /// use fa3_sys::driver::{Buffer, Context, Stream};
    /// use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = Context::open(0)?;
    /// let data = Buffer::from_slice(&Stream::new(&context)?, &vec![0_u16; 64 * 1000])?;
    /// let desc = TensorMapDesc::contiguous(DataType::Bf16, &[64, 1000], &[64, 128])?
    ///     .with_swizzle(Swizzle::Bytes128);
    /// let map = desc.encode(&context, data.ptr())?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`EncodeError::Refused`] where [`validate`](Self::validate) or, for the device's
    /// architecture, [`supported_on`](Self::supported_on) fails; [`EncodeError::Driver`] for what
    /// the driver says.
    pub fn encode(&self, context: &Context, address: DevicePtr) -> Result<TensorMap, EncodeError> {
        let refused = |source| EncodeError::Refused { desc: Box::new(*self), address, source };
        self.validate(address.0).map_err(refused)?;
        self.supported_on(context.arch()).map_err(refused)?;
        let rank = u32::try_from(self.rank()).unwrap_or(0);
        ask_driver(context, self, rank, address).map_err(|source| EncodeError::Driver {
            desc: Box::new(*self),
            address,
            source,
        })
    }
}

/// Slots of each array argument: more than the driver reads for any rank up to this.
const SLOTS: usize = 8;

/// What the driver makes of a description, unchecked, were its rank `rank` (at most `SLOTS`): for the
/// test that compares the driver's verdicts with ours.
#[doc(hidden)]
pub fn ask_driver(
    context: &Context,
    desc: &TensorMapDesc,
    rank: u32,
    address: DevicePtr,
) -> Result<TensorMap, DriverError> {
    context.bind()?;
    let driver = entry()?;
    let rank = rank.min(SLOTS as u32);
    let extents = filled(desc.extents(), 1);
    let strides = filled(desc.strides(), 32);
    let element_strides = filled(desc.element_strides(), 1);
    let data_type = desc.data_type().code();
    let address = core::ptr::without_provenance_mut(usize::try_from(address.0).unwrap_or(usize::MAX));
    let (interleave, swizzle) = (desc.interleave().code(), desc.swizzle().code());
    let (promotion, fill) = (desc.l2_promotion().code(), desc.fill().code());
    let mut map = TensorMap::zeroed();
    match desc.access() {
        Access::Tiled { box_extents } => {
            let box_extents = filled(box_extents, 1);
            // SAFETY: `map` is 128 bytes, aligned to 128. The driver reads at most `rank` elements
            // of each array, and each has `SLOTS`. It reads nothing at `address`.
            let code = unsafe {
                (driver.tensor_map_encode_tiled)(
                    (&raw mut map).cast(),
                    data_type,
                    rank,
                    address,
                    extents.as_ptr(),
                    strides.as_ptr(),
                    box_extents.as_ptr(),
                    element_strides.as_ptr(),
                    interleave,
                    swizzle,
                    promotion,
                    fill,
                )
            };
            check("cuTensorMapEncodeTiled", code)?;
        }
        Access::Im2col(columns) => {
            let (lower, upper) = (filled(columns.lower_corner(), 0), filled(columns.upper_corner(), 0));
            // SAFETY: as above; the driver reads `rank - 2` offsets of each corner.
            let code = unsafe {
                (driver.tensor_map_encode_im2col)(
                    (&raw mut map).cast(),
                    data_type,
                    rank,
                    address,
                    extents.as_ptr(),
                    strides.as_ptr(),
                    lower.as_ptr(),
                    upper.as_ptr(),
                    columns.channels,
                    columns.pixels,
                    element_strides.as_ptr(),
                    interleave,
                    swizzle,
                    promotion,
                    fill,
                )
            };
            check("cuTensorMapEncodeIm2col", code)?;
        }
    }
    Ok(map)
}

/// `values`, and `rest` in the slots that they leave.
fn filled<T: Copy>(values: &[T], rest: T) -> [T; SLOTS] {
    let mut slots = [rest; SLOTS];
    slots.iter_mut().zip(values).for_each(|(slot, &value)| *slot = value);
    slots
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;
    use crate::tensormap::DataType;

    #[test]
    fn slots_past_the_values_hold_the_rest() {
        assert_eq!(filled(&[1, 2, 3], 9), [1, 2, 3, 9, 9, 9, 9, 9]);
        assert_eq!(filled(&[7; 10], 9), [7; SLOTS]);
    }

    #[test]
    fn a_refusal_prints_the_description_and_the_rule() {
        let desc = TensorMapDesc::contiguous(DataType::Bf16, &[64, 100], &[64, 16]).unwrap();
        let source = desc.validate(0x1008).unwrap_err();
        let error = EncodeError::Refused { desc: Box::new(desc), address: DevicePtr(0x1008), source };
        let message = error.to_string();
        assert!(
            message.starts_with("tensor map `tiled bf16 [64, 100] strides [128] box [64, 16]` at 0x1008: ")
        );
        assert!(message.contains("16-byte aligned"), "{message}");
        assert!(error.source().is_some());
    }
}
