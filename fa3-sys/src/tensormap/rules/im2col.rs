//! Rules about the pixels and channels of an im2col map.

use super::{Visit, columns, each, elements_of_16_bytes, number, rank_number, row};
use crate::tensormap::desc::TensorMapDesc;
use crate::tensormap::error::TensorMapError;
use crate::tensormap::rule::{Limit, Rule};
use crate::tensormap::types::Interleave;

/// `tensorRank` of `cuTensorMapEncodeIm2col`: 3, 4 or 5.
pub(super) fn im2col_rank(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if columns(desc).is_none() {
        return Ok(());
    }
    let limit = Limit::Range { min: 3, max: 5 };
    visit(number(Rule::Im2colRank, "tensorRank", None, rank_number(desc.rank()), limit))
}

/// `pixelBoxLowerCorner`, `pixelBoxUpperCorner`: 16 bits a dimension for one spatial dimension, 8
/// for two, 5 for three.
pub(super) fn corner_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let Some(columns) = columns(desc) else {
        return Ok(());
    };
    let limit = match desc.rank() {
        3 => Limit::Range { min: -32_768, max: 32_767 },
        4 => Limit::Range { min: -128, max: 127 },
        5 => Limit::Range { min: -16, max: 15 },
        _ => return Ok(()),
    };
    let spatial = ..desc.rank().saturating_sub(2);
    let lower = columns.lower_corner().get(spatial).unwrap_or_default();
    let upper = columns.upper_corner().get(spatial).unwrap_or_default();
    each(Rule::CornerRange, "pixelBoxLowerCorner", lower, limit, 1, visit)?;
    each(Rule::CornerRange, "pixelBoxUpperCorner", upper, limit, 1, visit)
}

/// `pixelBoxUpperCorner`: the box has a non-zero area. In a spatial dimension it reaches from the
/// lower offset to the extent plus the upper one.
///
/// Observed: the end is a signed number of 32 bits, which wraps around; and with interleave the
/// extents are those from dimension 0 on.
pub(super) fn corner_area(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let Some(columns) = columns(desc) else {
        return Ok(());
    };
    let first = usize::from(desc.interleave() == Interleave::None);
    let spatial = desc.extents().iter().skip(first).take(desc.rank().saturating_sub(2));
    let offsets = columns.lower_corner().iter().zip(columns.upper_corner());
    (0..)
        .zip(spatial.zip(offsets))
        .map(|(dim, (&extent, (&lower, &upper)))| {
            let end = (extent as i32).wrapping_add(upper);
            let limit = Limit::Range { min: i128::from(lower) + 1, max: i32::MAX.into() };
            number(Rule::CornerArea, "pixelBox", Some(dim), end, limit)
        })
        .try_for_each(visit)
}

/// `channelsPerPixel`: at most 256. None at all would copy nothing.
pub(super) fn channel_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if columns(desc).is_none() {
        return Ok(());
    }
    let limit = Limit::Range { min: 1, max: 256 };
    visit(row(Rule::ChannelRange, desc, limit).among_multiples_of(elements_of_16_bytes(desc.data_type())))
}

/// `pixelsPerColumn`: at most 1024. None at all would copy nothing.
pub(super) fn pixel_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let Some(columns) = columns(desc) else {
        return Ok(());
    };
    let limit = Limit::Range { min: 1, max: 1024 };
    visit(number(Rule::PixelRange, "pixelsPerColumn", None, columns.pixels, limit))
}
