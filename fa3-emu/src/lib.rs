//! A functional emulator of the PTX that CUDA kernels for Hopper GPUs compile to.
//!
//! [`ir`] is what it executes: a kernel whose names are resolved to numbers and whose
//! instructions have been checked. [`engine`] is what works beside the warps: barriers, TMA and the
//! tensor cores.

pub mod engine;
pub mod ir;
