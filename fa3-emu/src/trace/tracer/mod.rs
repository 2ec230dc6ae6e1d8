//! The recorder: the clocks of a cluster's warps, and what they did until then.
//!
//! The machine tells it what happens, in the order in which it happens; it answers which warp is to
//! run next.

use std::collections::HashMap;

use super::cost::{self, Unit};
use super::groups::{Done, Groups};
use super::moments::{Key, Moments};
use super::multiprocessor::Multiprocessor;
use super::{Activity, Actor, Awaited, Issued, Span, Track};
use crate::ir::{Line, Program};

/// Cycles after which another CTA of the cluster notices something.
const REMOTE: u64 = 180;
/// Warps of a warpgroup.
const GROUP: usize = 4;

/// The recorder of a cluster. Warps are known by their place among those of the cluster, CTAs by their
/// rank.
#[derive(Debug)]
pub(crate) struct Tracer {
    ctas: Vec<Cta>,
    warps: Vec<Warp>,
    warps_of_cta: usize,
    moments: Moments,
    /// By warp and lane.
    copies: HashMap<(usize, usize), Groups>,
}

#[derive(Debug)]
struct Cta {
    index: [u32; 3],
    sm: Multiprocessor,
    loads: Vec<Span>,
    stores: Vec<Span>,
    products: Vec<Span>,
}

/// A warp's clock, what it is in the middle of, and what it did.
#[derive(Debug, Default)]
struct Warp {
    now: u64,
    run: Option<Run>,
    /// What the instruction being executed waits for, and until when, which is all that it costs.
    waits: Option<(Awaited, u64)>,
    products: Groups,
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    line: Line,
    instructions: u64,
    special: u64,
}

impl Tracer {
    /// A recorder of a cluster whose CTAs, by rank, have these indices.
    pub(crate) fn new(ctas: impl IntoIterator<Item = [u32; 3]>, warps_of_cta: usize) -> Self {
        let cta = |index| Cta {
            index,
            sm: Multiprocessor::default(),
            loads: Vec::new(),
            stores: Vec::new(),
            products: Vec::new(),
        };
        let ctas: Vec<_> = ctas.into_iter().map(cta).collect();
        let warps = ctas.len() * warps_of_cta;
        Self {
            ctas,
            warps: std::iter::repeat_with(Warp::default).take(warps).collect(),
            warps_of_cta,
            moments: Moments::default(),
            copies: HashMap::new(),
        }
    }

    /// The warp to run next: of those that are ready, the one with the least clock.
    pub(crate) fn next(&self, ready: impl Iterator<Item = usize>) -> Option<usize> {
        ready.min_by_key(|&warp| self.warps[warp].now)
    }

    /// A warp has executed an instruction.
    pub(crate) fn executed(&mut self, warp: usize, program: &Program, pc: usize) {
        let (rank, number) = self.place(warp);
        let state = &mut self.warps[warp];
        let cost = program.instructions.get(pc).map(|instruction| cost::of(&instruction.op));
        let (Some(cost), Some(&line)) = (cost, program.lines.get(pc)) else { return };
        if let Some((awaited, until)) = state.waits.take().filter(|&(_, until)| until > state.now) {
            return state.wait(awaited, until, line);
        }
        let start = self.ctas[rank].sm.issue(number, state.now, cost);
        let run = state.run.get_or_insert(Run { start: state.now, line, instructions: 0, special: 0 });
        run.instructions += 1;
        run.special += u64::from(cost.unit == Unit::Special);
        state.now = start + cost.latency;
    }

    /// Something arrives at a barrier, in one of its generations. What a warp of another CTA does is
    /// noticed later.
    pub(crate) fn arrived(&mut self, warp: usize, key: Key, generation: u64) {
        let (rank, _) = self.place(warp);
        let remote = match key {
            Key::Mbarrier { cta, .. } => cta != rank,
            Key::Cluster => self.ctas.len() > 1,
            Key::Named { .. } | Key::Registers { .. } => false,
        };
        let at = self.warps[warp].now + if remote { REMOTE } else { 0 };
        self.moments.arrive(key, generation, at);
    }

    /// A warp executes an instruction that waits for a barrier's generation, which is complete.
    pub(crate) fn passed(&mut self, warp: usize, key: Key, generation: u64) {
        let until = self.moments.of(key, generation);
        self.waits(warp, key.awaited(), until);
    }

    /// A warp that has executed such an instruction goes on, now that the generation is complete.
    pub(crate) fn woken(&mut self, warp: usize, key: Key, generation: u64, line: Line) {
        let until = self.moments.of(key, generation);
        self.warps[warp].wait(key.awaited(), until, line);
    }

    /// A copy into the shared memory of the CTA of rank `rank`, for a phase of the mbarrier `to`, which
    /// a CTA's rank and an offset name.
    pub(crate) fn load(
        &mut self,
        warp: usize,
        rank: usize,
        bytes: u32,
        to: (usize, u32),
        phase: u64,
        line: Line,
    ) {
        let issued = self.issued(warp);
        let (cta, mbarrier) = to;
        let copy = self.ctas[rank].sm.load(issued.at, bytes);
        let activity = Activity::Load { bytes, mbarrier, complete: copy.complete };
        let span = Span { start: copy.start, end: copy.read, activity, line, issued: Some(issued) };
        self.ctas[rank].loads.push(span);
        self.moments.arrive(Key::Mbarrier { cta, offset: mbarrier }, phase, copy.complete);
    }

    /// A copy to global memory, in the open bulk group of a thread.
    pub(crate) fn store(&mut self, warp: usize, lane: usize, bytes: u32, line: Line) {
        let issued = self.issued(warp);
        let (rank, _) = self.place(warp);
        let cta = &mut self.ctas[rank];
        let copy = cta.sm.store(issued.at, bytes);
        let activity = Activity::Store { bytes, complete: copy.complete };
        cta.stores.push(Span { start: copy.start, end: copy.read, activity, line, issued: Some(issued) });
        let done = Done { read: copy.read, complete: copy.complete };
        self.copies.entry((warp, lane)).or_default().add(done);
    }

    /// A thread commits its open bulk group.
    pub(crate) fn copies_committed(&mut self, warp: usize, lane: usize) {
        self.copies.entry((warp, lane)).or_default().commit();
    }

    /// A thread executes a wait for all but `pending` of its bulk groups, which are complete, or have
    /// read.
    pub(crate) fn copies_done(&mut self, warp: usize, lane: usize, pending: u32, reads_only: bool) {
        let groups = self.copies.entry((warp, lane)).or_default();
        let done = groups.wait(pending);
        if !reads_only {
            groups.forget(pending);
        }
        self.waits(warp, Awaited::Copies, if reads_only { done.read } else { done.complete });
    }

    /// The four warps of a warpgroup have issued a product together, `warp` last; of the others the
    /// instruction is executed herewith.
    pub(crate) fn product(
        &mut self,
        warp: usize,
        program: &Program,
        pc: usize,
        n: u32,
        a_in_registers: bool,
    ) {
        let Some(&line) = program.lines.get(pc) else { return };
        let (rank, number) = self.place(warp);
        let first = warp - number as usize % GROUP;
        let members = first..first + GROUP;
        let together = self.warps[members.clone()].iter().map(|warp| warp.now).max().unwrap_or(0);
        for member in members.clone() {
            self.warps[member].wait(Awaited::Warpgroup, together, line);
        }
        let issued = self.issued(first);
        let cta = &mut self.ctas[rank];
        let (start, end) = cta.sm.multiply(issued.at, n);
        let activity = Activity::Product { warpgroup: number / GROUP as u32, n, a_in_registers };
        cta.products.push(Span { start, end, activity, line, issued: Some(issued) });
        for member in members {
            self.warps[member].products.add(Done { read: end, complete: end });
            if member != warp {
                self.executed(member, program, pc);
            }
        }
    }

    /// `wgmma.commit_group`.
    pub(crate) fn products_committed(&mut self, warp: usize) {
        self.warps[warp].products.commit();
    }

    /// A warp executes a wait for all but `pending` of its groups of products, which are complete.
    pub(crate) fn products_done(&mut self, warp: usize, pending: u32) {
        let groups = &mut self.warps[warp].products;
        let done = groups.wait(pending);
        groups.forget(pending);
        self.waits(warp, Awaited::Products, done.complete);
    }

    /// What was recorded, CTA by CTA.
    pub(crate) fn finish(mut self) -> Vec<Track> {
        let mut tracks = Vec::new();
        for (rank, cta) in self.ctas.into_iter().enumerate() {
            let mut track = |actor, spans| tracks.push(Track { cta: cta.index, actor, spans });
            track(Actor::Loads, cta.loads);
            track(Actor::Tensor, cta.products);
            track(Actor::Stores, cta.stores);
            for number in 0..self.warps_of_cta {
                let warp = &mut self.warps[rank * self.warps_of_cta + number];
                warp.end_run();
                track(Actor::Warp(number as u32), std::mem::take(&mut warp.spans));
            }
        }
        tracks
    }

    /// The rank of a warp's CTA, and its number there.
    fn place(&self, warp: usize) -> (usize, u32) {
        (warp / self.warps_of_cta, (warp % self.warps_of_cta) as u32)
    }

    fn issued(&self, warp: usize) -> Issued {
        let (rank, number) = self.place(warp);
        Issued { cta: self.ctas[rank].index, warp: number, at: self.warps[warp].now }
    }

    /// The instruction that a warp executes ends at `until`, and at what else it waits for.
    fn waits(&mut self, warp: usize, awaited: Awaited, until: u64) {
        let waits = &mut self.warps[warp].waits;
        if waits.is_none_or(|(_, other)| other < until) {
            *waits = Some((awaited, until));
        }
    }
}

impl Warp {
    fn wait(&mut self, awaited: Awaited, until: u64, line: Line) {
        if until <= self.now {
            return;
        }
        self.end_run();
        let activity = Activity::Wait(awaited);
        self.spans.push(Span { start: self.now, end: until, activity, line, issued: None });
        self.now = until;
    }

    fn end_run(&mut self) {
        if let Some(Run { start, line, instructions, special }) = self.run.take() {
            let activity = Activity::Run { instructions, special };
            self.spans.push(Span { start, end: self.now, activity, line, issued: None });
        }
    }
}

#[cfg(test)]
mod tests;
