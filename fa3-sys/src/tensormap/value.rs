//! The encoded tensor map.

use core::fmt;

use bytemuck::{Pod, Zeroable};

/// A tensor map as the hardware reads it: 128 opaque bytes, made by the driver (with feature
/// `driver`) or by an emulator, and passed to a kernel by value as a `__grid_constant__` parameter.
///
/// The alignment is the larger of what the parties ask for: the driver wants 64 bytes for the
/// object it writes (CUDA driver API, `cuTensorMapEncodeTiled`, `tensorMap`), CUDA 13 declares
/// `CUtensorMap` with 128.
///
/// ```
/// use fa3_sys::TensorMap;
/// assert_eq!((size_of::<TensorMap>(), align_of::<TensorMap>()), (128, 128));
/// let map: TensorMap = bytemuck::Zeroable::zeroed();
/// assert_eq!(map.as_bytes(), &[0; 128]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C, align(128))]
pub struct TensorMap([u8; 128]);

impl TensorMap {
    /// The map with these bytes, which only what encodes maps can give.
    pub const fn from_bytes(bytes: [u8; 128]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 128] {
        &self.0
    }
}

impl fmt::Debug for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TensorMap(")?;
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_every_byte() {
        let mut bytes = [0; 128];
        bytes[127] = 0xa5;
        let text = format!("{:?}", TensorMap::from_bytes(bytes));
        assert_eq!(text.len(), "TensorMap()".len() + 256);
        assert!(text.ends_with("00a5)"), "{text}");
    }
}
