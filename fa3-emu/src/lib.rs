//! A functional emulator of the PTX that CUDA kernels for Hopper GPUs compile to.
//!
//! [`ptx::parse`] reads the text, [`ir::Program::compile`] resolves one of its kernels, and [`run()`]
//! executes a [`Launch`] of it on a [`Memory`]. What works beside the warps is in [`engine`]:
//! barriers, TMA and the tensor cores. What the emulator does not know is an error that names it and
//! its line. A run can be recorded as a timeline, a [`trace`].

pub mod check;
mod checks;
pub mod engine;
pub mod ir;
mod launch;
mod machine;
pub mod mutation;
mod options;
pub mod ptx;
pub mod trace;

pub use checks::{Checks, ParseChecksError};
pub use launch::{Launch, Report, run};
pub use machine::{
    Access, Arrival, FaultKind, Memory, NotAllocated, NotUniform, OutOfMemory, RunError, Site,
    TransactionBytes, Unfinished, Waiting,
};
pub use options::{Options, Order, ParseOrderError};

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
