//! The enumerations of a tensor map, with the values the driver gives them.

use core::fmt;

use crate::Arch;

/// What an element is (CUDA driver API, `CUtensorMapDataType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum DataType {
    /// Unsigned, 1 byte. Also what moves FP8 and other one-byte types.
    U8 = 0,
    /// Unsigned, 2 bytes.
    U16 = 1,
    /// Unsigned, 4 bytes.
    U32 = 2,
    /// Signed, 4 bytes.
    I32 = 3,
    /// Unsigned, 8 bytes.
    U64 = 4,
    /// Signed, 8 bytes.
    I64 = 5,
    /// IEEE half precision, 2 bytes.
    F16 = 6,
    /// IEEE single precision, 4 bytes.
    F32 = 7,
    /// IEEE double precision, 8 bytes.
    F64 = 8,
    /// Brain float, 2 bytes.
    Bf16 = 9,
    /// Single precision, subnormal numbers flushed to zero, 4 bytes.
    F32Ftz = 10,
    /// TensorFloat-32, 4 bytes.
    Tf32 = 11,
    /// TensorFloat-32, subnormal numbers flushed to zero, 4 bytes.
    Tf32Ftz = 12,
    /// Packed 4-bit values, sixteen in 8 bytes, without gaps in shared memory.
    U4x16Align8 = 13,
    /// Packed 4-bit values, sixteen in 8 bytes, each group padded to 16 bytes in shared memory.
    U4x16Align16 = 14,
    /// Packed 6-bit values, sixteen in 12 bytes, each group padded to 16 bytes in shared memory.
    U6x16Align16 = 15,
}

impl DataType {
    /// Every type, in the driver's order.
    pub const ALL: [Self; 16] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
        Self::U4x16Align8,
        Self::U4x16Align16,
        Self::U6x16Align16,
    ];

    /// The driver's value of this type.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Bits of an element in global memory.
    ///
    /// ```
    /// use fa3_sys::tensormap::DataType;
    /// assert_eq!(DataType::Bf16.bits(), 16);
    /// assert_eq!(DataType::U6x16Align16.bits(), 6);
    /// ```
    pub const fn bits(self) -> u64 {
        match self {
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::I32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 32,
            Self::U64 | Self::I64 | Self::F64 => 64,
            Self::U4x16Align8 | Self::U4x16Align16 => 4,
            Self::U6x16Align16 => 6,
        }
    }

    /// Bits of an element in shared memory: those of global memory, but 8 for the
    /// [padded](Self::is_padded) types.
    pub const fn shared_bits(self) -> u64 {
        if self.is_padded() { 8 } else { self.bits() }
    }

    /// Whether it is a floating-point type, the only ones that can be filled with NaN.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::F32 | Self::F64 | Self::Bf16 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz
        )
    }

    /// Whether an element is smaller than a byte.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::U4x16Align8 | Self::U4x16Align16 | Self::U6x16Align16)
    }

    /// Whether groups of sixteen are padded to 16 bytes in shared memory.
    pub const fn is_padded(self) -> bool {
        matches!(self, Self::U4x16Align16 | Self::U6x16Align16)
    }

    /// The oldest architecture whose tensor copies know the type (PTX ISA, "tensormap.replace":
    /// the sub-byte element types came with sm_100a).
    pub const fn needs(self) -> Arch {
        if self.is_packed() { Arch::Sm100a } else { Arch::Sm90a }
    }

    /// A short name: `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::F32Ftz => "f32-ftz",
            Self::Tf32 => "tf32",
            Self::Tf32Ftz => "tf32-ftz",
            Self::U4x16Align8 => "u4x16-align8",
            Self::U4x16Align16 => "u4x16-align16",
            Self::U6x16Align16 => "u6x16-align16",
        }
    }
}

/// Whether channels are sliced (CUDA driver API, `CUtensorMapInterleave`): NC/8HWC8 keeps 16 bytes
/// of channels together, NC/16HWC16 keeps 32 (two-byte elements).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Interleave {
    /// Not sliced.
    #[default]
    None = 0,
    /// Slices of 16 bytes.
    Bytes16 = 1,
    /// Slices of 32 bytes.
    Bytes32 = 2,
}

impl Interleave {
    /// Every mode, in the driver's order.
    pub const ALL: [Self; 3] = [Self::None, Self::Bytes16, Self::Bytes32];

    /// The driver's value of this mode.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// A short name: `16B`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bytes16 => "16B",
            Self::Bytes32 => "32B",
        }
    }
}

/// How chunks of a row of the box change places in shared memory, so that columns spread over the
/// banks (CUDA driver API, `CUtensorMapSwizzle`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Swizzle {
    /// Rows as they are.
    #[default]
    None = 0,
    /// Chunks of 16 bytes within 32.
    Bytes32 = 1,
    /// Chunks of 16 bytes within 64.
    Bytes64 = 2,
    /// Chunks of 16 bytes within 128.
    Bytes128 = 3,
    /// Chunks of 32 bytes within 128.
    Bytes128Atom32 = 4,
    /// Chunks of 32 bytes within 128; every other row also swaps the 8-byte halves of each 16.
    Bytes128Atom32Flip8 = 5,
    /// Chunks of 64 bytes within 128.
    Bytes128Atom64 = 6,
}

impl Swizzle {
    /// Every mode, in the driver's order.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Bytes32,
        Self::Bytes64,
        Self::Bytes128,
        Self::Bytes128Atom32,
        Self::Bytes128Atom32Flip8,
        Self::Bytes128Atom64,
    ];

    /// The driver's value of this mode.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The bytes within which chunks move, which a row of the box must not exceed; `None` without
    /// swizzle.
    pub const fn span_bytes(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 | Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 | Self::Bytes128Atom64 => {
                Some(128)
            }
        }
    }

    /// The oldest architecture that has the mode (PTX ISA, "tensormap.replace": the field
    /// `.swizzle_atomicity` came with sm_100a).
    pub const fn needs(self) -> Arch {
        match self {
            Self::None | Self::Bytes32 | Self::Bytes64 | Self::Bytes128 => Arch::Sm90a,
            Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 | Self::Bytes128Atom64 => Arch::Sm100a,
        }
    }

    /// A short name: `128B`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bytes32 => "32B",
            Self::Bytes64 => "64B",
            Self::Bytes128 => "128B",
            Self::Bytes128Atom32 => "128B-atom32B",
            Self::Bytes128Atom32Flip8 => "128B-atom32B-flip8B",
            Self::Bytes128Atom64 => "128B-atom64B",
        }
    }
}

/// The granularity at which a miss fills L2 from DRAM (CUDA driver API, `CUtensorMapL2promotion`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum L2Promotion {
    /// What the access asks for.
    #[default]
    None = 0,
    /// 64 bytes.
    Bytes64 = 1,
    /// 128 bytes.
    Bytes128 = 2,
    /// 256 bytes.
    Bytes256 = 3,
}

impl L2Promotion {
    /// Every granularity, in the driver's order.
    pub const ALL: [Self; 4] = [Self::None, Self::Bytes64, Self::Bytes128, Self::Bytes256];

    /// The driver's value of this granularity.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// A short name: `256B`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bytes64 => "64B",
            Self::Bytes128 => "128B",
            Self::Bytes256 => "256B",
        }
    }
}

/// What a load writes for elements outside the tensor (CUDA driver API, `CUtensorMapFloatOOBfill`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zeros = 0,
    /// The special NaN that a fused multiply-add treats as a zero product.
    NanRequestZeroFma = 1,
}

impl Fill {
    /// Every fill, in the driver's order.
    pub const ALL: [Self; 2] = [Self::Zeros, Self::NanRequestZeroFma];

    /// The driver's value of this fill.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// A short name: `zeros`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::NanRequestZeroFma => "nan-request-zero-fma",
        }
    }
}

/// Gives each enumeration its short name as `Display`.
macro_rules! display_name {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    )*};
}
display_name!(DataType, Interleave, Swizzle, L2Promotion, Fill);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_up_from_zero_as_in_the_driver() {
        let in_order = |codes: Vec<u32>| codes.iter().copied().eq(0..codes.len() as u32);
        assert!(in_order(DataType::ALL.map(DataType::code).to_vec()));
        assert!(in_order(Interleave::ALL.map(Interleave::code).to_vec()));
        assert!(in_order(Swizzle::ALL.map(Swizzle::code).to_vec()));
        assert!(in_order(L2Promotion::ALL.map(L2Promotion::code).to_vec()));
        assert!(in_order(Fill::ALL.map(Fill::code).to_vec()));
    }

    #[test]
    fn names_are_unique() {
        let mut names = DataType::ALL.map(DataType::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DataType::ALL.len());
        let mut names = Swizzle::ALL.map(Swizzle::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Swizzle::ALL.len());
    }

    #[test]
    fn packed_types_and_atoms_need_blackwell() {
        assert_eq!(DataType::ALL.iter().filter(|t| t.needs() == Arch::Sm100a).count(), 3);
        assert_eq!(Swizzle::ALL.iter().filter(|s| s.needs() == Arch::Sm100a).count(), 3);
    }
}
