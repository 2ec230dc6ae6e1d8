//! Copies from shared to global memory, in the bulk groups of the threads that issue them. Such a copy
//! first reads its source, later writes its destination.

use super::super::cluster::{Cluster, Flow};
use super::super::exit::Unfinished;
use super::super::fault::FaultKind;
use super::super::lanes::lanes_of;
use super::super::warp::{Wait, Warp};
use super::Issuer;
use crate::engine::shared;
use crate::engine::tma::{TileMap, TmaError, bulk_reduce, bulk_store};
use crate::ir::bulk::{BulkReduce, ElementTy};
use crate::options::Order;

/// Addresses in shared memory that differ by a multiple of this are swizzled alike.
const PATTERN: u32 = 1024;

/// What a store does to global memory.
#[derive(Debug)]
pub(in super::super) enum Outgoing {
    Tile { map: Box<TileMap>, coordinates: Vec<i32>, reduce: Option<BulkReduce> },
    Bytes { address: u64, bytes: u32, reduce: Option<(BulkReduce, ElementTy)> },
}

impl Outgoing {
    /// The bytes that it reads.
    fn bytes(&self) -> u32 {
        match self {
            Self::Tile { map, .. } => map.tile_bytes(),
            Self::Bytes { bytes, .. } => *bytes,
        }
    }
}

/// A store or a reduction.
#[derive(Debug)]
pub(in super::super) struct Store {
    pub(in super::super) what: Outgoing,
    /// The CTA's rank.
    pub(in super::super) cta: usize,
    /// Its source there.
    pub(in super::super) offset: u32,
    pub(in super::super) issuer: Issuer,
    /// Its group among those of its thread.
    pub(super) group: u64,
    /// What it has read.
    pub(super) read: Option<Vec<u8>>,
    pub(super) number: u64,
}

impl Store {
    pub(in super::super) const fn new(what: Outgoing, cta: usize, offset: u32, issuer: Issuer) -> Self {
        Self { what, cta, offset, issuer, group: 0, read: None, number: 0 }
    }

    /// Whether a thread that waits until its groups below `wanted` are done waits for it.
    pub(super) fn holds_up(&self, warp: usize, lane: usize, wanted: u64, reads_only: bool) -> bool {
        self.issuer.warp == warp
            && self.issuer.lanes == 1 << lane
            && self.group < wanted
            && !(reads_only && self.read.is_some())
    }
}

impl Cluster<'_> {
    /// A store begins.
    pub(in super::super) fn issue_store(&mut self, mut store: Store) -> Result<(), FaultKind> {
        let thread = (store.issuer.warp, store.issuer.lanes.trailing_zeros() as usize);
        store.group = self.asynchronous.threads.entry(thread).or_default().begin(store.issuer.pc);
        store.number = self.asynchronous.number();
        let (start, bytes) = (store.offset as usize, store.what.bytes() as usize);
        shared::check(&self.ctas[store.cta].shared, start, bytes).map_err(TmaError::from)?;
        self.check_store(&store)?;
        self.trace(|tracer, program| {
            tracer.store(thread.0, thread.1, bytes as u32, program.lines[store.issuer.pc]);
        });
        if self.options.order == Order::Eager {
            self.read_source(&mut store);
            return self.write_out(&store);
        }
        self.asynchronous.stores.push(store);
        Ok(())
    }

    /// A store reads its source.
    pub(super) fn read_source(&self, store: &mut Store) {
        let (start, bytes) = (store.offset as usize, store.what.bytes() as usize);
        let mut snapshot = vec![0; (store.offset % PATTERN) as usize];
        snapshot.extend(self.ctas[store.cta].shared.iter().skip(start).take(bytes));
        store.read = Some(snapshot);
    }

    /// A store that has read its source writes global memory.
    pub(super) fn write_out(&self, store: &Store) -> Result<(), FaultKind> {
        let read = store.read.as_deref().unwrap_or_default();
        let from = store.offset % PATTERN;
        let global = &mut &*self.memory;
        match store.what {
            Outgoing::Tile { ref map, ref coordinates, reduce: None } => {
                map.store(coordinates, read, from, global)?;
            }
            Outgoing::Tile { ref map, ref coordinates, reduce: Some(f) } => {
                map.reduce(f, coordinates, read, from, global)?;
            }
            Outgoing::Bytes { address, bytes, reduce: None } => {
                bulk_store(read, from, global, address, bytes)?;
            }
            Outgoing::Bytes { address, bytes, reduce: Some((f, ty)) } => {
                bulk_reduce(f, ty, read, from, global, address, bytes)?;
            }
        }
        Ok(())
    }

    /// `cp.async.bulk.commit_group`.
    pub(in super::super) fn commit_copies(&mut self, warp: &Warp, mask: u32) {
        for lane in lanes_of(mask) {
            let thread = (self.place_of(warp), lane);
            self.asynchronous.threads.entry(thread).or_default().commit();
            self.trace(|tracer, _| tracer.copies_committed(thread.0, thread.1));
        }
    }

    /// `cp.async.bulk.wait_group`.
    pub(in super::super) fn wait_for_copies(
        &mut self,
        warp: &Warp,
        mask: u32,
        pending: u32,
        reads_only: bool,
    ) -> Flow {
        let place = self.place_of(warp);
        if !self.copies_are_done(place, mask, pending, reads_only) {
            return Flow::Park(Wait::Copies { lanes: mask, pending, reads_only });
        }
        for lane in lanes_of(mask) {
            if let Some(groups) = self.asynchronous.threads.get_mut(&(place, lane)) {
                groups.found(groups.wanted(pending));
            }
        }
        self.trace(|tracer, _| {
            lanes_of(mask).for_each(|lane| tracer.copies_done(place, lane, pending, reads_only));
        });
        Flow::Next
    }

    /// Whether no copy of these threads is pending that a wait which leaves `pending` groups waits for.
    pub(in super::super) fn copies_are_done(
        &self,
        warp: usize,
        lanes: u32,
        pending: u32,
        reads_only: bool,
    ) -> bool {
        self.asynchronous.stores.is_empty()
            || lanes_of(lanes).all(|lane| {
                let wanted = self.wanted_groups(warp, lane, pending);
                let mut stores = self.asynchronous.stores.iter();
                !stores.any(|store| store.holds_up(warp, lane, wanted, reads_only))
            })
    }

    /// A store of a CTA that no wait of its thread has known to have read its source.
    pub(in super::super) fn unfinished_store(&self, cta: usize) -> Option<Unfinished> {
        let threads = self.asynchronous.threads.iter();
        let of_cta = threads.filter(|((warp, _), _)| warp / self.geometry.warps() == cta);
        let unread = of_cta.filter_map(|(&(warp, lane), groups)| Some((warp, lane, groups.unread()?)));
        let (warp, lane, pc) = unread.min()?;
        Some(Unfinished::Store { issuer: self.site_of(Issuer { warp, lanes: 1 << lane, pc }) })
    }

    /// The groups of a thread that a wait which leaves `pending` waits for: those below this.
    pub(super) fn wanted_groups(&self, warp: usize, lane: usize, pending: u32) -> u64 {
        self.asynchronous.threads.get(&(warp, lane)).map_or(0, |groups| groups.wanted(pending))
    }
}
