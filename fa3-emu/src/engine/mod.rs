//! What works beside the warps of a streaming multiprocessor, or between them: barriers, the Tensor
//! Memory Accelerator, the tensor cores and the registers that warps give to each other.
//!
//! Each engine is a state machine or a function over bytes and registers. None knows of warps, of
//! time or of who waits: the machine decides when an operation takes effect, and asks afterwards
//! what completed. Shared memory is a CTA's bytes from `.shared::cta` address 0 up.

pub mod cluster;
pub mod matrix;
pub mod mbarrier;
pub mod named;
pub mod registers;
pub mod shared;
pub mod swizzle;
pub mod tma;
pub mod wgmma;
