//! Bulk and tensor copies.

use super::barriers::find;
use super::finding::{Actor, BarrierUse, Use};
use super::memory::Touch;
use super::shadow::Kind;
use super::{Checked, Checker, Source};

/// A thread's bulk groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// Its time is the groups that the thread has waited for.
    component: u32,
    committed: u32,
}

/// An mbarrier that a bulk load completes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The rank of the CTA that it is in.
    pub cta: u32,
    /// Its address.
    pub barrier: u32,
    /// Its current phase.
    pub phase: u64,
}

impl Checker<'_> {
    /// A bulk or tensor load is issued that writes the 16 bytes at each of `addresses` in the shared
    /// memory of `cta`. A multicast is one such load for each CTA.
    ///
    /// # Errors
    /// [`Race`](super::Finding::Race), [`MissingProxyFence`](super::Finding::MissingProxyFence),
    /// [`OverBarrier`](super::Finding::OverBarrier), and what is wrong with the mbarrier.
    pub fn bulk_load(
        &mut self,
        actor: Actor,
        cta: u32,
        addresses: impl Iterator<Item = u32>,
        on: Completion,
    ) -> Checked {
        self.initialised(actor, on.cta, on.barrier, BarrierUse::CompleteBytes)?;
        let Some(barrier) = find(&mut self.ctas, on.cta, on.barrier) else { return Ok(()) };
        let touch = Touch {
            component: barrier.component,
            time: u32::try_from(on.phase).unwrap_or(u32::MAX).saturating_add(1),
            actor,
            usage: Use::Load { cta: on.cta, barrier: on.barrier },
            kind: Kind { write: true, asynchronous: true, strong: false },
            reads: false,
        };
        self.issued_by(&touch, cta, addresses)
    }

    /// A bulk or tensor store or reduction is issued that reads the 16 bytes at each of `addresses`.
    ///
    /// # Errors
    /// [`Race`](super::Finding::Race), [`MissingProxyFence`](super::Finding::MissingProxyFence),
    /// [`Uninitialised`](super::Finding::Uninitialised), [`OverBarrier`](super::Finding::OverBarrier).
    pub fn bulk_store(&mut self, actor: Actor, cta: u32, addresses: impl Iterator<Item = u32>) -> Checked {
        let groups = self.groups_of(actor);
        let touch = Touch {
            component: groups.component,
            time: groups.committed.saturating_add(1),
            actor,
            usage: Use::Store,
            kind: Kind { write: false, asynchronous: true, strong: false },
            reads: true,
        };
        self.issued_by(&touch, cta, addresses)
    }

    /// A thread closes its bulk group (`cp.async.bulk.commit_group`). Groups before its first store are
    /// empty, and need not be counted.
    pub fn bulk_commit(&mut self, actor: Actor) {
        if let Some(groups) = self.groups.get_mut(&thread_of(actor)) {
            groups.committed = groups.committed.saturating_add(1);
        }
    }

    /// A thread goes on that has waited until at most `pending` of its bulk groups have not read their
    /// sources (`cp.async.bulk.wait_group`, `.read` or not).
    pub fn bulk_wait(&mut self, actor: Actor, pending: u32) {
        let groups = self.groups.get(&thread_of(actor));
        if let (Some(groups), Some(thread)) = (groups, self.threads.get_mut(actor.warp as usize)) {
            thread.view.seen.raise(groups.component, groups.committed.saturating_sub(pending));
        }
    }

    /// The bulk groups of the lowest of the actor's lanes.
    fn groups_of(&mut self, actor: Actor) -> &mut Groups {
        let Self { groups, sources, .. } = self;
        groups.entry(thread_of(actor)).or_insert_with(|| Groups {
            component: Self::component(sources, Source::BulkGroups),
            committed: 0,
        })
    }

    fn issued_by(&mut self, touch: &Touch, cta: u32, addresses: impl Iterator<Item = u32>) -> Checked {
        let index = touch.actor.warp as usize;
        let view = self.threads.get_mut(index).map(|thread| std::mem::take(&mut thread.view));
        let Some(view) = view else { return Ok(()) };
        let checked = self.asynchronous(touch, &view, cta, addresses);
        if let Some(thread) = self.threads.get_mut(index) {
            thread.view = view;
        }
        checked
    }
}

/// The warp, and the lowest of the lanes.
const fn thread_of(actor: Actor) -> (u32, u32) {
    (actor.warp, actor.lanes.trailing_zeros())
}
