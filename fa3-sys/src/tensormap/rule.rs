//! The rules of the driver's documentation, by name, and what one check of a rule found.

use core::fmt;

/// A requirement that the CUDA driver API documentation states for `cuTensorMapEncodeTiled` and
/// `cuTensorMapEncodeIm2col`. [`parameter`](Self::parameter) is the entry of that documentation
/// which states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A tensor has 1 to 5 dimensions.
    Rank,
    /// The arrays have as many elements as the rank says.
    Lengths,
    /// Interleaved layouts have at least 3 dimensions.
    InterleaveRank,
    /// Im2col maps have 3 to 5 dimensions.
    Im2colRank,
    /// The address is a multiple of 16 bytes.
    AddressAlignment,
    /// With interleave 32B the address is a multiple of 32 bytes.
    InterleaveAddressAlignment,
    /// With a padded type the address is a multiple of 32 bytes.
    PaddedAddressAlignment,
    /// An extent is 1 to 2³² elements.
    ExtentRange,
    /// With a packed type the innermost extent is a multiple of 128 (padded) or 2 elements.
    PackedExtent,
    /// A stride is a multiple of 16 bytes.
    StrideAlignment,
    /// With interleave 32B a stride is a multiple of 32 bytes.
    InterleaveStrideAlignment,
    /// With a padded type a stride is a multiple of 32 bytes.
    PaddedStrideAlignment,
    /// A stride is less than 2⁴⁰ bytes.
    StrideRange,
    /// A box is 1 to 256 elements in every dimension.
    BoxRange,
    /// Without interleave a row of the box is a multiple of 16 bytes.
    BoxRowGranularity,
    /// With a padded type a row of the box, or a pixel, is 128 elements.
    PaddedBoxRow,
    /// An element stride is 1 to 8; without interleave that of dimension 0 is ignored.
    ElementStrideRange,
    /// Without interleave a row of the box fits the swizzle's span.
    SwizzleSpan,
    /// Interleave 32B needs swizzle 32B.
    InterleaveSwizzle,
    /// The padded 6-bit type has no interleaved layout.
    PaddedInterleave,
    /// The padded types have few swizzles.
    PaddedSwizzle,
    /// Only floating-point types are filled with NaN.
    FloatFill,
    /// The corners of an im2col box fit the bits that the rank leaves them.
    CornerRange,
    /// The im2col box has at least one pixel in every dimension.
    CornerArea,
    /// An im2col column has 1 to 256 channels a pixel.
    ChannelRange,
    /// An im2col column has 1 to 1024 pixels.
    PixelRange,
    /// The architecture has the element type and the swizzle.
    Architecture,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 27] = [
        Self::Rank,
        Self::Lengths,
        Self::InterleaveRank,
        Self::Im2colRank,
        Self::AddressAlignment,
        Self::InterleaveAddressAlignment,
        Self::PaddedAddressAlignment,
        Self::ExtentRange,
        Self::PackedExtent,
        Self::StrideAlignment,
        Self::InterleaveStrideAlignment,
        Self::PaddedStrideAlignment,
        Self::StrideRange,
        Self::BoxRange,
        Self::BoxRowGranularity,
        Self::PaddedBoxRow,
        Self::ElementStrideRange,
        Self::SwizzleSpan,
        Self::InterleaveSwizzle,
        Self::PaddedInterleave,
        Self::PaddedSwizzle,
        Self::FloatFill,
        Self::CornerRange,
        Self::CornerArea,
        Self::ChannelRange,
        Self::PixelRange,
        Self::Architecture,
    ];

    /// The parameter whose entry in the documentation states the rule.
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Rank | Self::Lengths | Self::InterleaveRank | Self::Im2colRank => "tensorRank",
            Self::AddressAlignment | Self::InterleaveAddressAlignment | Self::PaddedAddressAlignment => {
                "globalAddress"
            }
            Self::ExtentRange | Self::PackedExtent => "globalDim",
            Self::StrideAlignment
            | Self::InterleaveStrideAlignment
            | Self::PaddedStrideAlignment
            | Self::StrideRange => "globalStrides",
            Self::BoxRange | Self::BoxRowGranularity | Self::PaddedBoxRow => "boxDim",
            Self::ElementStrideRange => "elementStrides",
            Self::SwizzleSpan | Self::PaddedInterleave => "interleave",
            Self::InterleaveSwizzle | Self::PaddedSwizzle => "swizzle",
            Self::FloatFill => "oobFill",
            Self::CornerRange => "pixelBoxLowerCorner",
            Self::CornerArea => "pixelBoxUpperCorner",
            Self::ChannelRange => "channelsPerPixel",
            Self::PixelRange => "pixelsPerColumn",
            Self::Architecture => "tensorDataType",
        }
    }

    /// The rule in words, as the end of a sentence that begins with the value.
    pub const fn requirement(self) -> &'static str {
        match self {
            Self::Rank => "a tensor map has 1 to 5 dimensions",
            Self::Lengths => "the arrays must agree with the rank",
            Self::InterleaveRank => "interleaved layouts need at least 3 dimensions",
            Self::Im2colRank => "im2col maps need 3 to 5 dimensions",
            Self::AddressAlignment => "the tensor's address must be 16-byte aligned",
            Self::InterleaveAddressAlignment => "interleave 32B needs a 32-byte aligned address",
            Self::PaddedAddressAlignment => "padded element types need a 32-byte aligned address",
            Self::ExtentRange => "an extent is at least 1 and at most 2^32 elements",
            Self::PackedExtent => "rows of packed element types end on a whole group",
            Self::StrideAlignment => "strides are multiples of 16 bytes",
            Self::InterleaveStrideAlignment => "interleave 32B needs strides that are multiples of 32 bytes",
            Self::PaddedStrideAlignment => "padded element types need strides that are multiples of 32 bytes",
            Self::StrideRange => "strides are below 2^40 bytes",
            Self::BoxRange => "a box is at least 1 and at most 256 elements in every dimension",
            Self::BoxRowGranularity => "without interleave, a row of the box is a multiple of 16 bytes",
            Self::PaddedBoxRow => "padded element types need rows of exactly 128 elements",
            Self::ElementStrideRange => "element strides are at least 1 and at most 8",
            Self::SwizzleSpan => "without interleave, a row of the box must fit the swizzle's span",
            Self::InterleaveSwizzle => "interleave 32B needs swizzle 32B",
            Self::PaddedInterleave => "the padded 6-bit type has no interleaved layout",
            Self::PaddedSwizzle => "padded element types have only some swizzles",
            Self::FloatFill => "only floating-point types can be filled with NaN",
            Self::CornerRange => "corner offsets must fit the bits the rank leaves them",
            Self::CornerArea => "the box between the corners must hold a pixel in every dimension",
            Self::ChannelRange => "a pixel has at least 1 and at most 256 channels",
            Self::PixelRange => "a column has at least 1 and at most 1024 pixels",
            Self::Architecture => "the device's architecture must have the element type and the swizzle",
        }
    }
}

/// A checked value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number, in the unit of the argument: elements, bytes, dimensions or pixels.
    Number(i128),
    /// A mode or a type, by its short name.
    Name(&'static str),
}

/// What a rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// From `min` to `max`, both included.
    Range {
        /// The least allowed value.
        min: i128,
        /// The greatest allowed value.
        max: i128,
    },
    /// At least this.
    AtLeast(i128),
    /// At most `max`, among values that other rules hold to multiples of `granule`.
    AtMost {
        /// The greatest allowed value.
        max: i128,
        /// The distance between values that only this rule tells apart.
        granule: i128,
    },
    /// Multiples of `of`, among values that other rules hold to multiples of `granule`.
    MultipleOf {
        /// The divisor.
        of: i128,
        /// The distance between values that only this rule tells apart.
        granule: i128,
    },
    /// One of these modes or types.
    OneOf(&'static [&'static str]),
}

impl Limit {
    /// Whether `value` is allowed.
    pub fn allows(&self, value: Value) -> bool {
        match (*self, value) {
            (Self::Range { min, max }, Value::Number(number)) => (min..=max).contains(&number),
            (Self::AtLeast(min), Value::Number(number)) => number >= min,
            (Self::AtMost { max, .. }, Value::Number(number)) => number <= max,
            (Self::MultipleOf { of, .. }, Value::Number(number)) => number.checked_rem(of) == Some(0),
            (Self::OneOf(names), Value::Name(name)) => names.contains(&name),
            (_, _) => false,
        }
    }
}

/// One application of a rule to one value of a description. Validation makes these in the order of
/// [`Rule`] and fails at the first that does not [hold](Self::holds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The rule.
    pub rule: Rule,
    /// The driver's name of the argument: `globalStrides`.
    pub argument: &'static str,
    /// Which element of an array argument, counted as the driver does: `globalStrides[0]` is the
    /// stride of dimension 1.
    pub index: Option<u8>,
    /// What it is.
    pub value: Value,
    /// What it may be.
    pub limit: Limit,
}

impl Check {
    /// Whether the value is allowed.
    pub fn holds(&self) -> bool {
        self.limit.allows(self.value)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { min, max } if min == max => write!(f, "{min}"),
            Self::Range { min, max } => write!(f, "{min} to {max}"),
            Self::AtLeast(min) => write!(f, "at least {min}"),
            Self::AtMost { max, .. } => write!(f, "at most {max}"),
            Self::MultipleOf { of, .. } => write!(f, "a multiple of {of}"),
            Self::OneOf(names) => f.write_str(&names.join(", ")),
        }
    }
}

/// `globalStrides[0] = 24`.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}[{index}] = {}", self.argument, self.value),
            None => write!(f, "{} = {}", self.argument, self.value),
        }
    }
}
