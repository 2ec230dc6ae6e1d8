//! Rules about the box, and the modes and types that go together.

use crate::Arch;

use super::{Visit, each, innermost, name, number, row};
use crate::tensormap::desc::TensorMapDesc;
use crate::tensormap::error::TensorMapError;
use crate::tensormap::rule::{Check, Limit, Rule};
use crate::tensormap::types::{DataType, Fill, Interleave, Swizzle};

/// `boxDim`: non-zero and at most 256.
pub(super) fn box_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let limit = Limit::Range { min: 1, max: 256 };
    each(
        Rule::BoxRange,
        "boxDim",
        desc.box_extents().unwrap_or_default(),
        limit,
        visit,
    )
}

/// `boxDim[0]`: without interleave, a multiple of 16 bytes; here in elements.
pub(super) fn box_row_granularity(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.interleave() != Interleave::None {
        return Ok(());
    }
    let limit = Limit::MultipleOf {
        of: elements_of_16_bytes(desc.data_type()),
        granule: 1,
    };
    let row = innermost(desc.box_extents().unwrap_or_default());
    each(Rule::BoxRowGranularity, "boxDim", row, limit, visit)
}

/// `boxDim[0]`, `channelsPerPixel`: 128 with a padded type.
pub(super) fn padded_box_row(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if !desc.data_type().is_padded() {
        return Ok(());
    }
    visit(row(Rule::PaddedBoxRow, desc, Limit::Range { min: 128, max: 128 }))
}

/// `elementStrides`: non-zero and at most 8; the first is ignored without interleave.
pub(super) fn element_stride_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let ignored = usize::from(desc.interleave() == Interleave::None);
    let limit = Limit::Range { min: 1, max: 8 };
    let steps = (0..).zip(desc.element_strides()).skip(ignored);
    steps
        .map(|(dim, &step)| number(Rule::ElementStrideRange, "elementStrides", Some(dim), step, limit))
        .try_for_each(visit)
}

/// `interleave`: when it is none, a row of the box is at most the swizzle's span; here in elements.
pub(super) fn swizzle_span(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    match desc.swizzle().span_bytes() {
        Some(span) if desc.interleave() == Interleave::None => {
            let bits = span.saturating_mul(8);
            let max = bits.checked_div(desc.data_type().bits()).unwrap_or(bits).into();
            let granule = elements_of_16_bytes(desc.data_type());
            visit(row(Rule::SwizzleSpan, desc, Limit::AtMost { max, granule }))
        }
        _ => Ok(()),
    }
}

/// `swizzle`: 32B when `interleave` is 32B.
pub(super) fn interleave_swizzle(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.interleave() != Interleave::Bytes32 {
        return Ok(());
    }
    const ALLOWED: &[&str] = &[Swizzle::Bytes32.name()];
    visit(name(
        Rule::InterleaveSwizzle,
        "swizzle",
        desc.swizzle().name(),
        ALLOWED,
    ))
}

/// `interleave`: none with the padded 6-bit type.
pub(super) fn padded_interleave(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.data_type() != DataType::U6x16Align16 {
        return Ok(());
    }
    const ALLOWED: &[&str] = &[Interleave::None.name()];
    visit(name(
        Rule::PaddedInterleave,
        "interleave",
        desc.interleave().name(),
        ALLOWED,
    ))
}

/// `swizzle`: the lists for the two padded types. Some are for loads only, or for stores only.
pub(super) fn padded_swizzle(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    const FOUR_BIT: &[&str] = &[
        Swizzle::None.name(),
        Swizzle::Bytes128.name(),
        Swizzle::Bytes128Atom32.name(),
    ];
    const SIX_BIT: &[&str] = &[
        Swizzle::None.name(),
        Swizzle::Bytes128.name(),
        Swizzle::Bytes128Atom32.name(),
        Swizzle::Bytes128Atom64.name(),
    ];
    let allowed = match desc.data_type() {
        DataType::U4x16Align16 => FOUR_BIT,
        DataType::U6x16Align16 => SIX_BIT,
        _ => return Ok(()),
    };
    visit(name(
        Rule::PaddedSwizzle,
        "swizzle",
        desc.swizzle().name(),
        allowed,
    ))
}

/// `oobFill`: NaN only for floating-point types, which the packed ones are not.
pub(super) fn float_fill(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.fill() == Fill::Zeros {
        return Ok(());
    }
    const FLOATS: &[&str] = &[
        DataType::F16.name(),
        DataType::F32.name(),
        DataType::F64.name(),
        DataType::Bf16.name(),
        DataType::F32Ftz.name(),
        DataType::Tf32.name(),
        DataType::Tf32Ftz.name(),
    ];
    visit(name(
        Rule::FloatFill,
        "tensorDataType",
        desc.data_type().name(),
        FLOATS,
    ))
}

/// PTX ISA, "tensormap.replace", Target ISA Notes: sub-byte element types and swizzle atoms came
/// with sm_100a.
pub(in crate::tensormap) fn architecture(desc: &TensorMapDesc, arch: Arch) -> [Check; 2] {
    const SM90A: &[&str] = &[Arch::Sm90a.target(), Arch::Sm100a.target()];
    const SM100A: &[&str] = &[Arch::Sm100a.target()];
    let check = |argument, needs| {
        let allowed = match needs {
            Arch::Sm90a => SM90A,
            Arch::Sm100a => SM100A,
        };
        name(Rule::Architecture, argument, arch.target(), allowed)
    };
    [
        check(desc.data_type().name(), desc.data_type().needs()),
        check(desc.swizzle().name(), desc.swizzle().needs()),
    ]
}

/// Elements of the smallest row that is a whole number of both elements and 16 bytes.
fn elements_of_16_bytes(data_type: DataType) -> i128 {
    // 128 bits by their greatest common divisor, a power of two, with the element's.
    128_i128
        .checked_shr(data_type.bits().trailing_zeros())
        .unwrap_or(1)
}
