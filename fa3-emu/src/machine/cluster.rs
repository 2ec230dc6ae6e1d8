//! A cluster of CTAs that run together: what they are, and how an instruction of theirs may end.

use super::Geometry;
use super::asynchronous::Asynchronous;
use super::cta::Cta;
use super::device::Device;
use super::fault::FaultKind;
use super::random::Random;
use super::warp::{Wait, Warp};
use crate::check::Checker;
use crate::engine::cluster::ClusterBarrier;
use crate::ir::Program;
use crate::options::Options;
use crate::trace::Tracer;

/// What an instruction did that it must not, and in which lanes.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) kind: FaultKind,
    pub(super) lanes: u32,
}

/// How a group goes on after an instruction.
#[derive(Debug)]
pub(super) enum Flow {
    /// With the next one.
    Next,
    /// With the next one in its next turn, so that what it issued may take effect before.
    Yield,
    /// With another one.
    Jump(usize),
    /// With another one in these lanes, with the next one in the others.
    Branch { taken: u32, target: usize },
    /// These lanes are at their end.
    Exit(u32),
    /// Not at all yet: the instruction has not been executed.
    Park(Wait),
    /// These lanes execute the instruction, apart from the others, which go on.
    Apart(u32),
    /// These lanes have executed it and go on; the others park.
    Partly { done: u32, wait: Wait },
    /// It has been executed but for the rest of the wait.
    Arrived(Wait),
    /// As the warp's groups say, which the instruction has changed.
    Regrouped,
}

/// The CTAs of a cluster and their warps.
pub(super) struct Cluster<'a> {
    pub(super) program: &'a Program,
    pub(super) geometry: &'a Geometry,
    pub(super) params: &'a [u8],
    pub(super) memory: &'a Device<'a>,
    pub(super) options: &'a Options,
    /// By rank.
    pub(super) ctas: Vec<Cta>,
    /// The warps of rank 0, then those of rank 1, and so on. One that has its turn is not here.
    pub(super) warps: Vec<Warp>,
    pub(super) barrier: ClusterBarrier,
    pub(super) asynchronous: Asynchronous<'a>,
    pub(super) checker: Option<Box<Checker<'a>>>,
    /// For seeded orders.
    pub(super) random: Random,
    /// The warp that a seeded order leaves behind.
    pub(super) behind: usize,
    pub(super) steps: u64,
    /// Where a trace is recorded.
    pub(super) tracer: Option<Box<Tracer>>,
}

impl Cluster<'_> {
    /// A warp's place among those of the cluster.
    pub(super) fn place_of(&self, warp: &Warp) -> usize {
        warp.cta * self.geometry.warps() + warp.index as usize
    }

    /// Tells the tracer, where there is one, what happens.
    #[inline]
    pub(super) fn trace(&mut self, tell: impl FnOnce(&mut Tracer, &Program)) {
        if let Some(tracer) = &mut self.tracer {
            tell(tracer, self.program);
        }
    }
}
