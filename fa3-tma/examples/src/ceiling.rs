//! Loops of matrix products alone, which measure what the tensor cores give.

use crate::params::CeilingParams;
use crate::{CeilingKernel, Plan};

/// A loop of [`CEILINGS`](crate::CEILINGS) and how long it goes on.
///
/// ```
/// use fa3_tma_examples::{CEILINGS, Ceiling};
///
/// let kernel = CEILINGS.into_iter().find(|kernel| kernel.name == "d128").unwrap();
/// let ceiling = Ceiling { kernel, passes: 1000, source: 0x1000, sums: 0x2000 };
/// assert_eq!((ceiling.plan(132).grid, ceiling.plan(132).threads), (132, 256));
/// // A pass is two products of 128×128×128 a CTA.
/// assert_eq!(ceiling.flops(132), 132 * 1000 * 2 * 2 * 128 * 128 * 128);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// The loop.
    pub kernel: CeilingKernel,
    /// Passes that each warpgroup makes.
    pub passes: u64,
    /// Address of [`CeilingKernel::shared_bytes`] bytes of bf16 to fill shared memory and registers
    /// with, on a 16-byte boundary. Constant ones draw less power, and the card then runs faster.
    pub source: u64,
    /// Address of an f32 for each thread of the grid, which gets the sum of its results.
    pub sums: u64,
}

impl Ceiling {
    /// The launch on a GPU of `sms` SMs, one CTA each.
    pub const fn plan(&self, sms: u32) -> Plan<CeilingParams, 0> {
        let Self { kernel, passes, source, sums } = *self;
        Plan {
            symbol: kernel.symbol,
            maps: [],
            params: CeilingParams { source, sums, passes },
            grid: sms,
            threads: kernel.threads(),
            shared_bytes: kernel.shared_bytes(),
        }
    }

    /// Floating-point operations of that launch.
    pub const fn flops(&self, sms: u32) -> u64 {
        self.passes.saturating_mul(self.kernel.flops()).saturating_mul(sms as u64)
    }
}
