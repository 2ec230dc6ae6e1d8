//! Exchange between the lanes of a warp. PTX ISA, "Parallel Synchronization and Communication
//! Instructions".

use super::operand::{PredReg, Reg, Src};

/// Lanes of a warp together. `members` is the mask of the lanes that take part.
#[derive(Clone, Debug, PartialEq)]
pub enum WarpOp {
    /// `shfl.sync`.
    Shuffle {
        /// How the source lane is found.
        mode: ShuffleMode,
        /// Destination, 32 bits.
        dst: Reg,
        /// Whether the source lane was in range.
        in_range: Option<PredReg>,
        /// Each lane's value.
        a: Src,
        /// Lane, distance or mask; the low 5 bits count.
        b: Src,
        /// Bits 0–4 clamp, bits 8–12 mask the segment.
        c: Src,
        /// The lanes.
        members: Src,
    },
    /// `vote.sync` into a predicate.
    Vote {
        /// Which.
        mode: VoteMode,
        /// Destination.
        dst: PredReg,
        /// Each lane's vote.
        a: PredReg,
        /// Whether the vote is the predicate's opposite.
        negated: bool,
        /// The lanes.
        members: Src,
    },
    /// `vote.sync.ballot`: bit `i` is the vote of lane `i`.
    Ballot {
        /// Destination, 32 bits.
        dst: Reg,
        /// Each lane's vote.
        a: PredReg,
        /// Whether the vote is the predicate's opposite.
        negated: bool,
        /// The lanes.
        members: Src,
    },
    /// `activemask`.
    ActiveMask {
        /// Destination, 32 bits.
        dst: Reg,
    },
    /// `elect.sync`: the predicate is true in one lane of the members, the same every time.
    Elect {
        /// Gets the number of that lane.
        lane: Option<Reg>,
        /// Destination.
        dst: PredReg,
        /// The lanes.
        members: Src,
    },
    /// `redux.sync` of 32-bit integers.
    Reduce {
        /// Which.
        f: ReduceFunction,
        /// Whether minimum and maximum are of signed values.
        signed: bool,
        /// Destination.
        dst: Reg,
        /// Each lane's value.
        a: Src,
        /// The lanes.
        members: Src,
    },
}

/// How `shfl` finds the source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleMode {
    /// Lower by `b`.
    Up,
    /// Higher by `b`.
    Down,
    /// Exclusive or with `b`.
    Butterfly,
    /// Lane `b` of the segment.
    Index,
}

/// What `vote` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoteMode {
    /// All votes are true.
    All,
    /// One vote is true.
    Any,
    /// All votes are the same.
    Uniform,
}

/// What `redux` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceFunction {
    /// Sum, wrapping.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}
