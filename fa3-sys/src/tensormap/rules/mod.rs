//! The rules of the driver, one function each: those of the CUDA driver API documentation (module
//! "Tensor Map Object Management"), and those that driver 580.159 (CUDA 13.0) was observed to
//! enforce besides. A function makes the checks of its rule, none where the rule does not apply.
//!
//! The documentation's loop for `globalStrides`, in which each stride contains the dimension below,
//! describes tensors whose dimensions nest. It is no rule here: attention views a [batch, seq,
//! heads, dim] tensor with its dimensions in any order, and repeats heads with a stride of 0.
//! Neither is there one between a box and its tensor: what lies outside is filled. Nor is the
//! documented one that interleave 32B needs swizzle 32B: the driver takes every swizzle.

mod im2col;
mod tensor;
mod tile;

use super::desc::{Access, Im2col, TensorMapDesc};
use super::error::TensorMapError;
use super::rule::{Check, Limit, Rule, Value};
use super::types::DataType;

pub(super) use tensor::rank;
pub(super) use tile::architecture;

/// Receives the checks that a rule makes.
pub(super) type Visit<'a> = &'a mut dyn FnMut(Check) -> Result<(), TensorMapError>;
/// A rule that needs no address.
pub(super) type ShapeRule = fn(&TensorMapDesc, Visit<'_>) -> Result<(), TensorMapError>;
/// A rule about the address.
pub(super) type AddressRule = fn(&TensorMapDesc, u64) -> Option<Check>;

/// The rules that need no address, in the order in which they are checked: those that say which
/// arguments there are come before those about their values.
pub(super) const SHAPE_RULES: [ShapeRule; 22] = [
    tensor::rank_of,
    tensor::interleave_rank,
    im2col::im2col_rank,
    tensor::extent_range,
    tensor::packed_extent,
    tensor::stride_alignment,
    tensor::interleave_stride_alignment,
    tensor::padded_stride_alignment,
    tensor::stride_range,
    tile::box_range,
    tile::row_granularity,
    tile::padded_box_row,
    tile::element_stride_range,
    tile::box_size,
    tile::swizzle_span,
    tile::padded_interleave,
    tile::padded_swizzle,
    tile::float_fill,
    im2col::corner_range,
    im2col::corner_area,
    im2col::channel_range,
    im2col::pixel_range,
];

/// The rules about the address, in the order in which they are checked.
pub(super) const ADDRESS_RULES: [AddressRule; 3] =
    [tensor::address_alignment, tensor::interleave_address_alignment, tensor::padded_address_alignment];

/// A check of a row of the box, or of a pixel's channels, in elements.
fn row(rule: Rule, desc: &TensorMapDesc, limit: Limit) -> Check {
    match desc.access() {
        Access::Tiled { box_extents: [row, ..] } => number(rule, "boxDim", Some(0), *row, limit),
        Access::Im2col(columns) => number(rule, "channelsPerPixel", None, columns.channels, limit),
    }
}

/// Elements of the smallest row that is a whole number of both elements and 16 bytes.
fn elements_of_16_bytes(data_type: DataType) -> i128 {
    // 128 bits by their greatest common divisor, a power of two, with the element's.
    128_i128.checked_shr(data_type.bits().trailing_zeros()).unwrap_or(1)
}

fn columns(desc: &TensorMapDesc) -> Option<&Im2col> {
    match desc.access() {
        Access::Im2col(columns) => Some(columns),
        Access::Tiled { .. } => None,
    }
}

fn innermost<T>(array: &[T]) -> &[T] {
    array.get(..1).unwrap_or_default()
}

/// Checks of every element of an array argument, among multiples of `granule`.
fn each<T: Copy + Into<i128>>(
    rule: Rule,
    argument: &'static str,
    values: &[T],
    limit: Limit,
    granule: i128,
    visit: Visit<'_>,
) -> Result<(), TensorMapError> {
    (0..)
        .zip(values)
        .map(|(index, &value)| number(rule, argument, Some(index), value, limit).among_multiples_of(granule))
        .try_for_each(visit)
}

fn number(
    rule: Rule,
    argument: &'static str,
    index: Option<u8>,
    value: impl Into<i128>,
    limit: Limit,
) -> Check {
    Check { rule, argument, index, value: Value::Number(value.into()), limit, granule: 1 }
}

fn name(rule: Rule, argument: &'static str, value: &'static str, allowed: &'static [&'static str]) -> Check {
    Check { rule, argument, index: None, value: Value::Name(value), limit: Limit::OneOf(allowed), granule: 1 }
}

fn rank_number(rank: usize) -> i128 {
    i128::try_from(rank).unwrap_or(i128::MAX)
}
