//! What a program needs to launch kernels of its own on Hopper and Blackwell GPUs.
//!
//! Without default features this crate is plain data, with no CUDA dependency: [`Arch`], the
//! [kernel-artefact format](artefact), descriptions of [tensor maps](tensormap) and
//! [parameter blocks](parameter_block!). Feature `driver` (on by default) adds module `driver`: the CUDA
//! driver, loaded at run time.

pub mod arch;
pub mod artefact;
mod block;
#[cfg(feature = "driver")]
pub mod driver;
pub mod tensormap;

pub use arch::{Arch, UnsupportedArch};
pub use block::BlockLayout;
pub use tensormap::{TensorMap, TensorMapDesc, TensorMapError};

/// The README's example, compiled.
#[cfg(all(doctest, feature = "driver"))]
#[doc = include_str!("../README.md")]
struct Readme;
