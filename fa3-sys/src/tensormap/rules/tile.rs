//! Rules about the box, and the modes and types that go together.

use crate::Arch;

use super::{Visit, elements_of_16_bytes, name, number, row};
use crate::tensormap::desc::{Access, TensorMapDesc};
use crate::tensormap::error::TensorMapError;
use crate::tensormap::rule::{Check, Limit, Rule};
use crate::tensormap::types::{DataType, Fill, Interleave, Swizzle};

/// `boxDim`: non-zero and at most 256.
pub(super) fn box_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let limit = Limit::Range { min: 1, max: 256 };
    let granule = |dim| match dim {
        0 => elements_of_16_bytes(desc.data_type()),
        _ => 1,
    };
    (0..)
        .zip(desc.box_extents().unwrap_or_default())
        .map(|(dim, &size)| {
            number(Rule::BoxRange, "boxDim", Some(dim), size, limit).among_multiples_of(granule(dim))
        })
        .try_for_each(visit)
}

/// `boxDim[0]`: without interleave, a multiple of 16 bytes; here in elements. Observed: with
/// interleave as well, whatever the slices, and `channelsPerPixel`. Padded types have rows of their
/// own.
pub(super) fn row_granularity(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.data_type().is_padded() {
        return Ok(());
    }
    let rule = match (desc.access(), desc.interleave()) {
        (Access::Im2col(_), _) => Rule::ChannelGranularity,
        (Access::Tiled { .. }, Interleave::None) => Rule::BoxRowGranularity,
        (Access::Tiled { .. }, _) => Rule::SlicedRowGranularity,
    };
    let limit = Limit::MultipleOf(elements_of_16_bytes(desc.data_type()));
    visit(row(rule, desc, limit))
}

/// `boxDim[0]`, `channelsPerPixel`: 128 with a padded type.
pub(super) fn padded_box_row(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if !desc.data_type().is_padded() {
        return Ok(());
    }
    visit(row(Rule::PaddedBoxRow, desc, Limit::Range { min: 128, max: 128 }))
}

/// `elementStrides`: non-zero and at most 8. The first is ignored without interleave; observed: it
/// is held to the same all the same.
pub(super) fn element_stride_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let limit = Limit::Range { min: 1, max: 8 };
    let rule = |dim| match (dim, desc.interleave()) {
        (0, Interleave::None) => Rule::IgnoredElementStrideRange,
        _ => Rule::ElementStrideRange,
    };
    (0..)
        .zip(desc.element_strides())
        .map(|(dim, &step)| number(rule(dim), "elementStrides", Some(dim), step, limit))
        .try_for_each(visit)
}

/// Observed: a box, or a column, is at most 228 KiB, the shared memory of a multiprocessor (CUDA C++
/// programming guide, compute capabilities 9.0 and 10.0). A box counts in whole element strides, in
/// dimension 0 as well and with or without interleave: 7 elements with a stride of 4 count as 1,
/// though a copy loads 2, and fewer than a stride as none. In a column, element strides do not count.
pub(super) fn box_size(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let (argument, elements) = match desc.access() {
        Access::Tiled { .. } => {
            let sizes = desc.box_extents().unwrap_or_default().iter();
            let whole = sizes.zip(desc.element_strides()).map(|(&size, &step)| size / step.max(1));
            ("boxDim in bytes", whole.map(i128::from).fold(1, i128::saturating_mul))
        }
        Access::Im2col(columns) => (
            "channelsPerPixel × pixelsPerColumn in bytes",
            i128::from(columns.channels).saturating_mul(columns.pixels.into()),
        ),
    };
    let bytes = elements.saturating_mul(desc.data_type().shared_bits().into()) / 8;
    // The sizes that boxes can have lie less than 128 bytes apart around the limit.
    visit(number(Rule::BoxSize, argument, None, bytes, Limit::AtMost(228 * 1024)).among_multiples_of(128))
}

/// `interleave`: when it is none, a row of the box is at most the swizzle's span; here in elements.
pub(super) fn swizzle_span(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    match desc.swizzle().span_bytes() {
        Some(span) if desc.interleave() == Interleave::None => {
            let bits = span.saturating_mul(8);
            let max = bits.checked_div(desc.data_type().bits()).unwrap_or(bits).into();
            let granule = elements_of_16_bytes(desc.data_type());
            visit(row(Rule::SwizzleSpan, desc, Limit::AtMost(max)).among_multiples_of(granule))
        }
        _ => Ok(()),
    }
}

/// `interleave`: none with the padded 6-bit type.
pub(super) fn padded_interleave(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.data_type() != DataType::U6x16Align16 {
        return Ok(());
    }
    const ALLOWED: &[&str] = &[Interleave::None.name()];
    visit(name(Rule::PaddedInterleave, "interleave", desc.interleave().name(), ALLOWED))
}

/// `swizzle`: the lists for the two padded types. Some are for loads only, or for stores only.
pub(super) fn padded_swizzle(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    const FOUR_BIT: &[&str] =
        &[Swizzle::None.name(), Swizzle::Bytes128.name(), Swizzle::Bytes128Atom32.name()];
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
    visit(name(Rule::PaddedSwizzle, "swizzle", desc.swizzle().name(), allowed))
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
    visit(name(Rule::FloatFill, "tensorDataType", desc.data_type().name(), FLOATS))
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
