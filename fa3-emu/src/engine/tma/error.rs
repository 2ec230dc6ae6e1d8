//! What a tile copy is refused for.

use fa3_sys::tensormap::{DataType, MapBytesError};

use crate::engine::shared::SharedBounds;
use crate::ir::bulk::{BulkReduce, ElementTy};

use super::Unmapped;

/// Why a tile is not copied. The coordinate rules were observed of an H200, which takes such a copy
/// for an illegal instruction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TmaError {
    /// The bytes are no map that an emulated device made.
    #[error(transparent)]
    Map(#[from] MapBytesError),
    /// The map is legal, and not one that is emulated.
    #[error("a tensor map with {what} is not emulated: {instead} would do")]
    Unsupported {
        /// What of it.
        what: String,
        /// What is emulated.
        instead: &'static str,
    },
    /// The instruction's dimensions are not the map's.
    #[error("{found} coordinates for a tensor map of {rank} dimensions: {rank} would do")]
    Rank {
        /// Coordinates given.
        found: usize,
        /// The map's dimensions.
        rank: usize,
    },
    /// A tile that begins off a multiple of 16 bytes.
    #[error(
        "contiguous coordinate {coordinate} is {bytes} bytes from the tensor's start: a multiple of 16 bytes \
         would do"
    )]
    ContiguousCoordinate {
        /// The coordinate, in elements.
        coordinate: i32,
        /// The same in bytes.
        bytes: i64,
    },
    /// A store or a reduction that begins before the tensor.
    #[error("coordinate {coordinate} of dimension {dimension}: a store begins at 0 or beyond")]
    NegativeCoordinate {
        /// The dimension, 0 the contiguous one.
        dimension: usize,
        /// The coordinate, in elements.
        coordinate: i32,
    },
    /// A tile that shared memory holds at an address that TMA cannot use.
    #[error("a tile at shared address {address:#x}: a multiple of 128 would do")]
    SharedAlignment {
        /// The address.
        address: u32,
    },
    /// A tile that shared memory does not hold.
    #[error(transparent)]
    Shared(#[from] SharedBounds),
    /// Part of the tensor, or of a bulk copy's bytes, that is not allocated.
    #[error("the copy reaches beyond its allocation: {0}")]
    Global(#[from] Unmapped),
    /// Part of the tensor, or of a bulk copy's bytes, that has no address.
    #[error("the copy reaches beyond the last address")]
    AddressOverflow,
    /// A reduction that the element type does not have.
    #[error(
        "reduction {reduction:?} of {element:?}: Add of U32, S32, U64, F16, Bf16 or F32, Min and Max of U32, \
         S32, U64, S64 or F16, Inc and Dec of U32, and bitwise operations of B32 or B64 would do"
    )]
    Reduction {
        /// The operation.
        reduction: BulkReduce,
        /// The element type.
        element: ElementTy,
    },
    /// A map whose elements cannot be reduced.
    #[error("a reduction of {data_type} elements: 32- or 64-bit integers, f16, bf16 or f32 would do")]
    Elements {
        /// The map's element type.
        data_type: DataType,
    },
    /// A copy of contiguous bytes off the granule.
    #[error("a bulk copy with {operand} {value:#x}: a multiple of 16 would do")]
    BulkGranule {
        /// Which operand.
        operand: &'static str,
        /// Its value.
        value: u64,
    },
}
