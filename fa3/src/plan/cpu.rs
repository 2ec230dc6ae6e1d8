//! The plan of a forward pass on the CPU.

use core::fmt;

use crate::CpuTarget;

/// How the CPU computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpuPlan {
    /// Worker threads.
    pub threads: usize,
}

impl CpuPlan {
    pub(super) fn forward(target: &CpuTarget) -> Self {
        Self { threads: target.threads.max(1) }
    }
}

impl fmt::Display for CpuPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} threads", self.threads)
    }
}
