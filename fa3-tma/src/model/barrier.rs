//! The mbarrier object (PTX ISA, "mbarrier").

/// Phase, pending arrivals and tx-count of one barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Mbarrier {
    arrivals: u8,
    pending: u8,
    tx: i8,
    odd: bool,
}

/// An operation that the ISA leaves undefined: an arrival when none is pending, or a tx-count out
/// of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Miscount;

impl Mbarrier {
    pub(super) fn new(arrivals: u8) -> Self {
        Self { arrivals, pending: arrivals, tx: 0, odd: false }
    }

    /// `mbarrier.arrive`.
    pub(super) fn arrive(&mut self) -> Result<(), Miscount> {
        self.pending = self.pending.checked_sub(1).ok_or(Miscount)?;
        self.complete_phase();
        Ok(())
    }

    /// `mbarrier.expect_tx`.
    pub(super) fn expect_tx(&mut self, pieces: i8) -> Result<(), Miscount> {
        self.tx = self.tx.checked_add(pieces).ok_or(Miscount)?;
        Ok(())
    }

    /// What the async engine does when bytes have landed.
    pub(super) fn complete_tx(&mut self, pieces: i8) -> Result<(), Miscount> {
        self.tx = self.tx.checked_sub(pieces).ok_or(Miscount)?;
        self.complete_phase();
        Ok(())
    }

    /// `mbarrier.try_wait.parity`: true while the current phase has the other parity.
    pub(super) fn has_completed(&self, odd: bool) -> bool {
        self.odd != odd
    }

    fn complete_phase(&mut self) {
        if self.pending == 0 && self.tx == 0 {
            self.pending = self.arrivals;
            self.odd = !self.odd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_barrier_has_completed_the_odd_phase_before_it() {
        let barrier = Mbarrier::new(1);
        assert!(barrier.has_completed(true));
        assert!(!barrier.has_completed(false));
    }

    #[test]
    fn a_phase_needs_its_arrivals_and_its_bytes() {
        let mut barrier = Mbarrier::new(2);
        barrier.expect_tx(2).unwrap();
        barrier.arrive().unwrap();
        barrier.arrive().unwrap();
        assert!(!barrier.has_completed(false));
        barrier.complete_tx(1).unwrap();
        assert!(!barrier.has_completed(false));
        barrier.complete_tx(1).unwrap();
        assert!(barrier.has_completed(false));
        assert!(!barrier.has_completed(true));
    }

    #[test]
    fn bytes_may_land_before_they_are_expected() {
        let mut barrier = Mbarrier::new(1);
        barrier.complete_tx(2).unwrap();
        assert!(!barrier.has_completed(false));
        barrier.expect_tx(2).unwrap();
        barrier.arrive().unwrap();
        assert!(barrier.has_completed(false));
    }

    #[test]
    fn an_arrival_too_many_is_a_miscount() {
        let mut barrier = Mbarrier::new(1);
        barrier.expect_tx(1).unwrap();
        barrier.arrive().unwrap();
        assert_eq!(barrier.arrive(), Err(Miscount));
    }
}
