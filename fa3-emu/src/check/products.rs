//! `wgmma`: its reads of shared memory, and its groups.

use std::collections::VecDeque;

use super::finding::{Actor, Use};
use super::memory::Touch;
use super::shadow::Kind;
use super::{Checked, Checker, Source};

/// Warps of a warpgroup.
pub(super) const WARPGROUP: u32 = 4;

/// A warpgroup's tensor core.
#[derive(Debug)]
pub(super) struct Pipe {
    /// Its time is the `wgmma` that have been waited for.
    component: u32,
    /// `wgmma` issued.
    issued: u32,
    /// For each warp, how many were issued before each commit that it has not waited for.
    groups: [VecDeque<u32>; WARPGROUP as usize],
}

impl Checker<'_> {
    /// A warpgroup issues a `wgmma`, which reads the 16 bytes at each of `addresses` of its CTA's
    /// shared memory. `first` is what its first warp executes.
    ///
    /// # Errors
    /// [`Race`](super::Finding::Race), [`MissingProxyFence`](super::Finding::MissingProxyFence),
    /// [`Uninitialised`](super::Finding::Uninitialised), [`OverBarrier`](super::Finding::OverBarrier),
    /// [`PendingRegister`](super::Finding::PendingRegister),
    /// [`MissingFence`](super::Finding::MissingFence) and [`NoFence`](super::Finding::NoFence).
    pub fn product(&mut self, first: Actor, addresses: impl Iterator<Item = u32>) -> Checked {
        let warps = first.warp..first.warp.saturating_add(WARPGROUP);
        let mut views = warps.clone().filter_map(|warp| self.threads.get(warp as usize)).map(|one| &one.view);
        let Some(mut view) = views.next().cloned() else { return Ok(()) };
        // What one of the warps does not know of does not come before the whole.
        views.for_each(|other| view.meet(other));
        let Some((pipe, _)) = self.pipe(first.warp) else { return Ok(()) };
        pipe.issued = pipe.issued.saturating_add(1);
        let touch = Touch {
            component: pipe.component,
            time: pipe.issued,
            actor: first,
            usage: Use::Product,
            kind: Kind { write: false, asynchronous: true, strong: false },
            reads: true,
        };
        let cta = first.warp / self.shape.warps.max(1);
        self.asynchronous(&touch, &view, cta, addresses)?;
        let Some(fragments) = &mut self.fragments else { return Ok(()) };
        for warp in warps {
            fragments.product(Actor { warp, ..first }, touch.time)?;
        }
        Ok(())
    }

    /// A warp executes `wgmma.fence`.
    pub fn product_fence(&mut self, warp: u32) {
        if let Some(fragments) = &mut self.fragments {
            fragments.fence(warp);
        }
    }

    /// A warp executes `wgmma.commit_group`.
    pub fn product_commit(&mut self, warp: u32) {
        let Some((pipe, place)) = self.pipe(warp) else { return };
        let issued = pipe.issued;
        if let Some(groups) = pipe.groups.get_mut(place) {
            groups.push_back(issued);
        }
        if let Some(fragments) = &mut self.fragments {
            fragments.commit(warp, issued);
        }
    }

    /// A warp goes on that has waited until at most `pending` of its groups are executing
    /// (`wgmma.wait_group`).
    pub fn product_wait(&mut self, warp: u32, pending: u32) {
        let Some((pipe, place)) = self.pipe(warp) else { return };
        let Some(groups) = pipe.groups.get_mut(place) else { return };
        let over = groups.len().saturating_sub(pending as usize);
        let Some(done) = groups.drain(..over).next_back() else { return };
        let component = pipe.component;
        if let Some(thread) = self.threads.get_mut(warp as usize) {
            thread.view.seen.raise(component, done);
        }
        if let Some(fragments) = &mut self.fragments {
            fragments.wait(warp, done);
        }
    }

    /// The tensor core of a warp's warpgroup, and the warp's place in that.
    fn pipe(&mut self, warp: u32) -> Option<(&mut Pipe, usize)> {
        let of_cta = self.shape.warps.max(1);
        let within = warp % of_cta;
        let index = warp / of_cta * of_cta.div_ceil(WARPGROUP) + within / WARPGROUP;
        let sources = &mut self.sources;
        let pipe = self.pipes.get_mut(index as usize)?.get_or_insert_with(|| Pipe {
            component: Self::component(sources, Source::Pipe),
            issued: 0,
            groups: Default::default(),
        });
        Some((pipe, (within % WARPGROUP) as usize))
    }
}
