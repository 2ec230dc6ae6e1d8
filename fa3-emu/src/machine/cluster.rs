//! A cluster of CTAs that run together: their warps take turns until all have exited.

use super::Geometry;
use super::cta::Cta;
use super::fault::{FaultKind, RunError, Site, Waiting};
use super::memory::Memory;
use super::warp::{Group, Wait, Warp};
use crate::engine::cluster::ClusterBarrier;
use crate::ir::Program;
use crate::options::Options;

/// Instructions after which the next warp has its turn, if the warp does not wait sooner.
const TURN: u64 = 4096;

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
}

/// The CTAs of a cluster and their warps.
pub(super) struct Cluster<'a> {
    pub(super) program: &'a Program,
    pub(super) geometry: &'a Geometry,
    pub(super) params: &'a [u8],
    pub(super) memory: &'a mut Memory,
    pub(super) options: &'a Options,
    /// By rank.
    pub(super) ctas: Vec<Cta>,
    /// The warps of rank 0, then those of rank 1, and so on. One that has its turn is not here.
    pub(super) warps: Vec<Warp>,
    pub(super) barrier: ClusterBarrier,
    pub(super) steps: u64,
}

impl Cluster<'_> {
    /// Runs until every warp has exited.
    pub(super) fn run(&mut self) -> Result<(), RunError> {
        loop {
            let before = self.steps;
            for index in 0..self.warps.len() {
                if self.warps[index].live != 0 {
                    let mut warp = std::mem::take(&mut self.warps[index]);
                    let result = self.turn(&mut warp);
                    self.warps[index] = warp;
                    result?;
                }
            }
            if self.warps.iter().all(|warp| warp.live == 0) {
                return Ok(());
            }
            if self.steps == before {
                return Err(self.deadlock());
            }
        }
    }

    /// A warp's turn: until all its lanes wait or have exited, or the turn is over.
    fn turn(&mut self, warp: &mut Warp) -> Result<(), RunError> {
        self.wake(warp);
        let end = self.steps.saturating_add(TURN);
        while let Some(index) = warp.next() {
            self.run_group(warp, index, end)?;
            warp.merge();
            if self.steps >= self.options.step_limit {
                let Some(&group) = warp.groups.first() else { return Ok(()) };
                let site = self.site(warp, group.pc, group.mask);
                return Err(RunError::StepLimit { site, limit: self.options.step_limit });
            }
            if self.steps >= end {
                break;
            }
        }
        Ok(())
    }

    /// Runs a group until it meets another, or its place among the groups may have changed.
    fn run_group(&mut self, warp: &mut Warp, index: usize, end: u64) -> Result<(), RunError> {
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
            match flow {
                Flow::Next => pc += 1,
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
                    return Ok(());
                }
                Flow::Exit(lanes) => {
                    self.steps += 1;
                    warp.groups[index].pc = pc + 1;
                    warp.exit(index, lanes);
                    return Ok(());
                }
                Flow::Park(wait) => {
                    warp.groups[index] = Group { pc, mask, wait: Some(wait) };
                    return Ok(());
                }
                Flow::Apart(lanes) => {
                    warp.groups[index] = Group { pc, mask: lanes, wait: None };
                    warp.groups.push(Group { pc: pc + 1, mask: mask & !lanes, wait: None });
                    return Ok(());
                }
                Flow::Partly { done, wait } => {
                    self.steps += 1;
                    warp.groups[index] = Group { pc, mask: mask & !done, wait: Some(wait) };
                    warp.groups.push(Group { pc: pc + 1, mask: done, wait: None });
                    return Ok(());
                }
                Flow::Arrived(wait) => {
                    self.steps += 1;
                    warp.groups[index] = Group { pc, mask, wait: Some(wait) };
                    return Ok(());
                }
            }
            self.steps += 1;
            if pc >= meeting || self.steps >= end {
                break;
            }
        }
        warp.groups[index].pc = pc;
        Ok(())
    }

    /// Ends the waits that are over.
    fn wake(&self, warp: &mut Warp) {
        for group in &mut warp.groups {
            let over = match group.wait {
                None | Some(Wait::Lanes { .. } | Wait::Warp { .. } | Wait::Warpgroup) => false,
                // A barrier that is gone is no longer waited for: the instruction reports it.
                Some(Wait::Phase { cta, offset, phase }) => {
                    self.ctas[cta].barriers.get(offset).map_or(true, |barrier| phase.is_complete(barrier))
                }
                Some(Wait::Named { id, generation }) => {
                    let over = self.ctas[warp.cta].named.passed(id, generation).unwrap_or(true);
                    group.pc += usize::from(over);
                    over
                }
                Some(Wait::Cluster { phase }) => self.barrier.passed(phase),
            };
            if over {
                group.wait = None;
            }
        }
    }

    fn site(&self, warp: &Warp, pc: usize, lanes: u32) -> Site {
        let line = self.program.lines.get(pc);
        let source = line.and_then(|line| line.source).and_then(|location| {
            let file = self.program.files.get(location.file as usize)?;
            Some(format!("{file}:{}", location.line))
        });
        Site {
            kernel: self.program.entry.clone(),
            cta: self.ctas[warp.cta].index,
            warp: warp.index,
            lanes,
            ptx_line: line.map_or(0, |line| line.ptx),
            source,
        }
    }

    fn deadlock(&self) -> RunError {
        let mut waiting = Vec::new();
        for warp in &self.warps {
            for group in &warp.groups {
                let site = self.site(warp, group.pc, group.mask);
                let reason = group.wait.map_or_else(String::new, |wait| self.reason(warp, wait));
                waiting.push(Waiting { site, reason });
            }
        }
        RunError::Deadlock { waiting }
    }

    fn reason(&self, warp: &Warp, wait: Wait) -> String {
        match wait {
            Wait::Lanes { needed } => {
                format!("waits for lanes {:#010x} to reach the instruction", needed & warp.live)
            }
            Wait::Warp { members } => {
                format!("waits for lanes {:#010x} to reach a bar.warp.sync", members & warp.live)
            }
            Wait::Phase { cta, offset, phase } => {
                let barrier = self.ctas[cta].barriers.get(offset);
                let state = barrier.map_or_else(|error| error.to_string(), ToString::to_string);
                format!("waits for {phase} of the mbarrier at shared {offset:#x} of CTA rank {cta}: {state}")
            }
            Wait::Named { id, .. } => {
                let mut incomplete = self.ctas[warp.cta].named.incomplete();
                let (_, arrived, threads) =
                    incomplete.find(|&(one, ..)| one == id as usize).unwrap_or_default();
                format!("waits at named barrier {id}, where {arrived} of {threads} threads have arrived")
            }
            Wait::Cluster { .. } => {
                let (arrived, threads) = self.barrier.progress();
                format!("waits at the cluster's barrier, where {arrived} of {threads} threads have arrived")
            }
            Wait::Warpgroup => "waits for the other warps of its warpgroup".to_owned(),
        }
    }
}
