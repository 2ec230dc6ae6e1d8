//! Barriers and fences. PTX ISA, "Parallel Synchronization and Communication Instructions".

use super::memory::Scope;
use super::operand::{Address, PredReg, Reg, Space, Src};

/// Orders warps and their accesses.
#[derive(Clone, Debug, PartialEq)]
pub enum SyncOp {
    /// `bar.sync`, `barrier.sync`: arrives at a named barrier of the CTA and waits for it.
    BarSync {
        /// Its number, 0 to 15.
        barrier: Src,
        /// How many threads it takes, a multiple of 32; all of the CTA if `None`.
        threads: Option<Src>,
        /// All lanes of the warp execute it together.
        aligned: bool,
    },
    /// `bar.arrive`, `barrier.arrive`: arrives without waiting.
    BarArrive {
        /// Its number, 0 to 15.
        barrier: Src,
        /// How many threads it takes, a multiple of 32.
        threads: Src,
        /// All lanes of the warp execute it together.
        aligned: bool,
    },
    /// `bar.warp.sync`: the members wait for each other.
    WarpSync {
        /// The mask of the lanes.
        members: Src,
    },
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// `.release` and the default, rather than `.relaxed`.
        release: bool,
        /// All lanes of the warp execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.wait`, with acquire.
    ClusterWait {
        /// All lanes of the warp execute it together.
        aligned: bool,
    },
    /// A fence.
    Fence(Fence),
    /// `mbarrier.init`.
    MbarInit {
        /// The barrier, 8 bytes of shared memory of the CTA.
        addr: Address,
        /// Arrivals a phase.
        count: Src,
    },
    /// `mbarrier.inval`.
    MbarInval {
        /// The barrier, in shared memory of the CTA.
        addr: Address,
    },
    /// `mbarrier.arrive`, and `mbarrier.arrive.expect_tx`.
    MbarArrive {
        /// [`Space::SharedCta`] or [`Space::SharedCluster`].
        space: Space,
        /// The barrier.
        addr: Address,
        /// Arrivals; 1 if `None`.
        count: Option<Src>,
        /// Bytes that the phase expects in addition, before the arrival.
        expect: Option<Src>,
        /// Gets the opaque state, 64 bits; `None` for `_`.
        state: Option<Reg>,
        /// `.release` and the default, rather than `.relaxed`.
        release: bool,
        /// Of that order.
        scope: Scope,
    },
    /// `mbarrier.expect_tx`: expects bytes in addition, without an arrival.
    MbarExpect {
        /// [`Space::SharedCta`] or [`Space::SharedCluster`].
        space: Space,
        /// The barrier.
        addr: Address,
        /// How many.
        bytes: Src,
    },
    /// `mbarrier.test_wait` and `mbarrier.try_wait`.
    MbarWait {
        /// The barrier, in shared memory of the CTA.
        addr: Address,
        /// Which phase.
        phase: Phase,
        /// Whether that phase has completed.
        dst: PredReg,
        /// `try_wait`: the thread may be suspended until the phase completes.
        may_suspend: bool,
        /// `.acquire` and the default, rather than `.relaxed`.
        acquire: bool,
        /// Of that order.
        scope: Scope,
    },
    /// `setmaxnreg`: changes the registers of each warp of a warpgroup.
    SetMaxRegisters {
        /// To more (waits until they are free), rather than to fewer.
        increase: bool,
        /// A multiple of 8 from 24 to 256.
        count: u32,
    },
    /// `nanosleep`.
    Sleep {
        /// Nanoseconds, at most about twice this.
        duration: Src,
    },
}

/// The phase that a wait asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `.parity`: the current one if its parity is other than this, so the one before has completed.
    Parity(Src),
    /// The one that a state from an arrival names.
    State(Reg),
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// `fence`, `membar`: orders the thread's accesses before against those after.
    Thread {
        /// For whom.
        scope: Scope,
        /// How.
        order: FenceOrder,
    },
    /// `fence.mbarrier_init.release.cluster`: makes `mbarrier.init` visible to the cluster.
    MbarrierInit,
    /// `fence.proxy.async`: orders generic accesses against those of the asynchronous proxy.
    Async {
        /// In this space; `None` in all.
        space: Option<Space>,
    },
    /// `fence.proxy.tensormap::generic.release`: after generic writes to a tensor map.
    TensorMapRelease {
        /// For whom.
        scope: Scope,
    },
    /// `fence.proxy.tensormap::generic.acquire`: before the use of a tensor map that was written.
    TensorMapAcquire {
        /// For whom.
        scope: Scope,
        /// The tensor map, 128 bytes at a generic address.
        addr: Address,
    },
}

/// The order of a thread fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceOrder {
    /// `.sc`, and `membar`.
    SequentiallyConsistent,
    /// `.acq_rel`.
    AcqRel,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
}
