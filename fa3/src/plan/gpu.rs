//! The kernels of a plan, their addresses left open.

use fa3_kernels::{ForwardParams, ScheduleParams};
use fa3_sys::Arch;

use super::MapSlot;

/// The kernels of a plan, launched one after the other on one stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GpuPlan {
    /// Lists the tiles of sequences of unequal length in the workspace: their lengths lie in device
    /// memory, which nobody waits for.
    pub schedule: Option<SchedulePlan>,
    /// Computes O and the LSE.
    pub forward: ForwardPlan,
    /// Bytes of workspace that they share.
    pub workspace_bytes: usize,
}

impl GpuPlan {
    /// What is launched, in this order.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelPlan> {
        let schedule = self.schedule.iter().map(|schedule| &schedule.kernel);
        schedule.chain([&self.forward.kernel])
    }
}

/// A kernel and the shape of its launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelPlan {
    /// The kernel's name.
    pub symbol: String,
    /// The architecture it is built for.
    pub arch: Arch,
    /// CTAs in each dimension of the grid.
    pub grid: [u32; 3],
    /// Threads a CTA.
    pub block: u32,
    /// CTAs a cluster.
    pub cluster: u32,
    /// Dynamic shared memory a CTA, bytes.
    pub shared_bytes: u32,
}

/// The launch of the kernel that lists tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulePlan {
    /// The kernel and the shape of its launch.
    pub kernel: KernelPlan,
    /// Its parameter block; addresses are filled in when bound.
    pub params: ScheduleParams,
}

/// The launch of a forward kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardPlan {
    /// The kernel and the shape of its launch.
    pub kernel: KernelPlan,
    /// The tile that a CTA works on.
    pub tile: Tile,
    /// The tensor maps, in the order of the kernel's parameters.
    pub maps: Vec<MapSlot>,
    /// The parameter block that follows the maps; addresses are filled in when bound.
    pub params: ForwardParams,
}

/// The tile of a forward kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Rows.
    pub m: u32,
    /// Keys a step.
    pub n: u32,
    /// Query heads whose rows share the tile: 1, or all of a K/V head.
    pub pack: u32,
    /// Stages of the K ring and of the V ring.
    pub stages: u32,
    /// Consumer warpgroups.
    pub consumers: u32,
}

impl Tile {
    /// Queries: as many as rows, unless several heads share them.
    pub fn queries(&self) -> u32 {
        self.m.checked_div(self.pack).unwrap_or(0)
    }
}
