//! A tensor map's own byte form, for devices that are emulated: what the driver writes into the 128
//! bytes is not documented.

use super::desc::{Access, MAX_RANK, TensorMapDesc};
use super::error::TensorMapError;
use super::types::{DataType, Fill, Interleave, L2Promotion, Swizzle};
use super::value::TensorMap;

/// What the bytes begin with: a name and the version of the layout.
///
/// After it, little-endian: address (u64); extents less one (5 × u32); strides (4 × u64); element
/// strides (5 × u8); type, interleave, swizzle, L2 promotion, fill, rank and mode (7 × u8); then a
/// box (5 × u16), or corners (6 × i32), channels and pixels (2 × u16); zeros to the end.
const MAGIC: [u8; 8] = *b"fa3tmap\x01";
/// The value of the mode's byte.
const TILED: u8 = 0;
const IM2COL: u8 = 1;

/// Why bytes are no map of [`TensorMapDesc::to_map_bytes`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapBytesError {
    /// They begin with something else.
    #[error(
        "the tensor map begins with {found:02x?}, but a description for an emulated device begins with \
         {MAGIC:02x?}: encode it with TensorMapDesc::to_map_bytes"
    )]
    Magic {
        /// The first 8 bytes.
        found: [u8; 8],
    },
    /// A field has a value that no description has.
    #[error("byte {at} of the tensor map, its {field}, is {value}, but at most {max} would do")]
    Field {
        /// Where it is.
        at: usize,
        /// What it is.
        field: &'static str,
        /// Its value.
        value: u8,
        /// The greatest allowed value.
        max: usize,
    },
    /// A byte beyond the description is not zero.
    #[error("byte {at} of the tensor map is {value}, but those past the description are 0")]
    Trailing {
        /// Where it is.
        at: usize,
        /// Its value.
        value: u8,
    },
    /// The description is not legal.
    #[error("the tensor map holds an illegal description: {0}")]
    Illegal(#[from] TensorMapError),
}

impl TensorMapDesc {
    /// The map of a tensor at `address` in a form of our own, which [`from_map_bytes`] reads: what a
    /// kernel on an emulated device receives in the place of the driver's encoding. A GPU does not
    /// understand it.
    ///
    /// ```
    /// use fa3_sys::tensormap::{DataType, TensorMapDesc};
    /// let desc = TensorMapDesc::contiguous(DataType::Bf16, &[64, 100], &[64, 16])?;
    /// let map = desc.to_map_bytes(0x1000)?;
    /// assert_eq!(TensorMapDesc::from_map_bytes(&map)?, (desc, 0x1000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`from_map_bytes`]: Self::from_map_bytes
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate), as the driver refuses to encode an illegal map.
    pub fn to_map_bytes(&self, address: u64) -> Result<TensorMap, TensorMapError> {
        self.validate(address)?;
        let mut out = Writer { bytes: [0; 128], at: 0 };
        out.put(MAGIC);
        out.put(address.to_le_bytes());
        // Every number of a legal map fits its field: `as` cuts nothing off.
        for dim in 0..MAX_RANK {
            let extent = self.extents().get(dim).map_or(0, |extent| extent.saturating_sub(1));
            out.put((extent as u32).to_le_bytes());
        }
        for dim in 0..MAX_RANK - 1 {
            out.put(self.strides().get(dim).copied().unwrap_or(0).to_le_bytes());
        }
        for dim in 0..MAX_RANK {
            out.put([self.element_strides().get(dim).copied().unwrap_or(1) as u8]);
        }
        let mode = if matches!(self.access(), Access::Tiled { .. }) { TILED } else { IM2COL };
        out.put([
            self.data_type().code() as u8,
            self.interleave().code() as u8,
            self.swizzle().code() as u8,
            self.l2_promotion().code() as u8,
            self.fill().code() as u8,
            self.rank() as u8,
            mode,
        ]);
        match self.access() {
            Access::Tiled { box_extents } => {
                box_extents.iter().for_each(|&extent| out.put((extent as u16).to_le_bytes()));
            }
            Access::Im2col(columns) => {
                let corners = columns.lower_corner().iter().chain(columns.upper_corner());
                corners.for_each(|offset| out.put(offset.to_le_bytes()));
                out.put((columns.channels as u16).to_le_bytes());
                out.put((columns.pixels as u16).to_le_bytes());
            }
        }
        Ok(TensorMap::from_bytes(out.bytes))
    }

    /// The description and the address that [`to_map_bytes`](Self::to_map_bytes) wrote.
    ///
    /// # Errors
    /// [`MapBytesError`], for bytes that it cannot have written: those of the driver, or damaged ones.
    pub fn from_map_bytes(map: &TensorMap) -> Result<(Self, u64), MapBytesError> {
        let mut bytes = Reader { bytes: map.as_bytes(), at: 0 };
        let found = bytes.take();
        if found != MAGIC {
            return Err(MapBytesError::Magic { found });
        }
        let address = u64::from_le_bytes(bytes.take());
        let extents: [u64; MAX_RANK] =
            std::array::from_fn(|_| u64::from(u32::from_le_bytes(bytes.take())) + 1);
        let strides: [u64; MAX_RANK - 1] = std::array::from_fn(|_| u64::from_le_bytes(bytes.take()));
        let element_strides: [u32; MAX_RANK] =
            std::array::from_fn(|_| u8::from_le_bytes(bytes.take()).into());
        let data_type = bytes.choose("element type", &DataType::ALL)?;
        let interleave = bytes.choose("interleave", &Interleave::ALL)?;
        let swizzle = bytes.choose("swizzle", &Swizzle::ALL)?;
        let l2_promotion = bytes.choose("L2 promotion", &L2Promotion::ALL)?;
        let fill = bytes.choose("fill", &Fill::ALL)?;
        let rank = bytes.choose("rank", &[0, 1, 2, 3, 4, 5])?;
        let mode = bytes.choose("mode", &[TILED, IM2COL])?;
        let extents = extents.get(..rank).unwrap_or_default();
        let strides = strides.get(..rank.saturating_sub(1)).unwrap_or_default();
        let desc = if mode == TILED {
            let sizes: [u32; MAX_RANK] = std::array::from_fn(|_| u16::from_le_bytes(bytes.take()).into());
            Self::tiled(data_type, extents, strides, sizes.get(..rank).unwrap_or_default())?
        } else {
            let corners: [[i32; MAX_RANK - 2]; 2] =
                std::array::from_fn(|_| std::array::from_fn(|_| i32::from_le_bytes(bytes.take())));
            let [lower, upper] =
                corners.each_ref().map(|corner| corner.get(..rank.saturating_sub(2)).unwrap_or_default());
            let [channels, pixels] = std::array::from_fn(|_| u16::from_le_bytes(bytes.take()).into());
            Self::im2col(data_type, extents, strides, lower, upper, channels, pixels)?
        };
        bytes.nothing_more()?;
        let desc = desc
            .with_element_strides(element_strides.get(..rank).unwrap_or_default())?
            .with_interleave(interleave)
            .with_swizzle(swizzle)
            .with_l2_promotion(l2_promotion)
            .with_fill(fill);
        desc.validate(address)?;
        Ok((desc, address))
    }
}

struct Writer {
    bytes: [u8; 128],
    at: usize,
}

impl Writer {
    fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes.iter_mut().skip(self.at).zip(field).for_each(|(slot, byte)| *slot = byte);
        self.at += N;
    }
}

struct Reader<'a> {
    bytes: &'a [u8; 128],
    at: usize,
}

impl Reader<'_> {
    /// The next field; zeros past the end, which no field reaches.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let field = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk).copied();
        self.at += N;
        field.unwrap_or([0; N])
    }

    /// The value with the next byte's index.
    fn choose<T: Copy>(&mut self, field: &'static str, values: &[T]) -> Result<T, MapBytesError> {
        let at = self.at;
        let [value] = self.take();
        let max = values.len().saturating_sub(1);
        values.get(usize::from(value)).copied().ok_or(MapBytesError::Field { at, field, value, max })
    }

    fn nothing_more(&self) -> Result<(), MapBytesError> {
        let rest = self.bytes.iter().enumerate().skip(self.at);
        match rest.into_iter().find(|(_, byte)| **byte != 0) {
            Some((at, &value)) => Err(MapBytesError::Trailing { at, value }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensormap::Rule;

    fn small() -> TensorMapDesc {
        TensorMapDesc::contiguous(DataType::Bf16, &[64, 100], &[64, 16])
            .unwrap()
            .with_swizzle(Swizzle::Bytes128)
    }

    #[test]
    fn fields_lie_where_the_layout_says() {
        let map = small().to_map_bytes(0x1234_5670).unwrap();
        let bytes = map.as_bytes();
        assert_eq!(bytes[..8], *b"fa3tmap\x01");
        assert_eq!(bytes[8..16], 0x1234_5670_u64.to_le_bytes());
        assert_eq!(bytes[16..24], [63, 0, 0, 0, 99, 0, 0, 0]);
        assert_eq!(bytes[36..44], 128_u64.to_le_bytes());
        assert_eq!(bytes[68..80], [1, 1, 1, 1, 1, 9, 0, 3, 0, 0, 2, 0]);
        assert_eq!(bytes[80..84], [64, 0, 16, 0]);
        assert!(bytes[84..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn the_largest_numbers_come_back() {
        let (extents, strides) = ([1 << 32; 5], [(1 << 40) - 16; 4]);
        let desc = TensorMapDesc::tiled(DataType::U8, &extents, &strides, &[256, 256, 1, 1, 1])
            .unwrap()
            .with_element_strides(&[8; 5])
            .unwrap();
        let address = u64::MAX - 15;
        let map = desc.to_map_bytes(address).unwrap();
        assert_eq!(TensorMapDesc::from_map_bytes(&map).unwrap(), (desc, address));
    }

    #[test]
    fn illegal_maps_are_not_encoded() {
        assert_eq!(small().to_map_bytes(0x1008).unwrap_err().rule(), Rule::AddressAlignment);
    }

    fn damaged(at: usize, value: u8) -> MapBytesError {
        let mut bytes = *small().to_map_bytes(0x1000).unwrap().as_bytes();
        bytes[at] = value;
        TensorMapDesc::from_map_bytes(&TensorMap::from_bytes(bytes)).unwrap_err()
    }

    #[test]
    fn damaged_bytes_are_refused_by_field() {
        assert!(matches!(damaged(0, b'x'), MapBytesError::Magic { .. }));
        assert!(matches!(damaged(7, 2), MapBytesError::Magic { .. }), "another version of the layout");
        let fields = [(73, "element type"), (74, "interleave"), (75, "swizzle"), (76, "L2 promotion")];
        for (at, name) in fields.into_iter().chain([(77, "fill"), (78, "rank"), (79, "mode")]) {
            let error = damaged(at, 200);
            assert!(matches!(error, MapBytesError::Field { field, .. } if field == name), "{error}");
        }
        assert_eq!(damaged(127, 1), MapBytesError::Trailing { at: 127, value: 1 });
        assert!(matches!(damaged(78, 0), MapBytesError::Illegal(error) if error.rule() == Rule::Rank));
        assert!(matches!(damaged(68, 9), MapBytesError::Illegal(_)), "an element stride of 9");
        assert_eq!(
            damaged(75, 9).to_string(),
            "byte 75 of the tensor map, its swizzle, is 9, but at most 6 would do"
        );
    }
}
