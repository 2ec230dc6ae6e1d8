//! What a program needs to launch kernels of its own on Hopper and Blackwell GPUs.
//!
//! Without default features this crate is plain data, with no CUDA dependency: [`Arch`] and the
//! [kernel-artefact format](artefact). Feature `driver` (on by default) adds the CUDA driver,
//! loaded at run time.

pub mod arch;
pub mod artefact;

pub use arch::{Arch, UnsupportedArch};
