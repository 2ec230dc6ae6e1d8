//! How a launch is run: what a right kernel's results do not depend on.

use std::fmt;
use std::str::FromStr;

use crate::checks::Checks;

/// The warp instructions after which a cluster is given up, unless the options say otherwise.
const STEP_LIMIT: u64 = 1 << 32;

/// When asynchronous operations take effect, and in which turns warps run. A kernel that waits for
/// all that it must wait for gives the same results under every order.
///
/// ```
/// use fa3_emu::Order;
/// assert_eq!("seed:7".parse(), Ok(Order::Seeded(7)));
/// assert_eq!(Order::Lazy.to_string(), "lazy");
/// assert!("seed".parse::<Order>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// As soon as they are issued; warps run in turns.
    #[default]
    Eager,
    /// When no warp of the cluster can go on without: then the oldest that is needed. Copies read
    /// their source, and products their operands, no sooner. Warps run in turns.
    Lazy,
    /// At random moments, in random order; random warps run for random turns, and
    /// `mbarrier.try_wait` may give up. Equal seeds give equal runs.
    Seeded(u64),
}

/// A text that names no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("order = {text:?}, but an order is `eager`, `lazy` or `seed:N`, such as `seed:7`")]
pub struct ParseOrderError {
    /// The text.
    pub text: String,
}

impl FromStr for Order {
    type Err = ParseOrderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("seed:").map(str::parse)) {
            ("eager", _) => Ok(Self::Eager),
            ("lazy", _) => Ok(Self::Lazy),
            (_, Some(Ok(seed))) => Ok(Self::Seeded(seed)),
            _ => Err(ParseOrderError { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eager => f.write_str("eager"),
            Self::Lazy => f.write_str("lazy"),
            Self::Seeded(seed) => write!(f, "seed:{seed}"),
        }
    }
}

/// How a launch is run.
///
/// ```
/// use fa3_emu::{Options, Order};
/// let options = Options { order: Order::Lazy, ..Options::default() };
/// assert_eq!(Options::default().order, Order::Eager);
/// # assert_ne!(options, Options::default());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// When asynchronous operations take effect; eagerly by default.
    pub order: Order,
    /// What is checked beside what always is; everything by default.
    pub checks: Checks,
    /// Threads that run clusters, 1 to [`MAX_THREADS`](Self::MAX_THREADS), one by default. A cluster has
    /// its machine in memory while it runs. What a launch does, and the error that it ends with, are the
    /// same for any number, unless clusters of the kernel communicate. A launch that fails may leave more
    /// in memory than one thread would have.
    pub threads: usize,
    /// Whether a [`Trace`](crate::trace::Trace) is recorded; of the eager order only. Then the warp that
    /// is behind in time runs next.
    pub trace: bool,
    /// The launch ends with [`RunError::StepLimit`](crate::RunError::StepLimit) after this many warp
    /// instructions of a cluster; 2³² by default.
    pub step_limit: u64,
}

impl Options {
    /// The most [`threads`](Self::threads): more than any host has use for.
    pub const MAX_THREADS: usize = 1024;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::default(),
            checks: Checks::ALL,
            threads: 1,
            trace: false,
            step_limit: STEP_LIMIT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        for order in [Order::Eager, Order::Lazy, Order::Seeded(0), Order::Seeded(u64::MAX)] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for text in ["", "Eager", "seed:", "seed:-1", "seed:18446744073709551616", "lazy "] {
            let error = text.parse::<Order>().unwrap_err();
            assert_eq!(error, ParseOrderError { text: text.to_owned() });
        }
    }
}
