//! A functional emulator of the PTX that CUDA kernels for Hopper GPUs compile to.
//!
//! [`ir`] is what it executes: a kernel whose names are resolved to numbers and whose
//! instructions have been checked.

pub mod ir;
