//! Tensor-map descriptions of operands: four-dimensional over `[dim, sequence, heads, batch]`.

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

/// The maps of [`OPERANDS`] for a forward kernel, or the rule that a layout breaks.
pub(crate) fn forward(
    problem: &Problem,
    dims: &Dims,
    kernel: &ForwardKernel,
) -> [Result<MapSlot, TensorMapError>; 4] {
    let boxes = kernel.boxes();
    let keys = |operand, spec: &TensorSpec| {
        if dims.sk == 0 {
            // One row of Q stands in: every key is outside the sequence, so that none is visible.
            let [_, _, _, dim] = spec.layout.shape;
            let row = TensorSpec { layout: Layout::contiguous([1, 1, 1, dim]), ..problem.q };
            return slot(operand, Operand::Q, &row, boxes.kv);
        }
        slot(operand, operand, spec, boxes.kv)
    };
    [
        slot(Operand::Q, Operand::Q, &problem.q, boxes.q),
        keys(Operand::K, &problem.k),
        keys(Operand::V, &problem.v),
        slot(Operand::O, Operand::O, &problem.o, boxes.o),
    ]
}

fn slot(
    operand: Operand,
    address: Operand,
    spec: &TensorSpec,
    box_extents: [u32; 4],
) -> Result<MapSlot, TensorMapError> {
    let size = spec.dtype.size() as u64;
    let [batch, sequence, heads, dim] = spec.layout.shape;
    let [batch_stride, sequence_stride, heads_stride, _] = spec.layout.strides;
    // The stride of a dimension of one element is never stepped over, so any legal value does.
    let stride = |extent: usize, elements: usize| match extent {
        1 => 16,
        _ => (elements as u64).saturating_mul(size),
    };
    let strides =
        [stride(sequence, sequence_stride), stride(heads, heads_stride), stride(batch, batch_stride)];
    let extents = [dim, sequence, heads, batch].map(|extent| extent as u64);
    let desc = TensorMapDesc::tiled(data_type(spec.dtype), &extents, &strides, &box_extents)?
        .with_swizzle(Swizzle::Bytes128)
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
