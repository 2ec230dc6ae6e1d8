//! What is remembered of each 16 bytes of a CTA's shared memory: which bytes were written, and who
//! accessed them.

use super::clock::View;
use super::finding::Actor;

/// Bytes of a chunk.
pub(super) const CHUNK: u32 = 16;

/// How an access takes part in a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) write: bool,
    /// By the asynchronous proxy.
    pub(super) asynchronous: bool,
    /// Atomic, or with a memory order: two of these do not race.
    pub(super) strong: bool,
}

/// An access, at a time of a component.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) component: u32,
    pub(super) time: u32,
    pub(super) actor: Actor,
    pub(super) kind: Kind,
    /// The bytes of the chunk, a bit each.
    pub(super) mask: u16,
}

/// How two accesses conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// Nothing orders them.
    Race,
    /// They are ordered, but no proxy fence lies between.
    Proxy,
}

/// The state of 16 bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    /// The bytes that have been written.
    pub(super) written: u16,
    /// The bytes that belong to mbarriers.
    pub(super) barriers: u16,
    records: Vec<Record>,
}

impl Chunk {
    /// The first access that conflicts with a new one by someone who knows `view`, of the kinds of
    /// conflict that are looked for.
    pub(super) fn conflict(
        &self,
        new: &Record,
        view: &View,
        races: bool,
        proxies: bool,
    ) -> Option<(Record, Conflict)> {
        // The latest first: it says most about what is missing.
        for record in self.records.iter().rev() {
            if record.mask & new.mask == 0 {
                continue;
            }
            let conflict = (record.kind.write || new.kind.write) && !(record.kind.strong && new.kind.strong);
            let seen = view.seen.includes(record.component, record.time);
            if races && conflict && !seen {
                return Some((*record, Conflict::Race));
            }
            let crosses = record.kind.write && !record.kind.asynchronous && new.kind.asynchronous;
            if proxies && crosses && seen && !view.fenced.includes(record.component, record.time) {
                return Some((*record, Conflict::Proxy));
            }
        }
        None
    }

    /// Remembers an access, and forgets those that it makes needless: whoever is ordered after it is
    /// ordered after them.
    pub(super) fn remember(&mut self, new: Record, view: &View) {
        let mut merged = false;
        self.records.retain_mut(|old| {
            let same = old.component == new.component && old.kind == new.kind;
            if same && old.time == new.time && old.actor.pc == new.actor.pc {
                old.mask |= new.mask;
                old.actor.lanes |= new.actor.lanes;
                merged = true;
                return true;
            }
            let covered =
                same || new.kind.write && !new.kind.strong && view.seen.includes(old.component, old.time);
            if covered {
                old.mask &= !new.mask;
            }
            old.mask != 0
        });
        if !merged {
            self.records.push(new);
        }
        if new.kind.write {
            self.written |= new.mask;
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.records.len()
    }
}

/// The chunks that `bytes` bytes from `first` on lie in, and the bytes in each.
pub(super) fn chunks(first: u32, bytes: u32) -> impl Iterator<Item = (u32, u16)> {
    let end = first.saturating_add(bytes);
    let mut at = first;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let from = at % CHUNK;
        let to = (end - (at - from)).min(CHUNK);
        let chunk = at / CHUNK;
        at = at.saturating_add(to - from);
        Some((chunk, ((1_u32 << to) - (1 << from)) as u16))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Kind = Kind { write: false, asynchronous: false, strong: false };
    const WRITE: Kind = Kind { write: true, ..READ };

    fn record(component: u32, time: u32, kind: Kind, mask: u16) -> Record {
        Record { component, time, actor: Actor { warp: component, pc: 0, lanes: 1 }, kind, mask }
    }

    #[test]
    fn ranges_become_chunks_and_masks() {
        let of = |first, bytes| chunks(first, bytes).collect::<Vec<_>>();
        assert_eq!(of(32, 16), [(2, 0xffff)]);
        assert_eq!(of(4, 4), [(0, 0x00f0)]);
        assert_eq!(of(12, 24), [(0, 0xf000), (1, 0xffff), (2, 0x000f)]);
        assert_eq!(of(7, 0), []);
        assert_eq!(of(u32::MAX - 3, 8).len(), 1);
    }

    #[test]
    fn a_writer_forgets_what_it_has_seen() {
        let mut chunk = Chunk::default();
        let mut view = View::default();
        chunk.remember(record(1, 5, READ, 0xffff), &view);
        chunk.remember(record(2, 5, READ, 0xffff), &view);
        view.seen.raise(1, 5);
        let write = record(0, 1, WRITE, 0xffff);
        let found =
            chunk.conflict(&write, &view, true, true).map(|(record, conflict)| (record.component, conflict));
        assert_eq!(found, Some((2, Conflict::Race)));
        view.seen.raise(2, 5);
        assert!(chunk.conflict(&write, &view, true, true).is_none());
        chunk.remember(write, &view);
        assert_eq!((chunk.len(), chunk.written), (1, 0xffff));
    }

    #[test]
    fn records_of_one_component_stay_few() {
        let mut chunk = Chunk::default();
        for time in 1..100 {
            for lane in 0..4 {
                chunk.remember(record(3, time, READ, 0xf << (4 * lane)), &View::default());
            }
        }
        assert!(chunk.len() <= 4, "{}", chunk.len());
    }

    #[test]
    fn bytes_that_do_not_overlap_do_not_conflict() {
        let (mut chunk, view) = (Chunk::default(), View::default());
        chunk.remember(record(1, 1, WRITE, 0x00ff), &view);
        assert!(chunk.conflict(&record(0, 1, WRITE, 0xff00), &view, true, true).is_none());
        assert!(chunk.conflict(&record(0, 1, READ, 0x0180), &view, true, true).is_some());
    }
}
