//! Exact softmax attention for Rust programs.

pub mod dtype;
pub mod options;
pub mod problem;
pub mod tensor;

pub use dtype::{DType, Element};
pub use options::{Options, Window};
pub use problem::{Operands, Problem, Sequences};
pub use tensor::{Layout, Place, Pointer, Tensor, TensorSpec};
