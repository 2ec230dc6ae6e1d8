//! The command: what the README shows, a kernel of `fa3-tma` with a tensor map, a forward kernel, and
//! what is said of everything that can be wrong.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod command;
mod faults;
mod kernels;
mod readme;
