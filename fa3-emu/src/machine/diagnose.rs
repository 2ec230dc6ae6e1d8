//! Who is where, and waits for what: the words of errors.

use super::asynchronous::Issuer;
use super::cluster::Cluster;
use super::fault::{FaultKind, RunError, Site, Waiting};
use super::warp::{Group, Wait, Warp};

impl Cluster<'_> {
    pub(super) fn site(&self, warp: &Warp, pc: usize, lanes: u32) -> Site {
        self.site_of(Issuer { warp: self.place_of(warp), lanes, pc })
    }

    pub(super) fn site_of(&self, Issuer { warp, lanes, pc }: Issuer) -> Site {
        let warps = self.geometry.warps();
        let line = self.program.lines.get(pc);
        let source = line.and_then(|line| line.source).and_then(|location| {
            let file = self.program.files.get(location.file as usize)?;
            Some(format!("{file}:{}", location.line))
        });
        Site {
            kernel: self.program.entry.clone(),
            cta: self.ctas[warp / warps].index,
            warp: (warp % warps) as u32,
            lanes,
            ptx_line: line.map_or(0, |line| line.ptx),
            source,
        }
    }

    /// That no two groups of a warp wait for each other's lanes, each at its own instruction.
    pub(super) fn check_divergence(&self, warp: &Warp) -> Result<(), RunError> {
        let missing = |group: &Group| match group.wait {
            Some(Wait::Lanes { needed }) => needed & warp.live & !group.mask,
            Some(Wait::Warp { members }) => members & warp.live & !group.mask,
            _ => 0,
        };
        for (index, one) in warp.groups.iter().enumerate() {
            for other in warp.groups.iter().skip(index + 1) {
                let apart = one.pc != other.pc && !is_one_warp_barrier(one, other);
                if apart && missing(one) & other.mask != 0 && missing(other) & one.mask != 0 {
                    let place = Box::new(self.site(warp, other.pc, other.mask));
                    let kind = FaultKind::Diverged { missing: missing(one), other: place };
                    return Err(RunError::Fault { site: self.site(warp, one.pc, one.mask), kind });
                }
            }
        }
        Ok(())
    }

    pub(super) fn deadlock(&self) -> RunError {
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
                let last = self.ctas[cta].arrivals.get(&offset);
                let last = last.map_or("nobody".to_owned(), |&issuer| self.site_of(issuer).to_string());
                format!(
                    "waits for {phase} of the mbarrier at shared {offset:#x} of CTA rank {cta}: {state}; the \
                     last to arrive was {last}"
                )
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
            Wait::Registers { count } => {
                let pool = &self.ctas[warp.cta].registers;
                let (held, free) = (pool.held(warp.index as usize), pool.free());
                format!(
                    "waits for registers: {count} for each thread, which has {held}, while {free} of the CTA \
                     are free"
                )
            }
            Wait::Copies { .. } => "waits for its bulk copies".to_owned(),
            Wait::Products { .. } => "waits for products of its warpgroup".to_owned(),
            Wait::Warpgroup => "waits for the other warps of its warpgroup".to_owned(),
        }
    }
}

/// Whether two groups have reached the same `bar.warp.sync`, which need not be one instruction.
fn is_one_warp_barrier(one: &Group, other: &Group) -> bool {
    matches!(one.wait, Some(Wait::Warp { .. })) && one.wait == other.wait
}
