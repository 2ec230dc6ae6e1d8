//! An abstract machine of the ring, explored exhaustively.
//!
//! A [`Protocol`] says what the producer and each consumer do for one tile, step by step, and how
//! many arrivals the barriers were made for. [`Protocol::explore`] walks through every
//! interleaving of the roles and of the async engine that carries the loads out, and either
//! finds that all of them end with every tile read in order, or gives the shortest run that does
//! not, with the [`Violation`] at its end:
//!
//! - a read of a stage that is not filled, or of another tile than the next one;
//! - an overwrite of a tile that some consumer has not finished reading;
//! - a deadlock;
//! - an arrival that a barrier does not expect.
//!
//! [`Protocol::ring`] is what `fa3/tma/ring.cuh` does. Change a copy of it to check a variant:
//!
//! ```
//! use fa3_tma::model::{Protocol, Step, Violation};
//! let ring = Protocol::ring(2, 2, 6);
//! assert!(ring.explore()?.states > 1000);
//!
//! // The stage is let go before the read has finished.
//! let mut early = ring.clone();
//! let release = early.consumer.iter().position(|step| *step == Step::RELEASE).unwrap();
//! early.consumer.swap(release, release - 1);
//! let error = early.explore().unwrap_err();
//! assert!(matches!(error.violation(), Some(Violation::Overwrite { .. })));
//! # Ok::<(), fa3_tma::model::ExploreError>(())
//! ```
//!
//! What is modelled of the hardware (PTX ISA, "mbarrier", "cp.async.bulk.tensor"): a barrier's
//! phase, pending count and tx-count; `try_wait.parity`, which is true while the current phase
//! has the other parity; loads that land at any later time, in any order among each other, in two
//! pieces each of which completes its bytes as it lands. Bytes are counted in those pieces: a tile
//! is [`TILE_PIECES`]. Reads take time. Consumers run the same steps.

mod barrier;
mod explore;
mod state;

pub use explore::{Counterexample, ExploreError, Explored, Violation};
pub use state::Event;

/// The pieces of a tile, the model's unit of bytes.
pub const TILE_PIECES: i8 = 2;

/// The most stages that are explored.
pub const MAX_STAGES: u8 = 4;

/// The most consumers that are explored.
pub const MAX_CONSUMERS: u8 = 3;

/// The most tiles that are explored.
pub const MAX_TILES: u8 = 16;

/// A barrier of the stage at which a role stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Barrier {
    /// Completes when the tile is there.
    Full,
    /// Completes when the stage may be overwritten.
    Empty,
}

/// A parity, from the phase bit of a role's cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parity {
    /// The cursor's phase.
    Current,
    /// The other one: the phase before.
    Previous,
}

/// One step of a role. All but [`Step::Wait`] can be taken at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `wait(barrier, parity)`.
    Wait(Barrier, Parity),
    /// `arrive(barrier)`.
    Arrive(Barrier),
    /// `arrive_expect(full, pieces)`.
    ArriveExpect(i8),
    /// Hands the load of the role's next tile to the async engine.
    Load,
    /// Begins to read the stage as the role's next tile.
    BeginRead,
    /// Has read it.
    EndRead,
    /// Moves the cursor to the next stage; where it wraps, the phase flips.
    Advance,
    /// The same without the flip.
    AdvanceSamePhase,
}

impl Step {
    /// `ring.acquire(cursor)`.
    pub const ACQUIRE: Self = Self::Wait(Barrier::Empty, Parity::Previous);
    /// `ring.expect(cursor, tile)`.
    pub const EXPECT: Self = Self::ArriveExpect(TILE_PIECES);
    /// `ring.wait_full(cursor)`.
    pub const WAIT_FULL: Self = Self::Wait(Barrier::Full, Parity::Current);
    /// `ring.release(cursor)`.
    pub const RELEASE: Self = Self::Arrive(Barrier::Empty);
}

/// A ring and what its roles do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Stages, 1 to [`MAX_STAGES`].
    pub stages: u8,
    /// Consumers, 1 to [`MAX_CONSUMERS`].
    pub consumers: u8,
    /// Tiles that go through the ring, at most [`MAX_TILES`]. After 2·stages every stage has
    /// met both parities; with a few more, every way to run ahead by a whole turn shows.
    pub tiles: u8,
    /// The arrivals that `full` barriers are made for.
    pub full_arrivals: u8,
    /// The arrivals that `empty` barriers are made for.
    pub empty_arrivals: u8,
    /// The producer's steps for one tile.
    pub producer: std::vec::Vec<Step>,
    /// Each consumer's steps for one tile.
    pub consumer: std::vec::Vec<Step>,
}

impl Protocol {
    /// The ring of `fa3/tma/ring.cuh`.
    pub fn ring(stages: u8, consumers: u8, tiles: u8) -> Self {
        Self {
            stages,
            consumers,
            tiles,
            full_arrivals: 1,
            empty_arrivals: consumers,
            producer: std::vec![Step::ACQUIRE, Step::EXPECT, Step::Load, Step::Advance],
            consumer: std::vec![
                Step::WAIT_FULL,
                Step::BeginRead,
                Step::EndRead,
                Step::RELEASE,
                Step::Advance
            ],
        }
    }
}
