//! The machine: a grid of CTAs in clusters, their warps, and the memories they share.
//!
//! A launch is deterministic. Clusters begin in the order of their index, each on one thread. In which
//! turns the warps of a cluster run, and when asynchronous copies and products take effect, the order
//! of the launch's options says.

mod access;
mod address;
mod alu;
mod asynchronous;
mod checking;
mod cluster;
mod copies;
mod cta;
mod device;
mod diagnose;
mod exchange;
mod execute;
mod exit;
mod fault;
mod grid;
mod lanes;
mod matrices;
mod memory;
mod random;
mod registers;
mod schedule;
mod special;
mod sync;
mod warp;

pub use exit::Unfinished;
pub use fault::{Access, Arrival, FaultKind, NotUniform, RunError, Site, TransactionBytes, Waiting};
pub(crate) use grid::{Geometry, run_grid};
pub use memory::{Memory, NotAllocated, OutOfMemory};
