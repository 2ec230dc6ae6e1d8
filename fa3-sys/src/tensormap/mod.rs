//! Tensor maps: what the Tensor Memory Accelerator (TMA) is told of a tensor in global memory and
//! of the box that one instruction copies.
//!
//! A [`TensorMapDesc`] is plain data: printable, comparable, made and [validated] without a GPU or
//! CUDA. What encodes it — the driver, an emulator — gives a [`TensorMap`], the 128 bytes that a
//! kernel receives.
//!
//! Dimensions are innermost first, as the driver has them: dimension 0 is contiguous and has no
//! stride, `strides[i]` belongs to dimension `i + 1`, in bytes.
//!
//! ```
//! use fa3_sys::TensorMapDesc;
//! use fa3_sys::tensormap::{DataType, Swizzle};
//!
//! // Queries [batch 2, seq 4096, heads 16, dim 128] in bf16, tiles of 128 tokens by 64 columns.
//! let (batch, seq, heads, dim) = (2, 4096, 16, 128);
//! let desc = TensorMapDesc::contiguous(DataType::Bf16, &[dim, heads, seq, batch], &[64, 1, 128, 1])?
//!     .with_swizzle(Swizzle::Bytes128);
//! desc.validate(0x7f00_0000_0000)?;
//! assert_eq!(
//!     desc.to_string(),
//!     "tiled bf16 [128, 16, 4096, 2] strides [256, 4096, 16777216] box [64, 1, 128, 1] swizzle 128B",
//! );
//!
//! // A row of 128 columns is 256 bytes, more than the swizzle's span.
//! let wide = TensorMapDesc::contiguous(DataType::Bf16, &[dim, heads, seq, batch], &[128, 1, 128, 1])?
//!     .with_swizzle(Swizzle::Bytes128);
//! let error = wide.validate_shape().unwrap_err();
//! assert!(error.to_string().starts_with("boxDim[0] = 128, but "), "{error}");
//! # Ok::<(), fa3_sys::TensorMapError>(())
//! ```
//!
//! Not here: the im2col maps of the W dimension alone (`cuTensorMapEncodeIm2colWide`, compute
//! capability 10.0).
//!
//! [validated]: TensorMapDesc::validate

mod bytes;
mod desc;
mod error;
mod rule;
mod rules;
mod types;
mod validate;
mod value;

pub use bytes::MapBytesError;
pub use desc::{Access, Im2col, MAX_RANK, TensorMapDesc};
pub use error::TensorMapError;
pub use rule::{Check, Limit, Rule, Source, Value};
pub use types::{DataType, Fill, Interleave, L2Promotion, Swizzle};
pub use value::TensorMap;

#[cfg(test)]
mod tests;
