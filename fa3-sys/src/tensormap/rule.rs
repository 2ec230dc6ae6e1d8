//! The driver's rules, by name, and what one check of a rule found.

use core::fmt;

/// A requirement of `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col`. [`source`](Self::source)
/// says where it comes from.
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
    /// With interleave, too, a row of the box is a multiple of 16 bytes.
    SlicedRowGranularity,
    /// The channels of a pixel are a multiple of 16 bytes.
    ChannelGranularity,
    /// With a padded type a row of the box, or a pixel, is 128 elements.
    PaddedBoxRow,
    /// An element stride is 1 to 8.
    ElementStrideRange,
    /// Without interleave, too, the element stride of dimension 0 is 1 to 8, though it is ignored.
    IgnoredElementStrideRange,
    /// A box, or a column, is at most 228 KiB.
    BoxSize,
    /// Without interleave a row of the box fits the swizzle's span.
    SwizzleSpan,
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
    pub const ALL: [Self; 30] = [
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
        Self::SlicedRowGranularity,
        Self::ChannelGranularity,
        Self::PaddedBoxRow,
        Self::ElementStrideRange,
        Self::IgnoredElementStrideRange,
        Self::BoxSize,
        Self::SwizzleSpan,
        Self::PaddedInterleave,
        Self::PaddedSwizzle,
        Self::FloatFill,
        Self::CornerRange,
        Self::CornerArea,
        Self::ChannelRange,
        Self::PixelRange,
        Self::Architecture,
    ];

    /// Where the rule comes from.
    pub const fn source(self) -> Source {
        Source::DriverApi(match self {
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
            Self::PaddedSwizzle => "swizzle",
            Self::FloatFill => "oobFill",
            Self::CornerRange => "pixelBoxLowerCorner",
            Self::CornerArea => "pixelBoxUpperCorner",
            Self::ChannelRange => "channelsPerPixel",
            Self::PixelRange => "pixelsPerColumn",
            Self::SlicedRowGranularity
            | Self::ChannelGranularity
            | Self::IgnoredElementStrideRange
            | Self::BoxSize => return Source::Observed,
            Self::Architecture => return Source::PtxIsa,
        })
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
            Self::SlicedRowGranularity => "with interleave, too, a row of the box is a multiple of 16 bytes",
            Self::ChannelGranularity => "the channels of a pixel are a multiple of 16 bytes",
            Self::PaddedBoxRow => "padded element types need rows of exactly 128 elements",
            Self::ElementStrideRange => "element strides are at least 1 and at most 8",
            Self::IgnoredElementStrideRange => "even an ignored element stride is at least 1 and at most 8",
            Self::BoxSize => "one copy is at most 228 KiB, counted in whole element strides",
            Self::SwizzleSpan => "without interleave, a row of the box must fit the swizzle's span",
            Self::PaddedInterleave => "the padded 6-bit type has no interleaved layout",
            Self::PaddedSwizzle => "padded element types have only some swizzles",
            Self::FloatFill => "only floating-point types can be filled with NaN",
            Self::CornerRange => "corner offsets must fit the bits the rank leaves them",
            Self::CornerArea => {
                "the box between the corners holds a pixel, and less than 2^31, in every dimension"
            }
            Self::ChannelRange => "a pixel has at least 1 and at most 256 channels",
            Self::PixelRange => "a column has at least 1 and at most 1024 pixels",
            Self::Architecture => "the device's architecture must have the element type and the swizzle",
        }
    }
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The entry of this parameter in the CUDA driver API documentation (module "Tensor Map Object
    /// Management").
    DriverApi(&'static str),
    /// The PTX ISA's notes on what the architectures have.
    PtxIsa,
    /// The verdicts of driver 580.159 (CUDA 13.0) on an H200: no documentation has it.
    Observed,
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
    /// At most this.
    AtMost(i128),
    /// Multiples of this.
    MultipleOf(i128),
    /// One of these modes or types.
    OneOf(&'static [&'static str]),
}

impl Limit {
    /// Whether `value` is allowed.
    pub fn allows(&self, value: Value) -> bool {
        match (*self, value) {
            (Self::Range { min, max }, Value::Number(number)) => (min..=max).contains(&number),
            (Self::AtMost(max), Value::Number(number)) => number <= max,
            (Self::MultipleOf(of), Value::Number(number)) => number.checked_rem(of) == Some(0),
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
    /// The driver's name of the argument: `globalStrides`, or what is made of some.
    pub argument: &'static str,
    /// Which element of an array argument, counted as the driver does: `globalStrides[0]` is the
    /// stride of dimension 1.
    pub index: Option<u8>,
    /// What it is.
    pub value: Value,
    /// What it may be.
    pub limit: Limit,
    /// The distance between values that only this rule tells apart, where other rules hold them to
    /// multiples.
    pub granule: i128,
}

impl Check {
    /// Whether the value is allowed.
    pub fn holds(&self) -> bool {
        self.limit.allows(self.value)
    }

    /// The same, among values that other rules hold to multiples of `granule`.
    pub(super) fn among_multiples_of(self, granule: i128) -> Self {
        Self { granule, ..self }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DriverApi(parameter) => {
                write!(f, "CUDA driver API, cuTensorMapEncodeTiled/Im2col, {parameter}")
            }
            Self::PtxIsa => f.write_str("PTX ISA, tensormap.replace, Target ISA Notes"),
            Self::Observed => f.write_str("observed of driver 580.159, CUDA 13.0"),
        }
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
            Self::AtMost(max) => write!(f, "at most {max}"),
            Self::MultipleOf(of) => write!(f, "a multiple of {of}"),
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
