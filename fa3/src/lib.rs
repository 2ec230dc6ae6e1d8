//! Exact softmax attention for Rust programs.

pub mod dtype;
mod lengths;
pub mod options;
pub mod problem;
pub mod reference;
pub mod tensor;
#[cfg(feature = "testing")]
pub mod testing;

pub use dtype::{DType, Element};
pub use options::{Options, Window};
pub use problem::{Operands, Problem, Sequences};
pub use tensor::{Layout, Place, Pointer, Tensor, TensorSpec};
