//! The mbarrier object (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

mod table;

use core::fmt;

pub use table::{MbarrierTable, TableError};

/// The most arrivals a phase may expect, and the most bytes that may be pending either way: 2²⁰ − 1
/// (PTX ISA, "Size and alignment of mbarrier object" and what follows on its contents).
pub const MAX_COUNT: u32 = (1 << 20) - 1;

/// An operation that the barrier's state forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MbarrierError {
    /// A count that no barrier has.
    #[error("an mbarrier with {count} arrivals a phase: 1 to {MAX_COUNT} would do")]
    Count {
        /// The count.
        count: u32,
    },
    /// More arrivals than the phase expects.
    #[error(
        "{arrivals} arrivals at an mbarrier whose phase {phase} has {pending} pending: at most \
         that many would do"
    )]
    OverArrival {
        /// The phase.
        phase: u64,
        /// Arrivals made at once.
        arrivals: u32,
        /// Arrivals still pending.
        pending: u32,
    },
    /// More bytes pending, or completed ahead of what is expected, than the barrier counts.
    #[error(
        "{bytes} bytes more make the transaction count of phase {phase} {count}: −{MAX_COUNT} to \
         {MAX_COUNT} would do"
    )]
    Transactions {
        /// The phase.
        phase: u64,
        /// Bytes expected (positive) or completed (negative).
        bytes: i64,
        /// The count that it would be.
        count: i64,
    },
}

/// An mbarrier: arrivals and bytes that the current phase still waits for.
///
/// A phase completes when no arrival and no byte is pending; the next then begins with the full count
/// of arrivals. Phases count from 0, so the parity of a fresh barrier's phase is 0.
///
/// ```
/// use fa3_emu::engine::mbarrier::Mbarrier;
/// let mut full = Mbarrier::new(1)?;
/// assert!(full.completed_parity(1) && !full.completed_parity(0));
/// assert!(!full.arrive_expect_tx(4096)?, "the bytes are pending");
/// assert!(!full.complete_tx(1024)?);
/// assert!(full.complete_tx(3072)?, "the phase is complete");
/// assert!(full.completed_parity(0) && !full.completed_parity(1));
/// # Ok::<(), fa3_emu::engine::mbarrier::MbarrierError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mbarrier {
    expected: u32,
    pending: u32,
    /// Bytes expected less bytes completed.
    transactions: i64,
    phase: u64,
    /// Bytes completed in this phase, and in the one before.
    bytes: [u64; 2],
}

impl Mbarrier {
    /// A barrier whose phases expect `count` arrivals (`mbarrier.init`).
    ///
    /// # Errors
    /// [`MbarrierError::Count`] unless it is 1 to [`MAX_COUNT`].
    pub fn new(count: u32) -> Result<Self, MbarrierError> {
        if !(1..=MAX_COUNT).contains(&count) {
            return Err(MbarrierError::Count { count });
        }
        Ok(Self { expected: count, pending: count, transactions: 0, phase: 0, bytes: [0; 2] })
    }

    /// `count` arrivals (`mbarrier.arrive`). Whether the phase is complete.
    ///
    /// # Errors
    /// [`MbarrierError::Count`] and [`MbarrierError::OverArrival`]; the barrier is as before.
    pub fn arrive(&mut self, count: u32) -> Result<bool, MbarrierError> {
        self.check_arrivals(count)?;
        self.pending -= count;
        Ok(self.advance())
    }

    /// Expects `bytes` more in this phase (`mbarrier.expect_tx`). Whether the phase is complete, as
    /// it may be when they landed before and every arrival is in.
    ///
    /// # Errors
    /// [`MbarrierError::Transactions`]; the barrier is as before.
    pub fn expect_tx(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.transactions = self.transactions_after(i64::from(bytes))?;
        Ok(self.advance())
    }

    /// [`expect_tx`](Self::expect_tx), then one arrival (`mbarrier.arrive.expect_tx`). Whether the
    /// phase is complete.
    ///
    /// # Errors
    /// Those of both; the barrier is as before.
    pub fn arrive_expect_tx(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.check_arrivals(1)?;
        self.expect_tx(bytes)?;
        self.arrive(1)
    }

    /// `bytes` bytes have landed (`mbarrier.complete_tx`, as asynchronous copies do). They may be
    /// ahead of who expects them. Whether the phase is complete.
    ///
    /// # Errors
    /// [`MbarrierError::Transactions`]; the barrier is as before.
    pub fn complete_tx(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.transactions = self.transactions_after(-i64::from(bytes))?;
        self.bytes[0] += u64::from(bytes);
        Ok(self.advance())
    }

    /// Whether the phase of parity `parity` (0 or 1; higher bits have no meaning) is complete: the one
    /// before the current phase (`mbarrier.test_wait.parity`).
    pub const fn completed_parity(&self, parity: u32) -> bool {
        self.phase & 1 != (parity & 1) as u64
    }

    /// Whether phase `phase` is complete (`mbarrier.test_wait` with the state that an arrival in
    /// that phase returned).
    pub const fn completed(&self, phase: u64) -> bool {
        self.phase > phase
    }

    /// The current, incomplete phase, counted from 0.
    pub const fn phase(&self) -> u64 {
        self.phase
    }

    /// Arrivals that the current phase waits for.
    pub const fn pending_arrivals(&self) -> u32 {
        self.pending
    }

    /// Bytes that the current phase waits for; negative when they landed before they were expected.
    pub const fn pending_bytes(&self) -> i64 {
        self.transactions
    }

    /// Bytes that landed in the phase before the current one, which are those that it expected.
    pub const fn bytes_of_last_phase(&self) -> u64 {
        self.bytes[1]
    }

    /// Whether nothing has happened in the current phase.
    pub const fn is_quiescent(&self) -> bool {
        self.pending == self.expected && self.transactions == 0
    }

    fn check_arrivals(&self, count: u32) -> Result<(), MbarrierError> {
        if !(1..=MAX_COUNT).contains(&count) {
            return Err(MbarrierError::Count { count });
        }
        if count > self.pending {
            let (phase, pending) = (self.phase, self.pending);
            return Err(MbarrierError::OverArrival { phase, arrivals: count, pending });
        }
        Ok(())
    }

    fn transactions_after(&self, bytes: i64) -> Result<i64, MbarrierError> {
        let count = self.transactions + bytes;
        if count.unsigned_abs() > u64::from(MAX_COUNT) {
            return Err(MbarrierError::Transactions { phase: self.phase, bytes, count });
        }
        Ok(count)
    }

    fn advance(&mut self) -> bool {
        let complete = self.pending == 0 && self.transactions == 0;
        if complete {
            self.pending = self.expected;
            self.phase += 1;
            self.bytes = [0, self.bytes[0]];
        }
        complete
    }
}

impl fmt::Display for Mbarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, pending, transactions, phase, .. } = self;
        write!(f, "phase {phase} waits for {pending} of {expected} arrivals and ")?;
        match *transactions {
            surplus if surplus < 0 => {
                write!(f, "has {} bytes more than it expected", surplus.unsigned_abs())
            }
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests;
