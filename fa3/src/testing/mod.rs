//! The one list of cases that every backend is tested on: data, inputs made from seeds, and the
//! check against f64.
//!
//! A [`Case`] prints as one line, and that line parses back into it; a [`Failure`] ends with it. The
//! features of cases meet: every head dimension with all lengths, and each other feature with each of
//! these and with each other ([`Set::Covering`]).
//!
//! Inputs lie in buffers that are NaN wherever the layout has no element, so that reading outside
//! it shows. Outputs start as NaN everywhere, so that what a kernel left out and what it wrote
//! outside the layout both show.
//!
//! ```
//! use fa3::testing::{Case, Elements};
//!
//! let case: Case = "bf16 b=1 sq=3 sk=5 hq=2 hk=1 d=8 dv=8 bhsd normal seed=7 causal".parse()?;
//! assert_eq!(case.to_string().parse::<Case>()?, case);
//! let inputs = case.inputs();
//! assert!(matches!(inputs.q.elements, Elements::Bf16(_)));
//! let mut outputs = case.outputs();
//! // Here a backend computes; this one leaves every element as it was, which is found out:
//! let failure = case.check(&inputs, &outputs).unwrap_err();
//! assert!(failure.to_string().ends_with(&case.to_string()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrangement;
mod buffer;
mod case;
mod check;
mod covering;
mod dense;
mod design;
mod errors;
mod inputs;
mod large;
mod list;
mod named;
mod options;
mod paths;
mod shapes;
mod text;

pub use arrangement::Arrangement;
pub use buffer::{Buffer, Elements};
pub use case::{Case, Lengths, Need};
pub use check::{Failure, FailureKind, Outputs, Report};
pub use inputs::{Distribution, Inputs};
pub use list::{Set, cases};
pub use text::CaseError;
