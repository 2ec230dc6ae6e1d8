//! The machine: a grid of CTAs in clusters, their warps, and the memories they share.
//!
//! A launch is deterministic. Clusters run one after the other, in the order of their index; the
//! warps of a cluster take turns, each until it waits; asynchronous copies and products take effect
//! when they are issued.

mod access;
mod address;
mod alu;
mod cluster;
mod copies;
mod cta;
mod exchange;
mod execute;
mod fault;
mod grid;
mod lanes;
mod matrices;
mod memory;
mod registers;
mod special;
mod sync;
mod warp;

pub use fault::{Access, FaultKind, RunError, Site, Waiting};
pub(crate) use grid::{Geometry, run_grid};
pub use memory::{Memory, NotAllocated, OutOfMemory};
