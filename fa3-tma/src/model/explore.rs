//! Breadth-first search through all states.

use core::fmt;
use std::boxed::Box;
use std::collections::HashMap;
use std::vec::Vec;

use super::state::{Event, State};
use super::{Barrier, MAX_CONSUMERS, MAX_STAGES, MAX_TILES, Protocol};

/// What a run must not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A consumer read a stage in which its tile had not landed, or not all of it.
    #[error("a consumer reads tile {tile} in stage {stage}, which is not filled")]
    UnfilledRead {
        /// The stage.
        stage: u8,
        /// The tile that the consumer took it for.
        tile: u8,
    },
    /// A consumer read another tile than the next one: its phase is not the stage's.
    #[error("a consumer reads stage {stage} as tile {expected}, and it holds tile {found}")]
    WrongTile {
        /// The stage.
        stage: u8,
        /// The tile that the consumer took it for.
        expected: u8,
        /// The tile that was there.
        found: u8,
    },
    /// A load landed on a tile that some consumer had not finished reading.
    #[error("tile {by} lands in stage {stage} on tile {lost}, which a consumer has not read")]
    Overwrite {
        /// The stage.
        stage: u8,
        /// The tile that was there.
        lost: u8,
        /// The tile that landed on it.
        by: u8,
    },
    /// No role can take a step, and not every tile has been read.
    #[error("no role can go on")]
    Deadlock,
    /// A barrier got an arrival when none was pending, or a tx-count out of its range.
    #[error("the {barrier:?} barrier of stage {stage} gets an arrival that it does not expect")]
    Miscount {
        /// Which of the stage's barriers.
        barrier: Barrier,
        /// The stage.
        stage: u8,
    },
}

/// What [`Protocol::explore`] went through without a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Different states, consumers taken as interchangeable.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
}

/// Why [`Protocol::explore`] does not vouch for a protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExploreError {
    /// A parameter out of its range.
    #[error("`{name}` is {value}: the model explores {least} to {most}")]
    OutOfRange {
        /// The field of [`Protocol`].
        name: &'static str,
        /// Its value; for a role's steps, their number.
        value: usize,
        /// The least that is explored.
        least: usize,
        /// The most that is explored.
        most: usize,
    },
    /// The shortest run to a violation.
    #[error("{0}")]
    Violated(Box<Counterexample>),
}

impl ExploreError {
    /// The violation, if that's what it is.
    pub fn violation(&self) -> Option<Violation> {
        match self {
            Self::Violated(run) => Some(run.violation),
            Self::OutOfRange { .. } => None,
        }
    }
}

/// A shortest run to a violation. Prints as one event a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What went wrong at its end.
    pub violation: Violation,
    /// What happened, from the start on.
    pub run: Vec<Event>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, after:", self.violation)?;
        self.run.iter().try_for_each(|event| write!(f, "\n  {event}"))
    }
}

impl Protocol {
    /// Goes through every interleaving.
    ///
    /// Four stages, three consumers and ten tiles are some hundred thousand states.
    ///
    /// # Errors
    /// [`ExploreError::OutOfRange`] for a protocol that the model doesn't hold, and
    /// [`ExploreError::Violated`] with a shortest run to a violation.
    pub fn explore(&self) -> Result<Explored, ExploreError> {
        match self.search(|_| true)? {
            Search::Explored(explored) => Ok(explored),
            Search::Found(run) => Err(ExploreError::Violated(run)),
        }
    }

    /// A shortest run to a violation that is `wanted`, if there is one. Runs end at any other
    /// violation, so this answers whether a defect can show in that way, even where it shows
    /// sooner in another.
    ///
    /// # Errors
    /// [`ExploreError::OutOfRange`] for a protocol that the model doesn't hold.
    pub fn find(
        &self,
        wanted: impl Fn(Violation) -> bool,
    ) -> Result<Option<Box<Counterexample>>, ExploreError> {
        match self.search(wanted)? {
            Search::Explored(_) => Ok(None),
            Search::Found(run) => Ok(Some(run)),
        }
    }

    fn search(&self, wanted: impl Fn(Violation) -> bool) -> Result<Search, ExploreError> {
        self.check_ranges()?;
        let start = State::initial(self);
        // Each state's number, and for each number how it was reached.
        let mut numbers = HashMap::from([(start, 0_usize)]);
        let mut reached = std::vec![(start, None::<(usize, Event)>)];
        let mut outcomes = Vec::new();
        let (mut current, mut steps) = (0_usize, 0_usize);
        while let Some(&(state, _)) = reached.get(current) {
            outcomes.clear();
            state.outcomes(self, &mut outcomes);
            if outcomes.is_empty() && !state.is_final(self) && wanted(Violation::Deadlock) {
                return Ok(found(&reached, current, None, Violation::Deadlock));
            }
            for (event, outcome) in outcomes.drain(..) {
                steps = steps.saturating_add(1);
                match outcome {
                    Ok(next) => {
                        let fresh = reached.len();
                        if *numbers.entry(next).or_insert(fresh) == fresh {
                            reached.push((next, Some((current, event))));
                        }
                    }
                    Err(violation) if wanted(violation) => {
                        return Ok(found(&reached, current, Some(event), violation));
                    }
                    Err(_) => {}
                }
            }
            current = current.saturating_add(1);
        }
        Ok(Search::Explored(Explored { states: reached.len(), steps }))
    }

    fn check_ranges(&self) -> Result<(), ExploreError> {
        let ranges = [
            ("stages", usize::from(self.stages), 1, MAX_STAGES.into()),
            ("consumers", self.consumers.into(), 1, MAX_CONSUMERS.into()),
            ("tiles", self.tiles.into(), 0, MAX_TILES.into()),
            ("full_arrivals", self.full_arrivals.into(), 1, u8::MAX.into()),
            ("empty_arrivals", self.empty_arrivals.into(), 1, u8::MAX.into()),
            ("producer", self.producer.len(), 1, 64),
            ("consumer", self.consumer.len(), 1, 64),
        ];
        ranges.into_iter().try_for_each(|(name, value, least, most)| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(ExploreError::OutOfRange { name, value, least, most })
            }
        })
    }
}

enum Search {
    Explored(Explored),
    Found(Box<Counterexample>),
}

/// The run that led to state number `at`, then `last`.
fn found(
    reached: &[(State, Option<(usize, Event)>)],
    at: usize,
    last: Option<Event>,
    violation: Violation,
) -> Search {
    let mut run: Vec<Event> = last.into_iter().collect();
    let mut number = at;
    while let Some((_, Some((before, event)))) = reached.get(number) {
        run.push(*event);
        number = *before;
    }
    run.reverse();
    Search::Found(Box::new(Counterexample { violation, run }))
}

#[cfg(test)]
mod tests;
