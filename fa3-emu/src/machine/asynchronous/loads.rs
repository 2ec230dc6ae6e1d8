//! Copies into shared memory, which complete their bytes on an mbarrier.

use std::collections::btree_map::Entry;
use std::rc::Rc;

use super::super::cluster::Cluster;
use super::super::exit::Unfinished;
use super::super::fault::{Arrival, FaultKind, TransactionBytes};
use super::Issuer;
use crate::engine::mbarrier::{Mbarrier, MbarrierError, TableError};
use crate::engine::shared;
use crate::engine::tma::{TileMap, TmaError, bulk_load};
use crate::options::Order;

/// What shared memory holds between the issue of a load and its landing: NaN in every format.
const POISON: u8 = 0xff;

/// What a load brings.
#[derive(Clone, Debug)]
pub(in super::super) enum Source {
    Tile(Rc<(TileMap, Vec<i32>)>),
    Bytes { address: u64, bytes: u32 },
}

impl Source {
    /// The bytes that land in shared memory and are counted on the mbarrier.
    pub(in super::super) fn bytes(&self) -> u32 {
        match self {
            Self::Tile(tile) => tile.0.tile_bytes(),
            Self::Bytes { bytes, .. } => *bytes,
        }
    }
}

/// An mbarrier of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct BarrierAt {
    /// The CTA's rank.
    pub(in super::super) cta: usize,
    /// Where in its shared memory.
    pub(in super::super) offset: u32,
}

/// A load into the shared memory of one CTA; a multicast is one of them for each.
#[derive(Clone, Debug)]
pub(in super::super) struct Load {
    pub(in super::super) source: Source,
    /// The rank of the CTA that gets it.
    pub(in super::super) cta: usize,
    /// Where in its shared memory.
    pub(in super::super) offset: u32,
    pub(in super::super) barrier: BarrierAt,
    pub(in super::super) issuer: Issuer,
}

/// A load that has not landed.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) load: Load,
    /// The mbarrier's phase when it was issued.
    phase: u64,
    pub(super) number: u64,
}

pub(super) type Loads = Vec<InFlight>;

impl Cluster<'_> {
    /// A load begins.
    pub(in super::super) fn issue_load(&mut self, load: Load) -> Result<(), FaultKind> {
        self.check_running(load.cta)?;
        let barrier = self.ctas[load.barrier.cta].barriers.get(load.barrier.offset)?;
        let phase = barrier.phase();
        let number = self.asynchronous.number();
        self.check_load(&load, phase)?;
        if load.source.bytes() != 0 {
            let unwaited = &mut self.ctas[load.barrier.cta].unwaited;
            unwaited.insert(load.barrier.offset, (phase, load.clone()));
        }
        // No wait is for a load of no bytes.
        if self.options.order == Order::Eager || load.source.bytes() == 0 {
            return self.land(&load);
        }
        let place = &mut self.ctas[load.cta].shared;
        let (start, bytes) = (load.offset as usize, load.source.bytes() as usize);
        shared::check(place, start, bytes).map_err(TmaError::from)?;
        place[start..start + bytes].fill(POISON);
        self.asynchronous.loads.push(InFlight { load, phase, number });
        Ok(())
    }

    /// A phase of an mbarrier is complete, and a warp knows it.
    pub(in super::super) fn has_waited(&mut self, at: BarrierAt, phase: u64) {
        if let Entry::Occupied(last) = self.ctas[at.cta].unwaited.entry(at.offset)
            && last.get().0 <= phase
        {
            last.remove();
        }
    }

    /// A load into the shared memory of a CTA that may not have landed, for all that its warps know.
    pub(in super::super) fn unfinished_load(&self, cta: usize) -> Option<Unfinished> {
        let of_cta = |one: &&InFlight| one.load.cta == cta || one.load.barrier.cta == cta;
        let in_flight = self.asynchronous.loads.iter().find(of_cta).map(|one| &one.load);
        let load = in_flight.or_else(|| self.ctas[cta].unwaited.values().next().map(|(_, load)| load))?;
        let (address, bytes) = (load.offset, load.source.bytes());
        Some(Unfinished::Load { address, bytes, issuer: self.site_of(load.issuer) })
    }

    /// A load lands, whole, and completes its bytes.
    pub(super) fn land(&mut self, load: &Load) -> Result<(), FaultKind> {
        let shared = &mut self.ctas[load.cta].shared;
        match &load.source {
            Source::Tile(tile) => {
                tile.0.load(&tile.1, &self.memory, load.offset, shared)?;
            }
            &Source::Bytes { address, bytes } => {
                bulk_load(&self.memory, address, shared, load.offset, bytes)?;
            }
        }
        let bytes = load.source.bytes();
        let phase = self.on_barrier(load.barrier, |barrier| barrier.complete_tx(bytes))?;
        let (BarrierAt { cta, offset }, Issuer { warp, pc, .. }) = (load.barrier, load.issuer);
        self.trace(|tracer, program| {
            tracer.load(warp, load.cta, bytes, (cta, offset), phase, program.lines[pc]);
        });
        Ok(())
    }

    /// Does something at an mbarrier that may complete its phase, for a warp of the cluster. The phase
    /// that it was done in.
    pub(in super::super) fn at_barrier(
        &mut self,
        at: BarrierAt,
        by: Issuer,
        change: impl FnOnce(&mut Mbarrier) -> Result<bool, MbarrierError>,
    ) -> Result<u64, FaultKind> {
        self.check_running(at.cta)?;
        let before = self.ctas[at.cta].arrivals.insert(at.offset, by);
        self.on_barrier(at, change).map_err(|kind| match (kind, before) {
            (FaultKind::Mbarrier(source), Some(before)) => {
                Box::new(Arrival { source, rank: at.cta, last: self.site_of(before) }).into()
            }
            (kind, _) => kind,
        })
    }

    /// Does something at an mbarrier that may complete its phase. The phase that it was done in.
    fn on_barrier(
        &mut self,
        at: BarrierAt,
        change: impl FnOnce(&mut Mbarrier) -> Result<bool, MbarrierError>,
    ) -> Result<u64, FaultKind> {
        let barrier = self.ctas[at.cta].barriers.get_mut(at.offset)?;
        let phase = barrier.phase();
        let complete =
            change(barrier).map_err(|source| TableError::Barrier { address: at.offset, source })?;
        if complete {
            self.check_landed(at, phase)?;
        }
        Ok(phase)
    }

    /// That every load that was issued in a phase of an mbarrier, which is complete, has landed.
    fn check_landed(&self, at: BarrierAt, phase: u64) -> Result<(), FaultKind> {
        let of_phase = |one: &&InFlight| one.load.barrier == at && one.phase == phase;
        let mut late = self.asynchronous.loads.iter().filter(of_phase);
        let Some(first) = late.next() else { return Ok(()) };
        let bytes = |one: &InFlight| u64::from(one.load.source.bytes());
        let in_flight = bytes(first) + late.map(bytes).sum::<u64>();
        let expected = self.ctas[at.cta].barriers.get(at.offset)?.bytes_of_last_phase();
        let issuer = self.site_of(first.load.issuer);
        let (address, rank) = (at.offset, at.cta);
        Err(Box::new(TransactionBytes { address, rank, phase, expected, in_flight, issuer }).into())
    }
}
