//! Reductions: shared memory combined with global memory, element by element.

use fa3_sys::tensormap::DataType;

use crate::ir::bulk::{BulkReduce, ElementTy};

use super::combine::combination;
use super::{Global, TileMap, TmaError};

impl TileMap {
    /// Combines the tile at shared address `source` with the tensor at `coordinates`, which is
    /// clipped as by [`store`](Self::store).
    ///
    /// Sums of `f32` take subnormal operands and results for zeros (PTX ISA, "cp.reduce.async.bulk");
    /// sums of 16-bit floats are rounded to nearest even, subnormal numbers included.
    ///
    /// # Errors
    /// [`TmaError`]; [`TmaError::Reduction`] for an operation that the element type does not have.
    /// Part of the tile may be combined when the tensor is not all allocated.
    pub fn reduce<G: Global + ?Sized>(
        &self,
        reduction: BulkReduce,
        coordinates: &[i32],
        shared: &[u8],
        source: u32,
        global: &mut G,
    ) -> Result<(), TmaError> {
        let combine = combination(reduction, element(self.desc.data_type(), reduction)?)?;
        self.outgoing(coordinates, shared, source, |address, bytes| {
            Ok(global.update(address, bytes.len(), &mut |there| combine(there, bytes))?)
        })
    }
}

/// The instruction's type for elements of the map's: bitwise operations take any that is as wide.
fn element(data_type: DataType, reduction: BulkReduce) -> Result<ElementTy, TmaError> {
    let bitwise = matches!(reduction, BulkReduce::And | BulkReduce::Or | BulkReduce::Xor);
    Ok(match data_type {
        DataType::U32 | DataType::I32 if bitwise => ElementTy::B32,
        DataType::U64 | DataType::I64 if bitwise => ElementTy::B64,
        DataType::U32 => ElementTy::U32,
        DataType::I32 => ElementTy::S32,
        DataType::U64 => ElementTy::U64,
        DataType::I64 => ElementTy::S64,
        DataType::F16 => ElementTy::F16,
        DataType::Bf16 => ElementTy::Bf16,
        DataType::F32 => ElementTy::F32,
        _ => return Err(TmaError::Elements { data_type }),
    })
}
