//! Two kernels built on `fa3-tma` and `fa3-sys` alone, as a user of these crates would build them: a
//! matrix product and a transpose, timed beside cuBLAS and copies in the README.
//!
//! A kernel is a source under `kernels/`, a row of `table.rs`, a parameter block in [`params`], and a
//! plan made from shapes alone: [`Gemm::plan`], [`Transpose::plan`]. A plan has the tensor maps, the
//! parameters and the shape of the launch. With feature `driver`, `Plan::bind` encodes the maps of
//! tensors on a GPU and `Binding::launch` runs the kernel there; `fa3-emu` runs the same plan without one.
//!
//! [`Ceiling::plan`] is of loops that measure what the tensor cores give, for the benches.

#[cfg(feature = "driver")]
mod binding;
mod ceiling;
mod gemm;
pub mod params;
mod transpose;

#[path = "../table.rs"]
#[allow(dead_code, reason = "the build step uses the rest of the table")]
mod table;

/// The README's example, compiled.
#[cfg(all(doctest, feature = "driver"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod artifacts {
    include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));
}

#[allow(unused_imports, reason = "the table uses it")]
use fa3_sys::artefact::{KernelEntry, Missing, MissingReason, Unit};
use fa3_sys::tensormap::TensorMapDesc;
use fa3_sys::{Arch, TensorMapError};

#[cfg(feature = "driver")]
pub use binding::{BindError, Binding};
pub use ceiling::Ceiling;
pub use gemm::Gemm;
pub use table::{CEILINGS, CeilingKernel, GEMM, GemmKernel, TRANSPOSE, TransposeKernel};
pub use transpose::Transpose;

/// What a kernel is launched with.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<Params, const MAPS: usize> {
    /// The kernel's name.
    pub symbol: &'static str,
    /// The tensor maps, its first parameters.
    pub maps: [TensorMapDesc; MAPS],
    /// The last parameter.
    pub params: Params,
    /// CTAs, in one dimension.
    pub grid: u32,
    /// Threads a CTA.
    pub threads: u32,
    /// Dynamic shared memory a CTA, bytes.
    pub shared_bytes: u32,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A size is zero, not a multiple of what it has to be, or more than the kernel counts.
    #[error("{argument} = {value}, but it has to be {rule}")]
    Size {
        /// The argument.
        argument: &'static str,
        /// Its value.
        value: u64,
        /// What would do.
        rule: &'static str,
    },
    /// A matrix that no tensor map describes.
    #[error("{matrix}: {source}")]
    Map {
        /// The matrix.
        matrix: &'static str,
        /// The rule.
        source: TensorMapError,
    },
}

impl PlanError {
    fn unless(holds: bool, argument: &'static str, value: u64, rule: &'static str) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::Size { argument, value, rule }) }
    }
}

/// A multiple of 8, without overflow: none that a plan takes is as large as where it would.
const fn padded(size: u64) -> u64 {
    size.saturating_add(7) / 8 * 8
}

/// Refuses a stride, in elements, that no tensor map takes.
fn check_stride(argument: &'static str, stride: u64) -> Result<(), PlanError> {
    let taken = stride.is_multiple_of(8) && stride < 1 << 39;
    PlanError::unless(taken, argument, stride, "a multiple of 8, less than 2³⁹")
}

/// Sizes are counted in 31 bits on the device, whole tiles past the end included.
const MOST: u64 = (1 << 31) - 1024;

/// A description that the driver would take.
fn checked(
    matrix: &'static str,
    desc: Result<TensorMapDesc, TensorMapError>,
) -> Result<TensorMapDesc, PlanError> {
    let named = |source| PlanError::Map { matrix, source };
    let desc = desc.map_err(named)?;
    desc.validate_shape().map_err(named)?;
    Ok(desc)
}

/// The embedded kernel `symbol` for `arch`.
///
/// # Errors
/// [`Missing`] when it is not embedded, with the reason.
pub fn kernel(symbol: &'static str, arch: Arch) -> Result<&'static KernelEntry, Missing> {
    let found = artifacts::ENTRIES.iter().find(|entry| entry.symbol == symbol && entry.arch == arch);
    found.ok_or_else(|| not_embedded(symbol, arch))
}

/// The PTX of the embedded kernel `symbol` for `arch`.
///
/// # Errors
/// [`Missing`] when it is not embedded, with the reason.
pub fn ptx(symbol: &'static str, arch: Arch) -> Result<&'static str, Missing> {
    let found = artifacts::PTX.iter().find(|ptx| ptx.symbol == symbol && ptx.arch == arch);
    found.map(|ptx| ptx.text).ok_or_else(|| not_embedded(symbol, arch))
}

fn not_embedded(symbol: &'static str, arch: Arch) -> Missing {
    let missing = artifacts::MISSING.iter().find(|missing| missing.symbol == symbol && missing.arch == arch);
    missing.copied().unwrap_or(Missing { symbol, arch, why: MissingReason::NotBuilt })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_embedded_or_named_as_missing_and_fits() {
        for unit in table::units() {
            let found = artifacts::ENTRIES.iter().filter(|entry| entry.symbol == unit.symbol).count();
            let missing = artifacts::MISSING.iter().filter(|missing| missing.symbol == unit.symbol).count();
            assert_eq!(found + missing, unit.arches.len(), "{}", unit.symbol);
        }
        assert!(GEMM.shared_bytes() <= Arch::Sm90a.max_shared_bytes());
        for ceiling in CEILINGS {
            assert!(ceiling.shared_bytes() <= Arch::Sm90a.max_shared_bytes(), "{ceiling:?}");
        }
        let sms_worth = |ctas| ctas * (TRANSPOSE.shared_bytes() + 1024);
        assert!(sms_worth(TRANSPOSE.ctas) <= 228 * 1024 && sms_worth(TRANSPOSE.ctas + 1) > 228 * 1024);
    }
}
