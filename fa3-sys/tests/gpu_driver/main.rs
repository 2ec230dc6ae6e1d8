//! The driver layer on a GPU. These tests fail where there is none.
//!
//! `cfg(test)` tells clippy that helpers too are test code.

#[cfg(test)]
mod graphs;
#[cfg(test)]
mod kernels;
#[cfg(test)]
mod launches;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod order;
#[cfg(test)]
mod sharing;
