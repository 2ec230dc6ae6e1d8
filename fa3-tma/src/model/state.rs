//! One state of the machine and the steps out of it.

use core::fmt;
use std::vec::Vec;

use super::barrier::{Mbarrier, Miscount};
use super::explore::Violation;
use super::{Barrier, MAX_CONSUMERS, MAX_STAGES, Parity, Protocol, Step};
use crate::ring::{Cursor, Phase};

/// Loads in flight. A ring has no more than its stages; a producer that runs ahead of one that
/// is broken waits here.
const MAX_LOADS: usize = MAX_STAGES as usize + 1;

/// Nothing has landed yet.
const NO_TILE: u8 = u8::MAX;

/// What happened in one step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The producer took a step.
    Producer {
        /// The step.
        step: Step,
        /// The stage at which it stood.
        stage: u8,
        /// The tile it was at.
        tile: u8,
    },
    /// A consumer took a step.
    Consumer {
        /// The step.
        step: Step,
        /// The stage at which it stood.
        stage: u8,
        /// The tile it was at.
        tile: u8,
    },
    /// A piece of a load landed.
    Landed {
        /// The stage.
        stage: u8,
        /// The tile it belongs to.
        tile: u8,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Producer { step, stage, tile } => {
                write!(f, "producer, tile {tile}, stage {stage}: {step:?}")
            }
            Self::Consumer { step, stage, tile } => {
                write!(f, "a consumer, tile {tile}, stage {stage}: {step:?}")
            }
            Self::Landed { stage, tile } => write!(f, "half of tile {tile} lands in stage {stage}"),
        }
    }
}

/// Where a role is: the tiles it has finished, its next step, its cursor, and for a consumer the
/// tiles it has finished reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Role {
    tile: u8,
    step: u8,
    stage: u8,
    odd: bool,
    read: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Stage {
    /// The tile that each half holds.
    halves: [u8; 2],
    full: Mbarrier,
    empty: Mbarrier,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Load {
    tile: u8,
    stage: u8,
    landed: u8,
}

/// Consumers run the same steps and are interchangeable: they are kept sorted, as are the loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    producer: Role,
    consumers: [Role; MAX_CONSUMERS as usize],
    stages: [Stage; MAX_STAGES as usize],
    loads: [Option<Load>; MAX_LOADS],
}

/// A step to another state, or into a violation.
pub(super) type Outcome = (Event, Result<State, Violation>);

impl State {
    pub(super) fn initial(protocol: &Protocol) -> Self {
        let stage = Stage {
            halves: [NO_TILE; 2],
            full: Mbarrier::new(protocol.full_arrivals),
            empty: Mbarrier::new(protocol.empty_arrivals),
        };
        // Consumers beyond the protocol's have finished before they begin.
        let mut consumers = [Role { tile: protocol.tiles, read: protocol.tiles, ..Role::default() }; 3];
        consumers.iter_mut().take(protocol.consumers.into()).for_each(|role| *role = Role::default());
        let mut state = Self {
            producer: Role::default(),
            consumers,
            stages: [stage; MAX_STAGES as usize],
            loads: [None; MAX_LOADS],
        };
        state.sort();
        state
    }

    /// Every role has finished every tile.
    pub(super) fn is_final(&self, protocol: &Protocol) -> bool {
        self.producer.tile == protocol.tiles
            && self.consumers.iter().all(|role| role.tile == protocol.tiles)
            && self.loads.iter().all(Option::is_none)
    }

    /// Every step that can be taken.
    pub(super) fn outcomes(&self, protocol: &Protocol, into: &mut Vec<Outcome>) {
        if let Some(step) = next_step(&self.producer, &protocol.producer, protocol.tiles) {
            let Role { stage, tile, .. } = self.producer;
            self.take(protocol, None, step, Event::Producer { step, stage, tile }, into);
        }
        for (index, role) in self.consumers.iter().enumerate() {
            // Two consumers in the same place have the same futures.
            let is_new = index.checked_sub(1).and_then(|before| self.consumers.get(before)) != Some(role);
            if let (true, Some(step)) = (is_new, next_step(role, &protocol.consumer, protocol.tiles)) {
                let Role { stage, tile, .. } = *role;
                self.take(protocol, Some(index), step, Event::Consumer { step, stage, tile }, into);
            }
        }
        for (index, load) in self.loads.iter().enumerate() {
            if let Some(load) = load {
                let event = Event::Landed { stage: load.stage, tile: load.tile };
                let mut next = *self;
                let result = next.land(index, *load);
                next.sort();
                into.push((event, result.map(|()| next)));
            }
        }
    }

    /// `consumer` is `None` for the producer.
    fn take(
        &self,
        protocol: &Protocol,
        consumer: Option<usize>,
        step: Step,
        event: Event,
        into: &mut Vec<Outcome>,
    ) {
        let mut next = *self;
        match next.try_step(protocol, consumer, step) {
            Ok(true) => {
                next.sort();
                into.push((event, Ok(next)));
            }
            Ok(false) => {}
            Err(violation) => into.push((event, Err(violation))),
        }
    }

    /// Carries out `step` and moves the role on; false where it has to wait.
    fn try_step(
        &mut self,
        protocol: &Protocol,
        consumer: Option<usize>,
        step: Step,
    ) -> Result<bool, Violation> {
        let steps = if consumer.is_some() { &protocol.consumer } else { &protocol.producer };
        let role = match consumer {
            None => Some(&mut self.producer),
            Some(index) => self.consumers.get_mut(index),
        };
        let Some(role) = role else { return Ok(false) };
        let Some(stage) = self.stages.get_mut(usize::from(role.stage)) else {
            return Ok(false);
        };
        let miscount = |barrier, stage| move |Miscount| Violation::Miscount { barrier, stage };
        match step {
            Step::Wait(barrier, parity) => {
                let odd = role.odd != (parity == Parity::Previous);
                let barrier = match barrier {
                    Barrier::Full => stage.full,
                    Barrier::Empty => stage.empty,
                };
                if !barrier.has_completed(odd) {
                    return Ok(false);
                }
            }
            Step::Arrive(Barrier::Full) => {
                stage.full.arrive().map_err(miscount(Barrier::Full, role.stage))?;
            }
            Step::Arrive(Barrier::Empty) => {
                stage.empty.arrive().map_err(miscount(Barrier::Empty, role.stage))?;
            }
            Step::ArriveExpect(pieces) => {
                let expected = stage.full.expect_tx(pieces).and_then(|()| stage.full.arrive());
                expected.map_err(miscount(Barrier::Full, role.stage))?;
            }
            Step::Load => {
                let Some(free) = self.loads.iter_mut().find(|load| load.is_none()) else {
                    return Ok(false);
                };
                *free = Some(Load { tile: role.tile, stage: role.stage, landed: 0 });
            }
            Step::BeginRead => read(stage, role)?,
            Step::EndRead => {
                read(stage, role)?;
                role.read = role.tile.saturating_add(1);
            }
            Step::Advance | Step::AdvanceSamePhase => {
                let phase = if role.odd { Phase::ODD } else { Phase::EVEN };
                let next = Cursor { stage: role.stage.into(), phase }.advanced(protocol.stages.into());
                role.stage = u8::try_from(next.stage).unwrap_or_default();
                if step == Step::Advance {
                    role.odd = next.phase == Phase::ODD;
                }
            }
        }
        role.step = role.step.saturating_add(1);
        if usize::from(role.step) >= steps.len() {
            role.step = 0;
            role.tile = role.tile.saturating_add(1);
        }
        Ok(true)
    }

    /// The next piece of the load at `index` is written and its bytes are completed.
    fn land(&mut self, index: usize, load: Load) -> Result<(), Violation> {
        let Some(stage) = self.stages.get_mut(usize::from(load.stage)) else {
            return Ok(());
        };
        if let Some(half) = stage.halves.get_mut(usize::from(load.landed)) {
            let unread = *half != NO_TILE && self.consumers.iter().any(|role| role.read <= *half);
            if unread {
                return Err(Violation::Overwrite { stage: load.stage, lost: *half, by: load.tile });
            }
            *half = load.tile;
        }
        stage
            .full
            .complete_tx(1)
            .map_err(|Miscount| Violation::Miscount { barrier: Barrier::Full, stage: load.stage })?;
        let landed = load.landed.saturating_add(1);
        if let Some(slot) = self.loads.get_mut(index) {
            *slot = (usize::from(landed) < stage.halves.len()).then_some(Load { landed, ..load });
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.consumers.sort_unstable();
        self.loads.sort_unstable();
    }
}

fn next_step(role: &Role, steps: &[Step], tiles: u8) -> Option<Step> {
    if role.tile < tiles { steps.get(usize::from(role.step)).copied() } else { None }
}

/// Both halves must hold the role's next tile.
fn read(stage: &Stage, role: &Role) -> Result<(), Violation> {
    let [first, second] = stage.halves;
    if first == role.tile && second == role.tile {
        Ok(())
    } else if first != second || first == NO_TILE {
        Err(Violation::UnfilledRead { stage: role.stage, tile: role.tile })
    } else {
        Err(Violation::WrongTile { stage: role.stage, expected: role.tile, found: first })
    }
}
