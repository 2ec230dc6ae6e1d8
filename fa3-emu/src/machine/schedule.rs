//! The warps of a cluster take turns until all have exited. Between two turns, asynchronous operations
//! take effect as the order says.

use super::cluster::{Cluster, Flow, Violation};
use super::fault::RunError;
use super::warp::{Group, Wait, Warp};
use crate::options::Order;
use crate::trace::Key;

/// Instructions after which the next warp has its turn, if the warp does not wait sooner.
const TURN: u64 = 4096;
/// A random turn has 1 to 2ⁿ instructions, n below this.
const RANDOM_TURN: usize = 10;
/// One in so many random turns is the last before another warp falls behind.
const BEHIND: usize = 48;
/// After so many whole turns, what is pending is taken for needed: a warp may ask again and again without
/// ever waiting.
const PATIENCE: u32 = 16;

impl Cluster<'_> {
    /// Runs until every warp has exited.
    pub(super) fn run(&mut self) -> Result<(), RunError> {
        let mut whole_turns = 0;
        while self.warps.iter().any(|warp| warp.live != 0) {
            let ran = match self.options.order {
                _ if self.tracer.is_some() => self.timed_turn()?,
                Order::Eager | Order::Lazy => self.round(&mut whole_turns)?,
                Order::Seeded(_) => self.random_turn()?,
            };
            if !ran || whole_turns >= PATIENCE {
                whole_turns = 0;
                let delivered = self.deliver_needed()?;
                if !ran && !delivered {
                    return Err(self.deadlock());
                }
            }
        }
        self.drain_loads()
    }

    /// A turn of every warp that can go on. Whether there was any. Counts those that no wait ended.
    fn round(&mut self, whole_turns: &mut u32) -> Result<bool, RunError> {
        let mut ran = false;
        for index in 0..self.warps.len() {
            if self.is_ready(index) {
                let before = self.steps;
                self.turn_of(index, TURN)?;
                *whole_turns += u32::from(self.steps - before >= TURN);
                ran = true;
            }
        }
        Ok(ran)
    }

    /// A turn of a warp that can go on. Whether there was any. For a while some warp falls behind: it
    /// runs only when no other can, so that the others come as far without it as they ever may.
    fn random_turn(&mut self) -> Result<bool, RunError> {
        if self.random.below(BEHIND) == 0 {
            self.behind = self.random.below(self.warps.len());
        }
        let mut ready: Vec<usize> = (0..self.warps.len()).filter(|&index| self.is_ready(index)).collect();
        if ready.len() > 1 {
            ready.retain(|&index| index != self.behind);
        }
        let Some(&index) = ready.get(self.random.below(ready.len())) else { return Ok(false) };
        let longest = 1 << self.random.below(RANDOM_TURN);
        let length = 1 + self.random.below(longest);
        self.turn_of(index, length as u64)?;
        Ok(true)
    }

    /// An instruction of the warp that is behind in time. Whether there was any that can go on.
    fn timed_turn(&mut self) -> Result<bool, RunError> {
        let ready: Vec<usize> = (0..self.warps.len()).filter(|&index| self.is_ready(index)).collect();
        let behind = self.tracer.as_ref().and_then(|tracer| tracer.next(ready.into_iter()));
        let Some(index) = behind else { return Ok(false) };
        self.turn_of(index, 1)?;
        Ok(true)
    }

    /// Whether a warp can go on, now that waits which are over have ended.
    fn is_ready(&mut self, index: usize) -> bool {
        let mut warp = std::mem::take(&mut self.warps[index]);
        if warp.live != 0 {
            self.wake(&mut warp);
        }
        let ready = warp.next().is_some();
        self.warps[index] = warp;
        ready
    }

    fn turn_of(&mut self, index: usize, length: u64) -> Result<(), RunError> {
        let mut warp = std::mem::take(&mut self.warps[index]);
        let result = self.turn(&mut warp, length);
        let (cta, exited) = (warp.cta, warp.live == 0);
        self.warps[index] = warp;
        result?;
        if exited && self.has_exited(cta) {
            self.end_cta(index)?;
        }
        self.deliver_due()
    }

    /// Whether every warp of a CTA has exited.
    fn has_exited(&self, cta: usize) -> bool {
        let warps = self.geometry.warps();
        self.warps[cta * warps..(cta + 1) * warps].iter().all(|warp| warp.live == 0)
    }

    /// A warp's turn of at most `length` instructions: until all its lanes wait or have exited, or the
    /// turn is over.
    fn turn(&mut self, warp: &mut Warp, length: u64) -> Result<(), RunError> {
        let limit = self.options.step_limit;
        let end = self.steps.saturating_add(length);
        while let Some(index) = warp.next() {
            if self.steps >= limit {
                let Group { pc, mask, .. } = warp.groups[index];
                return Err(RunError::StepLimit { site: self.site(warp, pc, mask), limit });
            }
            let goes_on = self.run_group(warp, index, end.min(limit))?;
            warp.merge();
            if !goes_on || self.steps >= end {
                return Ok(());
            }
        }
        self.check_divergence(warp)
    }

    /// Runs a group until it meets another, or its place among the groups may have changed. Whether the
    /// turn goes on.
    fn run_group(&mut self, warp: &mut Warp, index: usize, end: u64) -> Result<bool, RunError> {
        let Group { mut pc, mask, .. } = warp.groups[index];
        let alone = warp.groups.len() == 1;
        let meeting = warp.meeting(index);
        loop {
            let flow = match self.execute(warp, pc, mask) {
                Ok(flow) => flow,
                Err(Violation { kind, lanes }) => {
                    return Err(RunError::Fault { site: self.site(warp, pc, lanes), kind });
                }
            };
            if !matches!(flow, Flow::Park(_) | Flow::Apart(_)) {
                let place = self.place_of(warp);
                self.trace(|tracer, program| tracer.executed(place, program, pc));
            }
            match flow {
                Flow::Next => pc += 1,
                Flow::Yield => {
                    self.steps += 1;
                    warp.groups[index].pc = pc + 1;
                    return Ok(false);
                }
                Flow::Jump(target) => {
                    pc = target;
                    if !alone {
                        self.steps += 1;
                        break;
                    }
                }
                Flow::Branch { taken, target } => {
                    self.steps += 1;
                    warp.groups[index] = Group { pc: pc + 1, mask: mask & !taken, wait: None };
                    warp.groups.push(Group { pc: target, mask: taken, wait: None });
                    return Ok(true);
                }
                Flow::Exit(lanes) => {
                    self.steps += 1;
                    warp.groups[index].pc = pc + 1;
                    warp.exited_at = pc;
                    warp.exit(index, lanes);
                    return Ok(true);
                }
                Flow::Park(wait) => {
                    warp.groups[index] = Group { pc, mask, wait: Some(wait) };
                    return Ok(true);
                }
                Flow::Apart(lanes) => {
                    warp.groups[index] = Group { pc, mask: lanes, wait: None };
                    warp.groups.push(Group { pc: pc + 1, mask: mask & !lanes, wait: None });
                    return Ok(true);
                }
                Flow::Partly { done, wait } => {
                    self.steps += 1;
                    warp.groups[index] = Group { pc, mask: mask & !done, wait: Some(wait) };
                    warp.groups.push(Group { pc: pc + 1, mask: done, wait: None });
                    return Ok(true);
                }
                Flow::Regrouped => {
                    self.steps += 1;
                    return Ok(true);
                }
                Flow::Arrived(wait) => {
                    self.steps += 1;
                    warp.groups[index] = Group { pc, mask, wait: Some(wait) };
                    return Ok(true);
                }
            }
            self.steps += 1;
            if pc >= meeting || self.steps >= end {
                break;
            }
        }
        warp.groups[index].pc = pc;
        Ok(true)
    }

    /// Ends the waits that are over.
    fn wake(&mut self, warp: &mut Warp) {
        let place = self.place_of(warp);
        for group in &mut warp.groups {
            let over = match group.wait {
                None | Some(Wait::Lanes { .. } | Wait::Warp { .. } | Wait::Warpgroup) => false,
                // A barrier that is gone is no longer waited for: the instruction reports it.
                Some(Wait::Phase { cta, offset, phase }) => {
                    self.ctas[cta].barriers.get(offset).map_or(true, |barrier| phase.is_complete(barrier))
                }
                Some(Wait::Named { id, generation }) => {
                    let over = self.ctas[warp.cta].named.passed(id, generation).unwrap_or(true);
                    if over {
                        let key = Key::Named { cta: warp.cta, id };
                        self.trace(|tracer, program| {
                            tracer.woken(place, key, generation, program.lines[group.pc])
                        });
                        group.pc += 1;
                    }
                    over
                }
                Some(Wait::Cluster { phase }) => self.barrier.passed(phase),
                Some(Wait::Copies { lanes, pending, reads_only }) => {
                    self.copies_are_done(place, lanes, pending, reads_only)
                }
                Some(Wait::Registers { count }) => {
                    let pool = &self.ctas[warp.cta].registers;
                    let (held, free) = (pool.held(warp.index as usize), pool.free());
                    count.saturating_sub(held).saturating_mul(32) <= free
                }
                Some(Wait::Products { wanted }) => self.products_are_complete(place, wanted),
            };
            if over {
                group.wait = None;
            }
        }
    }
}
