//! What becomes of a mutant.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use fa3_emu::mutation::{Kind, Mutant};
use fa3_emu::{Options, Order};

use super::check::{OUTPUT, check};
use super::equivalent::equivalence;
use super::subject::{Subject, Wrong};

/// Random orders of each problem.
const SEEDS: u64 = 6;

/// One way to run a kernel's problem.
pub struct Round {
    /// Which of the kernel's problems.
    pub problem: usize,
    pub options: Options,
    /// Whether the kernel as it is passes, once somebody has asked.
    passes: OnceLock<Result<(), String>>,
}

/// What became of a mutant.
pub enum Outcome {
    /// A check noticed it, in a round, and said so.
    Caught { by: &'static str, round: usize, message: String },
    /// Every round passed, and it is known why.
    Equivalent { why: &'static str },
    /// Every round passed.
    Survived,
    /// It is listed as one that changes nothing, yet a check noticed it.
    Listed { why: &'static str, by: &'static str, message: String },
    /// The emulator failed, or the kernel as it is did.
    Crashed { message: String },
}

impl Outcome {
    /// What is wrong with the checks, the problems or the list, if this shows that something is.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Caught { .. } | Self::Equivalent { .. } => None,
            Self::Survived => Some("survived every round".to_owned()),
            Self::Listed { why, by, message } => {
                Some(format!("is listed as equivalent ({why}), but was noticed by {by}: {message}"))
            }
            Self::Crashed { message } => Some(format!("shows nothing: {message}")),
        }
    }
}

/// The rounds of a kernel with everything checked: each problem under the eager and the lazy order,
/// then under random ones.
pub fn rounds(subject: &Subject) -> Vec<Round> {
    let problems = 0..subject.problems.len();
    let seeds = (1..).zip((0..SEEDS).flat_map(|_| problems.clone()));
    let rounds = [Order::Eager, Order::Lazy]
        .into_iter()
        .flat_map(|order| problems.clone().map(move |problem| (order, problem)))
        .chain(seeds.map(|(seed, problem)| (Order::Seeded(seed), problem)));
    let round = |(order, problem): (Order, usize)| {
        // What loops without end takes many times the instructions of the kernel.
        let step_limit = 8 * subject.problems[problem].steps + 100_000;
        let options = Options { order, step_limit, ..Options::default() };
        Round { problem, options, passes: OnceLock::new() }
    };
    rounds.map(round).collect()
}

impl Round {
    /// Whether such mutants may need it: which data a kernel works on does not depend on moments.
    fn suits(&self, kind: Kind) -> bool {
        use Kind::{Coordinate, Descriptor, KStep, Stride, Transpose};
        let of_data = matches!(kind, Coordinate | Descriptor | KStep | Stride | Transpose);
        !(of_data && matches!(self.options.order, Order::Seeded(_)))
    }
}

/// Runs a mutant in every round until one notices it.
pub fn judge(subject: &Subject, mutant: &Mutant<'_>, rounds: &[Round]) -> Outcome {
    let why = equivalence(subject.ptx, mutant);
    let run = || first_wrong(subject, mutant, rounds);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(None) => match why {
            Some(why) => Outcome::Equivalent { why },
            None => Outcome::Survived,
        },
        Ok(Some((by, round, message))) => match (why, passes(subject, &rounds[round])) {
            (_, Err(message)) => Outcome::Crashed { message },
            (Some(why), Ok(())) => Outcome::Listed { why, by, message },
            (None, Ok(())) => Outcome::Caught { by, round, message },
        },
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let message = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Outcome::Crashed { message: message.unwrap_or_default() }
        }
    }
}

/// Whether the kernel as it is passes a round.
fn passes(subject: &Subject, round: &Round) -> Result<(), String> {
    let run = || match subject.run(subject.ptx, round) {
        Ok(()) => Ok(()),
        Err(Wrong::Error(error)) => Err(format!("the kernel as it is: {error}")),
        Err(Wrong::Output { .. }) => Err("the kernel as it is: another output".to_owned()),
    };
    round.passes.get_or_init(run).clone()
}

/// The first check that notices the mutant, the round, and what it says.
fn first_wrong(
    subject: &Subject,
    mutant: &Mutant<'_>,
    rounds: &[Round],
) -> Option<(&'static str, usize, String)> {
    let program = subject.compile(&mutant.ptx()).unwrap();
    let suiting = rounds.iter().enumerate().filter(|(_, round)| round.suits(mutant.kind));
    suiting.into_iter().find_map(|(number, round)| {
        match subject.problems[round.problem].run(&program, &round.options).err()? {
            Wrong::Error(error) => Some((check(&error), number, error.to_string())),
            Wrong::Output { address, byte } => {
                Some((OUTPUT, number, format!("byte {byte} of the memory at {address:#x} differs")))
            }
        }
    })
}
