#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(any(test, feature = "model"))]
extern crate std;

#[doc = include_str!("guide.md")]
pub mod guide {}
mod headers;
#[cfg(feature = "kernels")]
pub mod kernels;
#[cfg(any(test, feature = "model"))]
pub mod model;
pub mod ring;

pub use headers::HEADERS;
