//! A CTA: its shared memory and its barriers.

use std::collections::{BTreeMap, HashMap};

use super::asynchronous::{Issuer, Load};
use crate::engine::mbarrier::MbarrierTable;
use crate::engine::named::NamedBarriers;
use crate::engine::registers::RegisterPool;

/// What the warps of a CTA share.
#[derive(Debug)]
pub(super) struct Cta {
    /// Its index in the grid.
    pub(super) index: [u32; 3],
    /// Threads, in whole warps.
    pub(super) threads: u32,
    /// Shared memory, from `.shared::cta` address 0 up.
    pub(super) shared: Vec<u8>,
    pub(super) barriers: MbarrierTable,
    pub(super) named: NamedBarriers,
    pub(super) registers: RegisterPool,
    /// Who last arrived at an mbarrier, or expected bytes there, by its address.
    pub(super) arrivals: HashMap<u32, Issuer>,
    /// The last load that completes on an mbarrier, by its address, and the phase that it was issued in,
    /// until somebody has waited for that.
    pub(super) unwaited: BTreeMap<u32, (u64, Load)>,
    /// Whether all its warps have exited.
    pub(super) exited: bool,
}

impl Cta {
    pub(super) fn new(index: [u32; 3], threads: u32, shared_bytes: u32) -> Self {
        Self {
            index,
            threads: threads.next_multiple_of(32),
            shared: vec![0; shared_bytes as usize],
            barriers: MbarrierTable::default(),
            named: NamedBarriers::default(),
            registers: RegisterPool::new(threads.div_ceil(32) as usize),
            arrivals: HashMap::new(),
            unwaited: BTreeMap::new(),
            exited: false,
        }
    }
}
