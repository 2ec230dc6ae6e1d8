//! A functional emulator of the PTX that CUDA kernels for Hopper GPUs compile to.
//!
//! [`ptx::parse`] reads the text; [`ir::Program::compile`] resolves one of its kernels, so that
//! names are numbers and every instruction has been checked. What the emulator does not know is an
//! error that names it and its line.
//!
//! [`engine`] is what works beside the warps: barriers, TMA and the tensor cores.

pub mod engine;
pub mod ir;
pub mod ptx;

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
