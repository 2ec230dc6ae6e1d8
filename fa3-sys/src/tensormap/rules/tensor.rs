//! Rules about the tensor: rank, address, extents and strides.

use super::{Visit, each, innermost, number, rank_number};
use crate::tensormap::desc::TensorMapDesc;
use crate::tensormap::error::TensorMapError;
use crate::tensormap::rule::{Check, Limit, Rule};
use crate::tensormap::types::{DataType, Interleave};

/// `tensorRank`: "must be non-zero and less than or equal to … 5". The constructors ask for it
/// before there is a description.
pub(in crate::tensormap) fn rank(rank: usize) -> Check {
    number(Rule::Rank, "tensorRank", None, rank_number(rank), Limit::Range { min: 1, max: 5 })
}

pub(super) fn rank_of(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    visit(rank(desc.rank()))
}

/// `tensorRank`: at least 3 when `interleave` is not none.
pub(super) fn interleave_rank(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if desc.interleave() == Interleave::None {
        return Ok(());
    }
    let limit = Limit::Range { min: 3, max: 5 };
    visit(number(Rule::InterleaveRank, "tensorRank", None, rank_number(desc.rank()), limit))
}

/// `globalAddress`: 16-byte aligned.
pub(super) fn address_alignment(_: &TensorMapDesc, address: u64) -> Option<Check> {
    let limit = Limit::MultipleOf(16);
    Some(number(Rule::AddressAlignment, "globalAddress", None, address, limit))
}

/// `globalAddress`: 32-byte aligned with interleave 32B.
pub(super) fn interleave_address_alignment(desc: &TensorMapDesc, address: u64) -> Option<Check> {
    let limit = Limit::MultipleOf(32);
    (desc.interleave() == Interleave::Bytes32).then(|| {
        number(Rule::InterleaveAddressAlignment, "globalAddress", None, address, limit).among_multiples_of(16)
    })
}

/// `globalAddress`: 32-byte aligned with a padded type.
pub(super) fn padded_address_alignment(desc: &TensorMapDesc, address: u64) -> Option<Check> {
    let limit = Limit::MultipleOf(32);
    desc.data_type().is_padded().then(|| {
        number(Rule::PaddedAddressAlignment, "globalAddress", None, address, limit).among_multiples_of(16)
    })
}

/// `globalDim`: non-zero and at most 2^32.
pub(super) fn extent_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    each(Rule::ExtentRange, "globalDim", desc.extents(), Limit::Range { min: 1, max: 1 << 32 }, 1, visit)
}

/// `globalDim[0]`: a multiple of 128 with a padded type, of 2 with the other packed type.
pub(super) fn packed_extent(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let of = match desc.data_type() {
        DataType::U4x16Align16 | DataType::U6x16Align16 => 128,
        DataType::U4x16Align8 => 2,
        _ => return Ok(()),
    };
    let limit = Limit::MultipleOf(of);
    each(Rule::PackedExtent, "globalDim", innermost(desc.extents()), limit, 1, visit)
}

/// `globalStrides`: multiples of 16.
pub(super) fn stride_alignment(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let limit = Limit::MultipleOf(16);
    each(Rule::StrideAlignment, "globalStrides", desc.strides(), limit, 1, visit)
}

/// `globalStrides`: multiples of 32 with interleave 32B.
pub(super) fn interleave_stride_alignment(
    desc: &TensorMapDesc,
    visit: Visit<'_>,
) -> Result<(), TensorMapError> {
    if desc.interleave() != Interleave::Bytes32 {
        return Ok(());
    }
    let limit = Limit::MultipleOf(32);
    each(Rule::InterleaveStrideAlignment, "globalStrides", desc.strides(), limit, 16, visit)
}

/// `globalStrides`: multiples of 32 with a padded type.
pub(super) fn padded_stride_alignment(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    if !desc.data_type().is_padded() {
        return Ok(());
    }
    let limit = Limit::MultipleOf(32);
    each(Rule::PaddedStrideAlignment, "globalStrides", desc.strides(), limit, 16, visit)
}

/// `globalStrides`: less than 2^40.
pub(super) fn stride_range(desc: &TensorMapDesc, visit: Visit<'_>) -> Result<(), TensorMapError> {
    let limit = Limit::AtMost((1 << 40) - 1);
    each(Rule::StrideRange, "globalStrides", desc.strides(), limit, 16, visit)
}
