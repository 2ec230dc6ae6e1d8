//! The tensor map, decoded for copying.

use core::fmt;

use fa3_sys::TensorMap;
use fa3_sys::tensormap::{Access, DataType, Fill, Interleave, MAX_RANK, TensorMapDesc};

use crate::engine::swizzle::Swizzle;

use super::TmaError;

/// A tensor and how its tiles are copied.
///
/// Emulated are tiled maps as Hopper has them, without interleave, filled with zeros, of element types
/// that a copy does not change. With a swizzle, a row of the box is as long as the swizzle's span.
///
/// ```
/// use fa3_emu::engine::tma::TileMap;
/// use fa3_sys::tensormap::{DataType, TensorMapDesc};
/// let mut global: Vec<u8> = (0..64).collect();
/// let desc = TensorMapDesc::contiguous(DataType::U8, &[16, 4], &[16, 2])?;
/// let map = TileMap::decode(desc.to_map_bytes(0)?.as_bytes())?;
/// let mut shared = [0xff; 128];
/// assert_eq!(map.load(&[0, 3], &global[..], 0, &mut shared)?, 32);
/// assert_eq!(shared[..16], global[48..], "the tensor's last row");
/// assert_eq!(shared[16..32], [0; 16], "and one beyond it");
/// map.store(&[0, 0], &shared, 0, &mut global[..])?;
/// assert_eq!(global[..2], [48, 49]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileMap {
    pub(super) desc: TensorMapDesc,
    pub(super) address: u64,
    pub(super) swizzle: Swizzle,
    /// Bytes of an element.
    pub(super) element: usize,
    /// Bytes of a row of the box.
    pub(super) row: usize,
    /// Elements copied in each dimension.
    pub(super) counts: [u32; MAX_RANK],
    /// Bytes of a tile in shared memory.
    pub(super) tile: u32,
}

impl TileMap {
    /// The map that [`TensorMapDesc::to_map_bytes`] encoded.
    ///
    /// # Errors
    /// [`TmaError::Map`] for other bytes, [`TmaError::Unsupported`] for what is not emulated.
    pub fn decode(bytes: &[u8; 128]) -> Result<Self, TmaError> {
        let (desc, address) = TensorMapDesc::from_map_bytes(&TensorMap::from_bytes(*bytes))?;
        Self::new(&desc, address)
    }

    /// The map of a tensor at `address`.
    ///
    /// # Errors
    /// [`TmaError::Map`] for an illegal description, [`TmaError::Unsupported`] for what is not
    /// emulated.
    pub fn new(desc: &TensorMapDesc, address: u64) -> Result<Self, TmaError> {
        desc.validate(address).map_err(|error| TmaError::Map(error.into()))?;
        let data_type = desc.data_type();
        let (Access::Tiled { box_extents }, Some(tile)) = (desc.access(), desc.box_bytes()) else {
            return Err(unsupported("an im2col or interleaved layout", "a tiled map without interleave"));
        };
        if desc.interleave() != Interleave::None {
            return Err(unsupported(format_args!("interleave {}", desc.interleave()), "none"));
        }
        if data_type.is_packed() || is_converted(data_type) {
            return Err(unsupported(
                format_args!("elements of {data_type}"),
                "a type of whole bytes that a copy does not change",
            ));
        }
        if desc.fill() != Fill::Zeros {
            return Err(unsupported(format_args!("fill {}", desc.fill()), "zeros"));
        }
        let swizzle = Swizzle::of_map(desc.swizzle()).ok_or_else(|| {
            unsupported(format_args!("swizzle {}", desc.swizzle()), "none, 32B, 64B or 128B")
        })?;
        let mut counts = [1; MAX_RANK];
        let steps = desc.element_strides();
        for (dim, (count, &step)) in counts.iter_mut().zip(steps).enumerate() {
            let size = box_extents.get(dim).copied().unwrap_or(1);
            *count = size.div_ceil(if dim == 0 { 1 } else { step.max(1) });
        }
        let element = usize::try_from(data_type.bits() / 8).unwrap_or(usize::MAX);
        let row = usize::try_from(counts[0]).unwrap_or(usize::MAX).saturating_mul(element);
        if swizzle != Swizzle::None && row != swizzle.span_bytes() {
            return Err(unsupported(
                format_args!("rows of {row} bytes in swizzle {}", desc.swizzle()),
                "a row as long as the swizzle's span",
            ));
        }
        let tile = u32::try_from(tile).unwrap_or(u32::MAX);
        Ok(Self { desc: *desc, address, swizzle, element, row, counts, tile })
    }

    /// The tensor and its boxes.
    pub const fn desc(&self) -> &TensorMapDesc {
        &self.desc
    }

    /// The tensor's address.
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Bytes of a tile in shared memory. A copy counts them all on its mbarrier, those of elements
    /// outside the tensor too.
    pub const fn tile_bytes(&self) -> u32 {
        self.tile
    }
}

/// Whether a copy changes values of this type: subnormal numbers become zeros, or mantissas are cut.
fn is_converted(data_type: DataType) -> bool {
    matches!(data_type, DataType::F32Ftz | DataType::Tf32 | DataType::Tf32Ftz)
}

fn unsupported(what: impl fmt::Display, instead: &'static str) -> TmaError {
    TmaError::Unsupported { what: what.to_string(), instead }
}
