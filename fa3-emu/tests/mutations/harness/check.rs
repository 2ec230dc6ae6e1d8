//! Which check an error comes from.

use fa3_emu::check::Finding;
use fa3_emu::{FaultKind, RunError};

/// The checks, in the order of the table's columns; the last is that the memory a run leaves behind
/// is what the kernel leaves.
pub const CHECKS: &[&str] = &[
    "race",
    "proxy fence",
    "wgmma registers",
    "uninitialised",
    "bytes",
    "mbarrier",
    "named barrier",
    "cluster barrier",
    "setmaxnreg",
    "exit",
    "bounds",
    "deadlock",
    "step limit",
    OUTPUT,
];

/// The memory that a run leaves behind.
pub const OUTPUT: &str = "output";

/// The check that an error comes from, one of [`CHECKS`].
pub fn check(error: &RunError) -> &'static str {
    match error {
        RunError::Deadlock { .. } => "deadlock",
        RunError::StepLimit { .. } => "step limit",
        RunError::Fault { kind, .. } => match kind {
            FaultKind::Check(finding) => of_checker(finding),
            FaultKind::TransactionBytes(_) => "bytes",
            FaultKind::OutOfBounds { .. }
            | FaultKind::Misaligned { .. }
            | FaultKind::Copy(_)
            | FaultKind::Product(_)
            | FaultKind::Matrix(_) => "bounds",
            FaultKind::Mbarrier(_) | FaultKind::Arrival(_) => "mbarrier",
            FaultKind::NamedBarrier(_) => "named barrier",
            FaultKind::ClusterBarrier(_) | FaultKind::WaitBeforeArrival | FaultKind::SecondArrival => {
                "cluster barrier"
            }
            FaultKind::Registers(_) => "setmaxnreg",
            FaultKind::Unfinished(_) | FaultKind::Exited { .. } => "exit",
            other => panic!("an error of no known check: {other}"),
        },
        other => panic!("an error of no known check: {other}"),
    }
}

fn of_checker<P>(finding: &Finding<P>) -> &'static str {
    match finding {
        Finding::Race { .. } => "race",
        Finding::MissingProxyFence { .. } | Finding::UnpublishedInit { .. } => "proxy fence",
        Finding::Uninitialised { .. } => "uninitialised",
        Finding::OverBarrier { .. } | Finding::UnorderedInit { .. } => "mbarrier",
        Finding::PendingRegister { .. } | Finding::MissingFence { .. } | Finding::NoFence => {
            "wgmma registers"
        }
        _ => panic!("a finding of no known check"),
    }
}
