//! Small kernels that each show one thing of the machine.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod basics;
mod exit;
mod orders;
mod parallel;
mod rules;
mod small;
