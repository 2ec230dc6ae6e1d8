//! Tensor-map descriptions of operands.

use fa3_kernels::ForwardKernel;
use fa3_sys::TensorMapError;
use fa3_sys::tensormap::{DataType, L2Promotion, Swizzle, TensorMapDesc};

use crate::{DType, Dims, Layout, Operand, Problem, TensorSpec};

/// A tensor map whose address is filled in when the plan is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MapSlot {
    /// The operand that the kernel loads or stores through the map.
    pub operand: Operand,
    /// The operand whose address the map gets. Another than `operand` only where that has no
    /// element: a map cannot describe an empty tensor, so it stands on memory that exists.
    pub address: Operand,
    /// Everything but the address.
    pub desc: TensorMapDesc,
}

/// The operands with maps, in the order of the kernels' parameters.
pub(crate) const OPERANDS: [Operand; 4] = [Operand::Q, Operand::K, Operand::V, Operand::O];

/// The maps of [`OPERANDS`] for a forward kernel with `pack` query heads a tile, or the rule that a
/// layout breaks.
pub(crate) fn forward(
    problem: &Problem,
    dims: &Dims,
    kernel: &ForwardKernel,
    pack: u32,
) -> [Result<MapSlot, TensorMapError>; 4] {
    let boxes = kernel.boxes(pack);
    let keys = |operand, spec: &TensorSpec, box_extents| {
        if dims.sk == 0 {
            // One row of Q stands in: every key is outside the sequence, so that none is visible.
            let row = TensorSpec { layout: Layout::contiguous([1, 1, 1, dims.d]), ..problem.q };
            return tensor(operand, Operand::Q, &row, box_extents);
        }
        tensor(operand, operand, spec, box_extents)
    };
    [
        queries(&problem.q, &boxes.q),
        keys(Operand::K, &problem.k, &boxes.k),
        keys(Operand::V, &problem.v, &boxes.v),
        tensor(Operand::O, Operand::O, &problem.o, &boxes.o),
    ]
}

/// `[dim, head in pack, sequence, head of tiles, batch]`.
fn queries(spec: &TensorSpec, box_extents: &[u32; 5]) -> Result<MapSlot, TensorMapError> {
    let [batch, sequence, heads, dim] = spec.layout.shape;
    let [batch_stride, sequence_stride, heads_stride, _] = spec.layout.strides;
    let pack = box_extents[1] as usize;
    let tile_heads = heads.checked_div(pack).unwrap_or(heads);
    let dimensions = [
        (pack, heads_stride),
        (sequence, sequence_stride),
        (tile_heads, heads_stride.saturating_mul(pack)),
        (batch, batch_stride),
    ];
    slot(Operand::Q, Operand::Q, spec.dtype, dim, &dimensions, box_extents)
}

/// `[dim, sequence, heads, batch]`.
fn tensor(
    operand: Operand,
    address: Operand,
    spec: &TensorSpec,
    box_extents: &[u32; 4],
) -> Result<MapSlot, TensorMapError> {
    let [batch, sequence, heads, dim] = spec.layout.shape;
    let [batch_stride, sequence_stride, heads_stride, _] = spec.layout.strides;
    let dimensions = [(sequence, sequence_stride), (heads, heads_stride), (batch, batch_stride)];
    slot(operand, address, spec.dtype, dim, &dimensions, box_extents)
}

/// `dimensions` are the extents and strides, in elements, of all but the contiguous one.
fn slot<const RANK: usize, const OUTER: usize>(
    operand: Operand,
    address: Operand,
    dtype: DType,
    dim: usize,
    dimensions: &[(usize, usize); OUTER],
    box_extents: &[u32; RANK],
) -> Result<MapSlot, TensorMapError> {
    let size = dtype.size() as u64;
    // The stride of a dimension of one element is never stepped over, so any legal value does.
    let strides = dimensions.map(|(extent, elements)| match extent {
        1 => 16,
        _ => (elements as u64).saturating_mul(size),
    });
    let mut extents = [dim as u64; RANK];
    for (to, &(extent, _)) in extents.iter_mut().skip(1).zip(dimensions) {
        *to = extent as u64;
    }
    // A row of a box is one swizzle span: 128 bytes, or 64.
    let row_bytes = box_extents.first().map_or(0, |&columns| u64::from(columns) * size);
    let swizzle = if row_bytes == 64 { Swizzle::Bytes64 } else { Swizzle::Bytes128 };
    let desc = TensorMapDesc::tiled(data_type(dtype), &extents, &strides, box_extents)?
        .with_swizzle(swizzle)
        .with_l2_promotion(L2Promotion::Bytes256);
    desc.validate_shape()?;
    Ok(MapSlot { operand, address, desc })
}

const fn data_type(dtype: DType) -> DataType {
    match dtype {
        DType::F32 => DataType::F32,
        DType::F16 => DataType::F16,
        DType::Bf16 => DataType::Bf16,
        DType::I32 => DataType::I32,
    }
}
