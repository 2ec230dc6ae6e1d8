//! What barriers hand on from those who arrive to those who wait.

use super::clock::View;
use super::finding::{Actor, BarrierUse, Finding};
use super::memory::Access;
use super::shadow::chunks;
use super::{Checked, Checker, Source};

/// Bytes of an mbarrier.
const MBARRIER: u32 = 8;

/// An mbarrier.
#[derive(Debug)]
pub(super) struct MbarrierClock {
    address: u32,
    /// Its time is the phases that have completed.
    pub(super) component: u32,
    maker: Actor,
    /// The maker's time when it made the barrier.
    made: u32,
    /// The current phase, as far as known.
    phase: u32,
    /// What the arrivals of the current phase hand on.
    arrived: View,
    /// What those of the completed phases did.
    completed: View,
}

impl MbarrierClock {
    pub(super) const fn address(&self) -> u32 {
        self.address
    }

    pub(super) const fn maker(&self) -> Actor {
        self.maker
    }

    /// The barrier is in `phase`: what arrived in those before is handed on.
    fn advance(&mut self, phase: u64) {
        let phase = u32::try_from(phase).unwrap_or(u32::MAX);
        if phase > self.phase {
            self.phase = phase;
            self.completed.join(&std::mem::take(&mut self.arrived));
            self.completed.seen.raise(self.component, phase);
        }
    }
}

/// A named barrier: what the arrivals hand on, and the warps that wait.
#[derive(Debug, Default)]
pub(super) struct NamedClock {
    arrived: View,
    waiting: Vec<u32>,
}

/// The cluster's barrier: what the arrivals of the last two phases hand on. A warp arrives again
/// only after it has waited, so that there are never more.
#[derive(Debug, Default)]
pub(super) struct ClusterClock {
    phases: [(u64, View); 2],
}

impl ClusterClock {
    fn phase(&mut self, phase: u64) -> &mut View {
        let slot = &mut self.phases[(phase % 2) as usize];
        if slot.0 != phase {
            *slot = (phase, View::default());
        }
        &mut slot.1
    }
}

impl Checker<'_> {
    /// A warp makes the mbarrier at `address` (`mbarrier.init`).
    ///
    /// # Errors
    /// [`Finding::Race`] with accesses to its bytes before, and [`Finding::OverBarrier`].
    pub fn mbarrier_init(&mut self, actor: Actor, cta: u32, address: u32) -> Checked {
        self.access(actor, cta, (address, MBARRIER), Access::WRITE)?;
        let component = Self::component(&mut self.sources, Source::Mbarrier { cta, address });
        let made = self.threads.get(actor.warp as usize).map_or(0, super::Thread::now);
        let Some(place) = self.ctas.get_mut(cta as usize) else { return Ok(()) };
        place.mbarriers.push(MbarrierClock {
            address,
            component,
            maker: actor,
            made,
            phase: 0,
            arrived: View::default(),
            completed: View::default(),
        });
        place.mark(address, true);
        Ok(())
    }

    /// A warp takes the mbarrier at `address` away (`mbarrier.inval`).
    ///
    /// # Errors
    /// [`Finding::UnorderedInit`].
    pub fn mbarrier_inval(&mut self, actor: Actor, cta: u32, address: u32) -> Checked {
        self.mbarrier_use(actor, cta, address)?;
        if let Some(place) = self.ctas.get_mut(cta as usize) {
            place.mbarriers.retain(|barrier| barrier.address != address);
            place.mark(address, false);
        }
        Ok(())
    }

    /// A warp does something with an mbarrier that hands nothing on, such as `mbarrier.expect_tx`.
    ///
    /// # Errors
    /// [`Finding::UnorderedInit`].
    pub fn mbarrier_use(&self, actor: Actor, cta: u32, address: u32) -> Checked {
        self.initialised(actor, cta, address, BarrierUse::Own)
    }

    /// A warp arrives at an mbarrier in its `phase`; `release` unless `.relaxed`.
    ///
    /// # Errors
    /// [`Finding::UnorderedInit`].
    pub fn mbarrier_arrive(
        &mut self,
        actor: Actor,
        cta: u32,
        address: u32,
        phase: u64,
        release: bool,
    ) -> Checked {
        self.mbarrier_use(actor, cta, address)?;
        let thread = self.threads.get_mut(actor.warp as usize);
        if let (Some(thread), Some(barrier)) = (thread, find(&mut self.ctas, cta, address)) {
            barrier.advance(phase);
            thread.release(&mut barrier.arrived, !release);
        }
        Ok(())
    }

    /// A warp has found that a phase of an mbarrier has completed, which is in `current`; `acquire`
    /// unless `.relaxed`.
    ///
    /// # Errors
    /// [`Finding::UnorderedInit`].
    pub fn mbarrier_wait(
        &mut self,
        actor: Actor,
        cta: u32,
        address: u32,
        current: u64,
        acquire: bool,
    ) -> Checked {
        self.mbarrier_use(actor, cta, address)?;
        let thread = self.threads.get_mut(actor.warp as usize);
        if let (Some(thread), Some(barrier)) = (thread, find(&mut self.ctas, cta, address)) {
            barrier.advance(current);
            thread.acquire(&barrier.completed, !acquire);
        }
        Ok(())
    }

    /// That `actor` may use an mbarrier.
    pub(super) fn initialised(&self, actor: Actor, cta: u32, address: u32, action: BarrierUse) -> Checked {
        let barriers = self.ctas.get(cta as usize).map(|place| &place.mbarriers);
        let barrier = barriers.and_then(|all| all.iter().find(|barrier| barrier.address == address));
        let (Some(barrier), Some(thread)) = (barrier, self.threads.get(actor.warp as usize)) else {
            return Ok(());
        };
        let (maker, view) = (barrier.maker.warp, &thread.view);
        let published = view.published.includes(maker, barrier.made);
        if self.rules.races && !published && !view.seen.includes(maker, barrier.made) {
            return Err(Finding::UnorderedInit { cta, address, action, other: barrier.maker });
        }
        let asynchronous = action == BarrierUse::CompleteBytes;
        if self.rules.fences && asynchronous && !published && !view.fenced.includes(maker, barrier.made) {
            return Err(Finding::UnpublishedInit { cta, address, action, other: barrier.maker });
        }
        Ok(())
    }

    /// A warp arrives at named barrier `id` of its CTA; whether it then waits (`bar.sync`), and whether
    /// it is the last that the barrier waited for.
    pub fn named_arrive(&mut self, warp: u32, cta: u32, id: u32, waits: bool, last: bool) {
        let Self { ctas, threads, .. } = self;
        let Some(place) = ctas.get_mut(cta as usize) else { return };
        let barrier = place.named.entry(id).or_default();
        if let Some(thread) = threads.get_mut(warp as usize) {
            thread.release(&mut barrier.arrived, false);
        }
        if waits {
            barrier.waiting.push(warp);
        }
        if last {
            let NamedClock { arrived, waiting } = std::mem::take(barrier);
            for warp in waiting {
                if let Some(thread) = threads.get_mut(warp as usize) {
                    thread.acquire(&arrived, false);
                }
            }
        }
    }

    /// A warp arrives at the cluster's barrier in its `phase`; `release` unless `.relaxed`.
    pub fn cluster_arrive(&mut self, warp: u32, phase: u64, release: bool) {
        if let Some(thread) = self.threads.get_mut(warp as usize) {
            thread.release(self.cluster.phase(phase), !release);
        }
    }

    /// A warp goes on that has waited for `phase` of the cluster's barrier.
    pub fn cluster_wait(&mut self, warp: u32, phase: u64) {
        if let Some(thread) = self.threads.get_mut(warp as usize) {
            thread.acquire(self.cluster.phase(phase), false);
        }
    }
}

impl super::Cta {
    /// Marks the bytes of an mbarrier, or takes the mark away.
    fn mark(&mut self, address: u32, live: bool) {
        for (index, mask) in chunks(address, MBARRIER) {
            if let Some(chunk) = self.chunks.get_mut(index as usize) {
                if live {
                    chunk.barriers |= mask;
                } else {
                    chunk.barriers &= !mask;
                }
            }
        }
    }
}

/// The mbarrier at an address.
pub(super) fn find(ctas: &mut [super::Cta], cta: u32, address: u32) -> Option<&mut MbarrierClock> {
    ctas.get_mut(cta as usize)?.mbarriers.iter_mut().find(|barrier| barrier.address == address)
}
