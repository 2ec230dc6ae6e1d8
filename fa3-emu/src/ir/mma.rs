//! The tensor core and the instructions that move its fragments. PTX ISA, "Asynchronous Warpgroup
//! Level Matrix Multiply-Accumulate Instructions" and "Warp-Level Matrix Store Instruction".

use super::operand::{Address, PredReg, Reg, Src};

/// Moves or multiplies matrices; all lanes of a warp execute it together, and `wgmma` all four
/// warps of a warpgroup.
#[derive(Clone, Debug, PartialEq)]
pub enum MmaOp {
    /// `wgmma.mma_async`.
    Wgmma(Box<Wgmma>),
    /// `wgmma.fence`.
    Fence,
    /// `wgmma.commit_group`.
    Commit,
    /// `wgmma.wait_group`.
    Wait {
        /// Until at most this many groups are pending.
        pending: u32,
    },
    /// `stmatrix.m8n8.b16`: lane `8i + r` has the address of row `r` of matrix `i`.
    StoreMatrix {
        /// Transposes each matrix.
        transpose: bool,
        /// In shared memory of the CTA, 16 bytes a row.
        addr: Address,
        /// One register a matrix; one, two or four.
        src: Box<[Reg]>,
    },
    /// `ldmatrix.m8n8.b16`, its mirror image.
    LoadMatrix {
        /// Transposes each matrix.
        transpose: bool,
        /// One register a matrix; one, two or four.
        dst: Box<[Reg]>,
        /// In shared memory of the CTA, 16 bytes a row.
        addr: Address,
    },
}

/// `wgmma.mma_async.m64nNk16.f32`: `D = A·B + D`, or `D = A·B` where `accumulate` is false.
#[derive(Clone, Debug, PartialEq)]
pub struct Wgmma {
    /// A multiple of 8 from 8 to 256.
    pub n: u32,
    /// Of A and B.
    pub operand: OperandTy,
    /// `n / 2` registers of each thread.
    pub d: Box<[Reg]>,
    /// Left operand.
    pub a: OperandA,
    /// The descriptor of B, 64 bits.
    pub b: Src,
    /// Whether D is added to.
    pub accumulate: PredReg,
    /// Whether A counts negative.
    pub negate_a: bool,
    /// Whether B counts negative.
    pub negate_b: bool,
    /// B lies with its N dimension contiguous ("MN-major") rather than K.
    pub b_mn_major: bool,
}

/// The type of both operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandTy {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

/// Where A is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandA {
    /// In four registers of each thread.
    Registers([Reg; 4]),
    /// In shared memory.
    Shared {
        /// Its descriptor, 64 bits.
        descriptor: Src,
        /// It lies with its M dimension contiguous ("MN-major") rather than K.
        mn_major: bool,
    },
}
