//! Element types.

use core::fmt;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DType {
    /// IEEE 754 binary32. The CPU backend only.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: binary32 with the lower 16 bits of the significand cut off.
    Bf16,
    /// 32-bit signed integers: sequence lengths and offsets.
    I32,
}

impl DType {
    /// Bytes an element.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The usual short name: `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I32 => "i32",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}

/// The Rust types that Q, K, V and O may be made of.
pub trait Element: sealed::Sealed + bytemuck::Pod + Send + Sync + Default {
    /// The tag of this type.
    const DTYPE: DType;
    /// The value, exactly.
    fn to_f32(self) -> f32;
    /// The nearest value of this type, ties to even.
    fn from_f32(value: f32) -> Self;
    /// The nearest value of this type, rounded once.
    fn from_f64(value: f64) -> Self;
}

macro_rules! element {
    ($type:ty, $tag:ident) => {
        impl Element for $type {
            const DTYPE: DType = DType::$tag;
            fn to_f32(self) -> f32 {
                <$type>::to_f32(self)
            }
            fn from_f32(value: f32) -> Self {
                <$type>::from_f32(value)
            }
            fn from_f64(value: f64) -> Self {
                <$type>::from_f64(value)
            }
        }
    };
}
element!(half::f16, F16);
element!(half::bf16, Bf16);

impl Element for f32 {
    const DTYPE: DType = DType::F32;
    fn to_f32(self) -> f32 {
        self
    }
    fn from_f32(value: f32) -> Self {
        value
    }
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}
