//! The tensor cores of a warpgroup (PTX ISA, "wgmma.mma_async"): 64×16 times 16×N, summed in f32.
//!
//! Operands are read where their descriptors or registers say, as [`MatrixA`] and [`MatrixB`]; the
//! [`Accumulator`] is filled from the warpgroup's registers and written back to them. So the machine
//! chooses when operands are read and when results appear.
//!
//! Products are exact, and added in f32 in the order of the contraction, each sum rounded to nearest.
//! Hardware keeps to no documented order or rounding, so results agree within a tolerance only.

mod accumulator;
mod descriptor;
mod operand;

pub use accumulator::Accumulator;
pub use descriptor::{Descriptor, Major};
pub use operand::{MatrixA, MatrixB};

use super::shared::SharedBounds;

/// Rows of the accumulator and of A.
pub const M: usize = 64;
/// The contraction of one instruction with 16-bit operands.
pub const K: usize = 16;
/// The most columns of the accumulator.
pub const MAX_N: usize = 256;

/// Why operands cannot be multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WgmmaError {
    /// A shape that the instruction does not have.
    #[error("wgmma with N = {n}: a multiple of 8 from 8 to 256 would do")]
    Columns {
        /// Columns of B.
        n: usize,
    },
    /// Operands of different shapes.
    #[error("wgmma adds to {accumulator} columns, but B has {n}")]
    Shapes {
        /// Columns of the accumulator.
        accumulator: usize,
        /// Columns of B.
        n: usize,
    },
    /// A register that the fragment does not have.
    #[error("register {register} of warp {warp}: a fragment has {registers} in each of 4 warps")]
    Fragment {
        /// The warp of the warpgroup.
        warp: usize,
        /// The register of each of its threads.
        register: usize,
        /// Registers of the fragment.
        registers: usize,
    },
    /// Bits that have no meaning.
    #[error("bits {bits:#x} of matrix descriptor {descriptor:#x} are set: they have no meaning, and are 0")]
    Reserved {
        /// The descriptor.
        descriptor: u64,
        /// The bits.
        bits: u64,
    },
    /// A matrix whose swizzle pattern begins off its alignment.
    #[error(
        "matrix descriptor {descriptor:#x} has base offset {offset}: 0 would do, the only \
         one that is emulated"
    )]
    BaseOffset {
        /// The descriptor.
        descriptor: u64,
        /// The base offset.
        offset: u8,
    },
    /// A matrix that shared memory does not hold.
    #[error("matrix descriptor {descriptor:#x}: {source}")]
    Shared {
        /// The descriptor.
        descriptor: u64,
        /// What is not there.
        source: SharedBounds,
    },
}

#[cfg(test)]
mod tests;
