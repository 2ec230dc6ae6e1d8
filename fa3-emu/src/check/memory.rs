//! Accesses to shared memory.

use super::clock::View;
use super::finding::{Actor, Finding, SharedBytes, Use};
use super::shadow::{CHUNK, Chunk, Conflict, Kind, Record, chunks};
use super::{Checked, Checker, Rules, Source};

/// How an instruction accesses shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// It reads.
    pub read: bool,
    /// It writes.
    pub write: bool,
    /// It is atomic or has a memory order, `.relaxed` and `.volatile` included.
    pub strong: bool,
    /// It acquires.
    pub acquire: bool,
    /// It releases.
    pub release: bool,
}

impl Access {
    /// `ld` without an order.
    pub const READ: Self = Self { read: true, write: false, strong: false, acquire: false, release: false };
    /// `st` without an order.
    pub const WRITE: Self = Self { read: false, write: true, ..Self::READ };
    /// `atom` and `red` without an order, which is `.relaxed`.
    pub const ATOMIC: Self = Self { write: true, strong: true, ..Self::READ };

    const fn usage(self) -> Use {
        match (self.read, self.write) {
            (true, true) => Use::Atomic,
            (_, true) => Use::Write,
            _ => Use::Read,
        }
    }
}

/// An access that is to be checked and remembered, but for the bytes.
pub(super) struct Touch {
    pub(super) component: u32,
    pub(super) time: u32,
    pub(super) actor: Actor,
    pub(super) usage: Use,
    pub(super) kind: Kind,
    /// It needs bytes that have been written.
    pub(super) reads: bool,
}

impl Checker<'_> {
    /// An instruction accesses `bytes` (the first and how many) of the shared memory of `cta`.
    ///
    /// # Errors
    /// [`Finding::Race`], [`Finding::Uninitialised`] and [`Finding::OverBarrier`].
    pub fn access(&mut self, actor: Actor, cta: u32, bytes: (u32, u32), access: Access) -> Checked {
        let Self { threads, ctas, rules, sources, locations, .. } = self;
        let (Some(thread), Some(place)) = (threads.get_mut(actor.warp as usize), ctas.get_mut(cta as usize))
        else {
            return Ok(());
        };
        if access.strong && access.read {
            for (index, _) in chunks(bytes.0, bytes.1) {
                if let Some(released) = locations.get(&(cta, index)) {
                    thread.acquire(released, !access.acquire);
                }
            }
        }
        let touch = Touch {
            component: actor.warp,
            time: thread.now(),
            actor,
            usage: access.usage(),
            kind: Kind { write: access.write, asynchronous: false, strong: access.strong },
            reads: access.read,
        };
        for (index, mask) in chunks(bytes.0, bytes.1) {
            let Some(chunk) = place.chunks.get_mut(index as usize) else { continue };
            let found = touch.check(chunk, mask, &thread.view, *rules);
            if let Err(problem) = found {
                return Err(problem.finding(&touch, cta, index, sources, &place.mbarriers));
            }
        }
        if access.strong && access.write {
            for (index, _) in chunks(bytes.0, bytes.1) {
                thread.release(locations.entry((cta, index)).or_default(), !access.release);
            }
        }
        Ok(())
    }

    /// An asynchronous operation accesses whole chunks of 16 bytes, at `addresses`.
    pub(super) fn asynchronous(
        &mut self,
        touch: &Touch,
        view: &View,
        cta: u32,
        addresses: impl Iterator<Item = u32>,
    ) -> Checked {
        let Some(place) = self.ctas.get_mut(cta as usize) else { return Ok(()) };
        for address in addresses {
            let index = address / CHUNK;
            let Some(chunk) = place.chunks.get_mut(index as usize) else { continue };
            if let Err(problem) = touch.check(chunk, u16::MAX, view, self.rules) {
                return Err(problem.finding(touch, cta, index, &self.sources, &place.mbarriers));
            }
        }
        Ok(())
    }
}

/// What is wrong with an access to a chunk, in these bytes.
pub(super) struct Problem {
    mask: u16,
    what: What,
}

enum What {
    Barrier,
    Uninitialised,
    Conflict(Record, Conflict),
}

impl Touch {
    /// Checks an access to the bytes `mask` of a chunk, and remembers it.
    pub(super) fn check(
        &self,
        chunk: &mut Chunk,
        mask: u16,
        view: &View,
        rules: Rules,
    ) -> Result<(), Box<Problem>> {
        let problem = |mask, what| Err(Box::new(Problem { mask, what }));
        if rules.races && chunk.barriers & mask != 0 {
            return problem(chunk.barriers & mask, What::Barrier);
        }
        if rules.uninitialised && self.reads && mask & !chunk.written != 0 {
            return problem(mask & !chunk.written, What::Uninitialised);
        }
        let &Self { component, time, actor, kind, .. } = self;
        let record = Record { component, time, actor, kind, mask };
        if let Some((old, conflict)) = chunk.conflict(&record, view, rules.races, rules.fences) {
            return problem(old.mask & mask, What::Conflict(old, conflict));
        }
        chunk.remember(record, view);
        Ok(())
    }
}

impl Problem {
    fn finding(
        &self,
        touch: &Touch,
        cta: u32,
        index: u32,
        sources: &[Source],
        mbarriers: &[super::MbarrierClock],
    ) -> Finding<Actor> {
        let access = touch.usage;
        let start = index * CHUNK;
        let first = start + self.mask.trailing_zeros();
        let bytes = SharedBytes { cta, first, last: start + self.mask.checked_ilog2().unwrap_or(0) };
        match self.what {
            What::Uninitialised => Finding::Uninitialised { access, bytes },
            What::Barrier => {
                let maker = mbarriers.iter().find(|barrier| barrier.address() == first / 8 * 8);
                let other = maker.map_or(touch.actor, |barrier| barrier.maker());
                Finding::OverBarrier { access, bytes, other }
            }
            What::Conflict(Record { actor: other, .. }, Conflict::Proxy) => {
                Finding::MissingProxyFence { access, bytes, other }
            }
            What::Conflict(record, Conflict::Race) => {
                let other_access = usage(&record, sources);
                Finding::Race { access, bytes, other_access, other: record.actor }
            }
        }
    }
}

/// What an access was that is remembered.
fn usage(record: &Record, sources: &[Source]) -> Use {
    match sources.get(record.component as usize) {
        Some(&Source::Mbarrier { cta, address }) => Use::Load { cta, barrier: address },
        Some(Source::BulkGroups) => Use::Store,
        Some(Source::Pipe) => Use::Product,
        _ if record.kind.strong => Use::Atomic,
        _ if record.kind.write => Use::Write,
        _ => Use::Read,
    }
}
