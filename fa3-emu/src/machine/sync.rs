//! Barriers and fences. A fence changes no memory: accesses take effect in the order of execution.

use super::address::{in_lane, of, out_of_bounds};
use super::asynchronous::{BarrierAt, Issuer};
use super::cluster::{Cluster, Flow, Violation};
use super::exchange::{self, converge};
use super::fault::{Access, FaultKind};
use super::lanes::{ALL, lanes_of};
use super::warp::{PhaseOf, Wait, Warp};
use crate::check::Actor;
use crate::engine::shared;
use crate::ir::sync::{Phase, SyncOp};
use crate::ir::{Address, PredReg, Space, Src};
use crate::options::Order;
use crate::trace::Key;

/// Threads of a warp, which is what a barrier counts an aligned arrival for.
const WARP_THREADS: u32 = 32;
/// Bytes of an mbarrier (PTX ISA, "Size and alignment of mbarrier object").
const MBARRIER_BYTES: usize = 8;

/// What a wait for an mbarrier asks.
struct Asked {
    addr: Address,
    phase: Phase,
    dst: PredReg,
    may_suspend: bool,
    acquire: bool,
}

impl Cluster<'_> {
    pub(super) fn synchronise(
        &mut self,
        op: &SyncOp,
        warp: &mut Warp,
        pc: usize,
        mask: u32,
    ) -> Result<Flow, Violation> {
        let everywhere = |kind| Violation { kind, lanes: mask };
        let actor = Actor::from(Issuer { warp: self.place_of(warp), lanes: mask, pc });
        let in_lane_of = |lane: usize| Actor { lanes: 1 << lane, ..actor };
        match *op {
            SyncOp::BarSync { barrier, threads, aligned } => {
                if let Some(flow) = together(warp, mask, aligned) {
                    return Ok(flow);
                }
                let (id, generation) =
                    self.arrive_named(warp, mask, barrier, threads, true).map_err(everywhere)?;
                Ok(Flow::Arrived(Wait::Named { id, generation }))
            }
            SyncOp::BarArrive { barrier, threads, aligned } => {
                if let Some(flow) = together(warp, mask, aligned) {
                    return Ok(flow);
                }
                self.arrive_named(warp, mask, barrier, Some(threads), false).map_err(everywhere)?;
                Ok(Flow::Next)
            }
            SyncOp::WarpSync { members } => exchange::synchronise(warp, pc, mask, members),
            // Every live lane arrives with its warp, aligned or not: the kernel cannot tell.
            SyncOp::ClusterArrive { release, .. } => {
                if let Some(flow) = converge(warp, mask, ALL) {
                    return Ok(flow);
                }
                if warp.cluster_arrival.is_some() {
                    return Err(everywhere(FaultKind::SecondArrival));
                }
                let phase =
                    self.barrier.arrive(mask.count_ones()).map_err(|error| everywhere(error.into()))?;
                warp.cluster_arrival = Some(phase);
                let place = self.place_of(warp);
                self.trace(|tracer, _| tracer.arrived(place, Key::Cluster, phase));
                self.tell(|checker| checker.cluster_arrive(actor.warp, phase, release));
                Ok(Flow::Next)
            }
            SyncOp::ClusterWait { .. } => {
                if let Some(flow) = converge(warp, mask, ALL) {
                    return Ok(flow);
                }
                let phase = warp.cluster_arrival.ok_or_else(|| everywhere(FaultKind::WaitBeforeArrival))?;
                if !self.barrier.passed(phase) {
                    return Ok(Flow::Park(Wait::Cluster { phase }));
                }
                warp.cluster_arrival = None;
                let place = self.place_of(warp);
                self.trace(|tracer, _| tracer.passed(place, Key::Cluster, phase));
                self.tell(|checker| checker.cluster_wait(actor.warp, phase));
                Ok(Flow::Next)
            }
            SyncOp::Fence(fence) => {
                self.tell_fence(fence, warp);
                Ok(Flow::Next)
            }
            SyncOp::Sleep { .. } => Ok(Flow::Next),
            SyncOp::SetMaxRegisters { increase, count } => {
                if let Some(flow) = converge(warp, mask, ALL) {
                    return Ok(flow);
                }
                let pool = &mut self.ctas[warp.cta].registers;
                let enough = pool.change(warp.index as usize, increase, count);
                let enough = enough.map_err(|error| everywhere(error.into()))?;
                if !enough {
                    return Ok(Flow::Park(Wait::Registers { count }));
                }
                let (place, key) = (self.place_of(warp), Key::Registers { cta: warp.cta });
                self.trace(|tracer, _| match increase {
                    true => tracer.passed(place, key, 0),
                    false => tracer.arrived(place, key, 0),
                });
                Ok(Flow::Next)
            }
            SyncOp::MbarWait { addr, phase, dst, may_suspend, acquire, .. } => {
                let asked = Asked { addr, phase, dst, may_suspend, acquire };
                self.wait(warp, pc, mask, asked)
            }
            SyncOp::MbarInit { addr, count } => self.each(mask, |cluster, lane| {
                let count = warp.registers.lane(count, lane) as u32;
                let (cta, address) = cluster.barrier_at(warp, Space::SharedCta, addr, lane)?;
                cluster.ctas[cta].barriers.init(address, count)?;
                cluster.ask(|checker| checker.mbarrier_init(in_lane_of(lane), cta as u32, address))
            }),
            SyncOp::MbarInval { addr } => self.each(mask, |cluster, lane| {
                let (cta, address) = cluster.barrier_at(warp, Space::SharedCta, addr, lane)?;
                cluster.ctas[cta].barriers.invalidate(address)?;
                cluster.ask(|checker| checker.mbarrier_inval(in_lane_of(lane), cta as u32, address))
            }),
            SyncOp::MbarExpect { space, addr, bytes } => self.each(mask, |cluster, lane| {
                let bytes = warp.registers.lane(bytes, lane) as u32;
                let (cta, address) = cluster.barrier_at(warp, space, addr, lane)?;
                let at = BarrierAt { cta, offset: address };
                let by = Issuer { warp: cluster.place_of(warp), lanes: 1 << lane, pc };
                cluster.ask(|checker| checker.mbarrier_use(by.into(), cta as u32, address))?;
                cluster.at_barrier(at, by, |barrier| barrier.expect_tx(bytes))?;
                Ok(())
            }),
            SyncOp::MbarArrive { space, addr, count, expect, state, release, .. } => {
                self.each(mask, |cluster, lane| {
                    let (cta, address) = cluster.barrier_at(warp, space, addr, lane)?;
                    let value = |src| warp.registers.lane(src, lane) as u32;
                    let at = BarrierAt { cta, offset: address };
                    let by = Issuer { warp: cluster.place_of(warp), lanes: 1 << lane, pc };
                    if let Some(bytes) = expect {
                        cluster.at_barrier(at, by, |barrier| barrier.expect_tx(value(bytes)))?;
                    }
                    let phase =
                        cluster.at_barrier(at, by, |barrier| barrier.arrive(count.map_or(1, value)))?;
                    let key = Key::Mbarrier { cta, offset: address };
                    cluster.trace(|tracer, _| tracer.arrived(by.warp, key, phase));
                    cluster.ask(|checker| {
                        checker.mbarrier_arrive(by.into(), cta as u32, address, phase, release)
                    })?;
                    if let Some(state) = state {
                        warp.registers.set_lane(state, lane, phase);
                    }
                    Ok(())
                })
            }
        }
    }

    /// Does the same in every lane of the mask, lowest first.
    fn each(
        &mut self,
        mask: u32,
        mut action: impl FnMut(&mut Self, usize) -> Result<(), FaultKind>,
    ) -> Result<Flow, Violation> {
        for lane in lanes_of(mask) {
            action(self, lane).map_err(|kind| in_lane(lane, kind))?;
        }
        Ok(Flow::Next)
    }

    /// Whether a `try_wait` for a phase that is not complete returns at once, as it may when it likes:
    /// when the warp asks for the first time, so that who does not ask again goes on too early, or at
    /// random. A timeline leaves that out.
    fn gives_up(&mut self, warp: &mut Warp, pc: usize) -> bool {
        match self.options.order {
            Order::Seeded(_) => self.random.below(8) == 0,
            Order::Eager | Order::Lazy => {
                self.tracer.is_none() && warp.refused.replace(pc).is_none_or(|asked| asked != pc)
            }
        }
    }

    /// The CTA and the offset of the mbarrier that an operand names in a lane.
    fn barrier_at(
        &self,
        warp: &Warp,
        space: Space,
        addr: Address,
        lane: usize,
    ) -> Result<(usize, u32), FaultKind> {
        let (cta, offset) = self.shared_operand(warp, space, addr, lane)?;
        let within = shared::check(&self.ctas[cta].shared, offset as usize, MBARRIER_BYTES);
        within.map_err(|_| {
            out_of_bounds(Access::Write, space, of(&warp.registers, addr, lane), MBARRIER_BYTES)
        })?;
        Ok((cta, offset))
    }

    /// The warp arrives at a named barrier; which, and in which generation.
    fn arrive_named(
        &mut self,
        warp: &Warp,
        mask: u32,
        barrier: Src,
        threads: Option<Src>,
        waits: bool,
    ) -> Result<(u32, u64), FaultKind> {
        let agreed = |operand, src| warp.registers.agreed(operand, src, mask).map(|value| value as u32);
        let id = agreed("the named barrier", barrier)?;
        let cta = &mut self.ctas[warp.cta];
        let threads = match threads {
            Some(threads) => agreed("the named barrier's threads", threads)?,
            None => cta.threads,
        };
        // The last warp counts as a whole one, however few threads it has.
        let arriving = if mask == warp.live { WARP_THREADS } else { mask.count_ones() };
        let generation = cta.named.arrive(id, threads, arriving)?;
        let last = cta.named.passed(id, generation)?;
        let place = self.place_of(warp);
        self.trace(|tracer, _| tracer.arrived(place, Key::Named { cta: warp.cta, id }, generation));
        self.tell(|checker| checker.named_arrive(place as u32, warp.cta as u32, id, waits, last));
        Ok((id, generation))
    }

    /// `mbarrier.test_wait` and `mbarrier.try_wait`. A lane whose phase has not completed parks in
    /// `try_wait`, which may suspend it for as long as it likes, instead of trying again and again.
    fn wait(&mut self, warp: &mut Warp, pc: usize, mask: u32, asked: Asked) -> Result<Flow, Violation> {
        let Asked { addr, phase, dst, may_suspend, acquire } = asked;
        let (mut done, mut first, mut told) = (0, None, None);
        for lane in lanes_of(mask) {
            let address = of(&warp.registers, addr, lane);
            let (cta, offset) =
                self.shared(warp.cta, Space::SharedCta, address).map_err(|kind| in_lane(lane, kind))?;
            let phase = match phase {
                Phase::Parity(parity) => PhaseOf::Parity(warp.registers.lane(parity, lane) as u32),
                Phase::State(state) => PhaseOf::Number(warp.registers.lane(Src::Reg(state), lane)),
            };
            let barrier = self.ctas[cta].barriers.get(offset).map_err(|error| in_lane(lane, error.into()))?;
            let current = barrier.phase();
            if phase.is_complete(barrier) {
                done |= 1 << lane;
                let (place, complete) = (self.place_of(warp), phase.number(barrier));
                self.trace(|tracer, _| tracer.passed(place, Key::Mbarrier { cta, offset }, complete));
                if told != Some((cta, offset)) {
                    told = Some((cta, offset));
                    self.has_waited(BarrierAt { cta, offset }, complete);
                    let actor = Issuer { warp: place, lanes: mask, pc }.into();
                    self.ask(|checker| checker.mbarrier_wait(actor, cta as u32, offset, current, acquire))
                        .map_err(|kind| in_lane(lane, kind))?;
                }
            } else {
                first.get_or_insert(Wait::Phase { cta, offset, phase });
            }
        }
        let gives_up = match first {
            Some(_) => self.gives_up(warp, pc),
            None => {
                warp.refused = None;
                false
            }
        };
        match first {
            Some(wait) if may_suspend && !gives_up && done == 0 => Ok(Flow::Park(wait)),
            Some(wait) if may_suspend && !gives_up => {
                warp.registers.set_predicate(dst, done, done);
                Ok(Flow::Partly { done, wait })
            }
            _ => {
                warp.registers.set_predicate(dst, done, mask);
                Ok(Flow::Next)
            }
        }
    }
}

/// Waits for the warp's other lanes where an instruction takes them all at once.
fn together(warp: &Warp, mask: u32, aligned: bool) -> Option<Flow> {
    if aligned { converge(warp, mask, ALL) } else { None }
}
