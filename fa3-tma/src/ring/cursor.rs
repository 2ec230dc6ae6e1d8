//! Stage index and phase bit of one role.

/// The parity of an mbarrier's phase. The first phase of a fresh barrier is [`Phase::EVEN`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Phase(bool);

impl Phase {
    /// Parity 0.
    pub const EVEN: Self = Self(false);
    /// Parity 1. A fresh barrier counts its phase before the first as completed (PTX ISA,
    /// "mbarrier.test_wait / mbarrier.try_wait"), which is why a producer doesn't wait at first.
    pub const ODD: Self = Self(true);

    /// The parity of the next phase, which is also that of the one before.
    #[must_use]
    pub const fn flipped(self) -> Self {
        Self(!self.0)
    }

    /// The operand of `mbarrier.try_wait.parity`.
    pub const fn parity(self) -> u32 {
        self.0 as u32
    }
}

/// Where a role stands in a ring: the stage of its next tile, and the parity of the phase in
/// which that stage's barriers are. The device's `Ring<Stages>::Cursor` does the same arithmetic.
///
/// ```
/// use fa3_tma::ring::{Cursor, Phase};
/// let mut at = Cursor::START;
/// for _ in 0..3 {
///     at = at.advanced(2);
/// }
/// assert_eq!(at, Cursor { stage: 1, phase: Phase::ODD });
/// assert_eq!(at, Cursor::at(3, 2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Stage index, below the number of stages.
    pub stage: u32,
    /// What a consumer waits for on `full`; a producer waits for its opposite on `empty`.
    pub phase: Phase,
}

impl Cursor {
    /// Before the first tile.
    pub const START: Self = Self { stage: 0, phase: Phase::EVEN };

    /// One tile on, in a ring of `stages` stages. The phase flips where the stage wraps to 0.
    #[must_use]
    pub const fn advanced(self, stages: u32) -> Self {
        match self.stage.checked_add(1) {
            Some(stage) if stage < stages => Self { stage, phase: self.phase },
            _ => Self { stage: 0, phase: self.phase.flipped() },
        }
    }

    /// Before tile number `tile` (from 0) in a ring of `stages` stages. A ring of no stages is
    /// taken for one of one.
    pub const fn at(tile: u64, stages: u32) -> Self {
        let stages = if stages == 0 { 1 } else { stages as u64 };
        let turn = tile / stages;
        // The remainder is below `stages`, which came from a u32.
        let stage = (tile % stages) as u32;
        Self { stage, phase: Phase(turn % 2 == 1) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn advancing_agrees_with_the_closed_form(stages in 1_u32..9, tile in 0_u64..200) {
            let stepped = (0..tile).fold(Cursor::START, |at, _| at.advanced(stages));
            prop_assert_eq!(stepped, Cursor::at(tile, stages));
        }

        #[test]
        fn a_stage_meets_alternating_phases(stages in 1_u32..9, tile in 0_u64..u64::MAX / 2) {
            let (now, next) = (Cursor::at(tile, stages), Cursor::at(tile + u64::from(stages), stages));
            prop_assert_eq!(now.stage, next.stage);
            prop_assert_eq!(now.phase.flipped(), next.phase);
        }
    }

    #[test]
    fn the_first_turn_is_even() {
        assert_eq!(Phase::EVEN.parity(), 0);
        assert_eq!(Phase::ODD.parity(), 1);
        for stages in 1..9 {
            for tile in 0..stages {
                assert_eq!(Cursor::at(tile.into(), stages), Cursor { stage: tile, phase: Phase::EVEN });
            }
        }
    }

    #[test]
    fn no_stages_and_far_stages_do_not_panic() {
        assert_eq!(Cursor::at(7, 0), Cursor::at(7, 1));
        assert_eq!(Cursor { stage: u32::MAX, phase: Phase::EVEN }.advanced(4).stage, 0);
    }
}
