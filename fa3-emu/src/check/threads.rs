//! What each warp knows, and its fences.

use super::Checker;
use super::clock::View;

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// `fence.proxy.async`, of shared memory or all.
    ProxyAsync,
    /// `fence.mbarrier_init`.
    MbarrierInit,
    /// `fence` and `membar`.
    Thread {
        /// It orders what follows after what was read before.
        acquire: bool,
        /// It orders what precedes before what is written after.
        release: bool,
    },
}

/// A warp.
#[derive(Debug)]
pub(super) struct Thread {
    /// Its component, which is its number.
    component: u32,
    pub(super) view: View,
    /// What a relaxed arrival hands on: what the last releasing fence was after.
    released: View,
    /// What an acquiring fence will bring: what relaxed waits have met.
    unacquired: View,
}

impl Thread {
    pub(super) fn new(component: u32) -> Self {
        let mut view = View::default();
        view.seen.raise(component, 1);
        Self { component, view, released: View::default(), unacquired: View::default() }
    }

    /// The warp's own time.
    pub(super) fn now(&self) -> u32 {
        self.view.seen.get(self.component)
    }

    /// What follows is later than what has been handed on.
    fn tick(&mut self) {
        let next = self.now().saturating_add(1);
        self.view.seen.raise(self.component, next);
    }

    /// Hands on what the warp knows; only what a fence has released, if `relaxed`.
    pub(super) fn release(&mut self, to: &mut View, relaxed: bool) {
        if relaxed {
            to.join(&self.released);
            to.published.join(&self.view.published);
        } else {
            to.join(&self.view);
            self.tick();
        }
    }

    /// Takes what others have handed on; with the next acquiring fence, if `relaxed`.
    pub(super) fn acquire(&mut self, from: &View, relaxed: bool) {
        if relaxed {
            self.unacquired.join(from);
        } else {
            self.view.join(from);
        }
    }

    fn fence(&mut self, kind: FenceKind) {
        match kind {
            FenceKind::ProxyAsync => self.view.fenced.join(&self.view.seen),
            FenceKind::MbarrierInit => self.view.published.raise(self.component, self.now()),
            FenceKind::Thread { acquire, release } => {
                if acquire {
                    self.view.join(&self.unacquired);
                }
                if release {
                    self.released = self.view.clone();
                }
            }
        }
        self.tick();
    }
}

impl Checker<'_> {
    /// A warp executes a fence.
    pub fn fence(&mut self, warp: u32, kind: FenceKind) {
        if let Some(thread) = self.threads.get_mut(warp as usize) {
            thread.fence(kind);
        }
    }
}
