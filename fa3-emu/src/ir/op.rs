//! An instruction: a guard and an operation.

use super::alu::AluOp;
use super::bulk::BulkOp;
use super::memory::MemoryOp;
use super::mma::MmaOp;
use super::operand::PredReg;
use super::sync::SyncOp;
use super::warp::WarpOp;

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instr {
    /// The lanes that execute it; all active ones without a guard.
    pub guard: Option<Guard>,
    /// What it does.
    pub op: Op,
}

/// `@p` or `@!p`. PTX ISA, "Predicated Execution".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub pred: PredReg,
    /// Whether lanes execute where it is false.
    pub negated: bool,
}

/// What an instruction does, by what it needs: registers alone, memory, the other lanes of a
/// warp, the other warps, the copy engine, the tensor core.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Computes in the registers of a lane.
    Alu(AluOp),
    /// Reads or writes memory lane by lane.
    Memory(MemoryOp),
    /// Exchanges values between the lanes of a warp.
    Warp(WarpOp),
    /// Orders warps and their accesses.
    Sync(SyncOp),
    /// Copies in bulk, asynchronously.
    Bulk(BulkOp),
    /// Moves or multiplies matrices.
    Mma(MmaOp),
    /// Goes on at another instruction, `bra`.
    Branch {
        /// The number of that instruction, within the program.
        target: u32,
        /// `.uni`: all active lanes agree.
        uniform: bool,
    },
    /// Ends the thread: `exit`, and `ret` of a kernel.
    Exit,
    /// Ends the grid with an error: `trap`.
    Trap,
    /// Lets dependent grids start: `griddepcontrol.launch_dependents`.
    LaunchDependents,
    /// Waits for the grids that this one depends on: `griddepcontrol.wait`.
    WaitForGrids,
}
