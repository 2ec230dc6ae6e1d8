//! A kernel ready to run: registers, symbols and branch targets are numbers, and every
//! instruction is an [`Op`] whose operands have been checked.

pub mod alu;
pub mod bulk;
mod compile;
pub mod memory;
pub mod mma;
pub mod op;
pub mod operand;
pub mod program;
pub mod sync;
pub mod uses;
pub mod warp;

pub use alu::AluOp;
pub use bulk::BulkOp;
pub use memory::MemoryOp;
pub use mma::MmaOp;
pub use op::{Guard, Instr, Op};
pub use operand::{Address, Class, PredReg, Reg, Space, Special, Src, Ty};
pub use program::{Line, Location, Param, Program, Registers, Shared, Symbol};
pub use sync::SyncOp;
pub use warp::WarpOp;
