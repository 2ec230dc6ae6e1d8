//! A warp: registers, and the groups of lanes that are at the same instruction.
//!
//! The group with the lowest instruction runs first, and groups that meet become one: where
//! branches rejoin further down, as a compiler lays them out, lanes are together again as soon as
//! they can be. A group that waits lets the others run.

use std::fmt;

use super::asynchronous::ProductGroups;
use super::lanes::ALL;
use super::registers::Registers;
use crate::engine::mbarrier::Mbarrier;
use crate::ir::Program;

/// A phase of an mbarrier, as a wait names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhaseOf {
    /// The one before the current, if that has this parity.
    Parity(u32),
    /// The one that an arrival was in.
    Number(u64),
}

impl PhaseOf {
    /// Whether `barrier` has completed it.
    pub(crate) const fn is_complete(self, barrier: &Mbarrier) -> bool {
        match self {
            Self::Parity(parity) => barrier.completed_parity(parity),
            Self::Number(phase) => barrier.completed(phase),
        }
    }

    /// Its number, once it is complete.
    pub(crate) const fn number(self, barrier: &Mbarrier) -> u64 {
        match self {
            Self::Parity(_) => barrier.phase().saturating_sub(1),
            Self::Number(phase) => phase,
        }
    }
}

impl fmt::Display for PhaseOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parity(parity) => write!(f, "the phase of parity {parity}"),
            Self::Number(phase) => write!(f, "phase {phase}"),
        }
    }
}

/// What a group of lanes waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For other lanes of the warp to reach this instruction, which takes them all at once.
    Lanes {
        /// All that it takes.
        needed: u32,
    },
    /// For other lanes of the warp to reach a `bar.warp.sync` of the same members, this one or another.
    Warp {
        /// The members.
        members: u32,
    },
    /// For a phase of an mbarrier to complete.
    Phase {
        /// The CTA's rank in the cluster.
        cta: usize,
        /// The mbarrier's offset in its shared memory.
        offset: u32,
        /// Which.
        phase: PhaseOf,
    },
    /// For a named barrier to complete. The group has arrived, and goes on after the instruction.
    Named {
        /// The barrier.
        id: u32,
        /// The generation that the group arrived in.
        generation: u64,
    },
    /// For the cluster's barrier to complete.
    Cluster {
        /// The phase that the warp arrived in.
        phase: u64,
    },
    /// For a thread's bulk copies. The instruction is executed anew when they are done.
    Copies {
        /// The threads.
        lanes: u32,
        /// Groups that may be pending.
        pending: u32,
        /// Whether it suffices that they have read their sources.
        reads_only: bool,
    },
    /// For products of the warpgroup to complete. The instruction is executed anew when they have.
    Products {
        /// So many of all that it ever issued.
        wanted: u64,
    },
    /// For registers that other warps give back.
    Registers {
        /// So many for each thread.
        count: u32,
    },
    /// For the other warps of the warpgroup to issue the same instruction.
    Warpgroup,
}

/// Lanes at the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The instruction.
    pub(crate) pc: usize,
    /// The lanes.
    pub(crate) mask: u32,
    /// What they wait for, if they do.
    pub(crate) wait: Option<Wait>,
}

impl Group {
    /// Whether the group executes its instruction anew once its wait is over, so that another at the
    /// same instruction may join it until then. Those that wait at a `bar.warp.sync` wait apart.
    fn may_join(&self, other: &Self) -> bool {
        let arrived = |group: &Self| {
            matches!(group.wait, Some(Wait::Named { .. } | Wait::Cluster { .. } | Wait::Warpgroup))
        };
        let apart = [self, other].iter().all(|group| matches!(group.wait, Some(Wait::Warp { .. })));
        !arrived(self) && !arrived(other) && !apart
    }
}

/// A warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    /// Its number in the CTA.
    pub(crate) index: u32,
    /// Its CTA's rank in the cluster.
    pub(crate) cta: usize,
    /// The lanes that have not exited.
    pub(crate) live: u32,
    /// Every live lane is in one of these.
    pub(crate) groups: Vec<Group>,
    pub(crate) registers: Registers,
    /// The phase of the cluster's barrier that the warp last arrived in, if it has not waited since.
    pub(crate) cluster_arrival: Option<u64>,
    /// The `try_wait` that last returned before its phase was complete, if none has succeeded since.
    pub(crate) refused: Option<usize>,
    /// The instruction at which lanes exited last.
    pub(crate) exited_at: usize,
    /// Its groups of products.
    pub(crate) products: ProductGroups,
}

impl Warp {
    /// Warp `index` of a CTA, with as many live lanes as the CTA has threads for it.
    pub(crate) fn new(program: &Program, cta: usize, index: u32, threads: u32) -> Self {
        let live = if threads >= 32 { ALL } else { (1 << threads) - 1 };
        Self {
            index,
            cta,
            live,
            groups: vec![Group { pc: 0, mask: live, wait: None }],
            registers: Registers::new(program.registers),
            cluster_arrival: None,
            refused: None,
            exited_at: 0,
            products: ProductGroups::default(),
        }
    }

    /// The group to run next: of those that don't wait, the one with the lowest instruction.
    pub(crate) fn next(&self) -> Option<usize> {
        let runnable = self.groups.iter().enumerate().filter(|(_, group)| group.wait.is_none());
        runnable.min_by_key(|(_, group)| group.pc).map(|(index, _)| index)
    }

    /// The nearest instruction after that of group `index` at which it meets another.
    pub(crate) fn meeting(&self, index: usize) -> usize {
        let pc = self.groups[index].pc;
        let others = self.groups.iter().map(|group| group.pc).filter(|&other| other > pc);
        others.min().unwrap_or(usize::MAX)
    }

    /// Makes one group of those that are at the same instruction.
    pub(crate) fn merge(&mut self) {
        let mut index = 0;
        while index < self.groups.len() {
            let Group { pc, .. } = self.groups[index];
            let mut other = index + 1;
            while other < self.groups.len() {
                let (one, two) = (self.groups[index], self.groups[other]);
                if two.pc == pc && one.may_join(&two) {
                    self.groups[index] = Group { pc, mask: one.mask | two.mask, wait: None };
                    self.groups.swap_remove(other);
                } else {
                    other += 1;
                }
            }
            index += 1;
        }
    }

    /// Takes the lanes of `mask` out of group `index` and out of the warp.
    pub(crate) fn exit(&mut self, index: usize, mask: u32) {
        self.live &= !mask;
        self.groups[index].mask &= !mask;
        if self.groups[index].mask == 0 {
            self.groups.swap_remove(index);
        }
        // Who waits for lanes that have exited looks again whether all are there.
        for group in &mut self.groups {
            if matches!(group.wait, Some(Wait::Lanes { .. } | Wait::Warp { .. })) {
                group.wait = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp(groups: &[(usize, u32, Option<Wait>)]) -> Warp {
        let groups = groups.iter().map(|&(pc, mask, wait)| Group { pc, mask, wait }).collect::<Vec<_>>();
        Warp { live: groups.iter().fold(0, |live, group| live | group.mask), groups, ..Warp::default() }
    }

    const PHASE: Option<Wait> = Some(Wait::Phase { cta: 0, offset: 0, phase: PhaseOf::Parity(0) });
    const LANES: Option<Wait> = Some(Wait::Lanes { needed: 7 });

    #[test]
    fn the_lowest_group_that_does_not_wait_runs_until_it_meets_another() {
        let warp = warp(&[(9, 1, None), (2, 2, PHASE), (4, 4, None)]);
        assert_eq!((warp.next(), warp.meeting(2), warp.meeting(0)), (Some(2), 9, usize::MAX));
    }

    #[test]
    fn groups_at_one_instruction_merge_and_look_again() {
        let mut warp = warp(&[(5, 1, LANES), (7, 2, None), (5, 4, None)]);
        warp.merge();
        assert_eq!(warp.groups, [Group { pc: 5, mask: 5, wait: None }, Group { pc: 7, mask: 2, wait: None }]);
    }

    #[test]
    fn who_has_arrived_at_a_barrier_is_not_joined() {
        let arrived = Some(Wait::Named { id: 0, generation: 0 });
        let mut warp = warp(&[(5, 1, arrived), (5, 2, None)]);
        warp.merge();
        assert_eq!(warp.groups.len(), 2);
    }

    #[test]
    fn exits_remove_lanes_and_wake_those_who_wait_for_them() {
        let mut warp = warp(&[(3, 3, None), (5, 4, LANES)]);
        warp.exit(0, 1);
        assert_eq!((warp.live, warp.groups[0].mask, warp.groups[1].wait), (6, 2, None));
        warp.exit(0, 2);
        assert_eq!((warp.live, warp.groups.len()), (4, 1));
    }
}
