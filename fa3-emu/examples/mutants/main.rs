//! Runs every mutant of every kernel of ours and prints which check notices how many of each kind,
//! as a Markdown table. Fails if one survives that is not known to change nothing.
//!
//! `cargo run --release -p fa3-emu --example mutants -- [--kernel TEXT] [--kind KIND] [--each N]
//! [--seed N] [--threads N] [--verbose]`

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal, which ends where something fails"
)]

#[path = "../../tests/mutations/harness/mod.rs"]
mod harness;
mod table;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fa3_emu::mutation::Kind;
use harness::{Outcome, Subject, attending, copying, judge, rounds, sample};
use table::Table;

/// The share of mutants that may change nothing.
const MOST_EQUIVALENT: f64 = 0.05;

/// What to run.
struct Arguments {
    /// Kernels whose name contains this.
    kernel: String,
    kind: Option<Kind>,
    /// At most so many mutants of each kind of each kernel, drawn by the seed.
    each: usize,
    seed: u64,
    threads: usize,
    /// Say what became of every mutant.
    verbose: bool,
}

fn arguments() -> Result<Arguments, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found =
        Arguments { kernel: String::new(), kind: None, each: usize::MAX, seed: 0, threads, verbose: false };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        if name == "--verbose" {
            found.verbose = true;
            continue;
        }
        let value = given.next().ok_or_else(|| format!("{name} has no value"))?;
        let wrong = |error: &dyn std::fmt::Display| format!("{name} = {value}: {error}");
        match name.as_str() {
            "--kernel" => found.kernel = value,
            "--kind" => found.kind = Some(value.parse().map_err(|error| wrong(&error))?),
            "--each" => found.each = value.parse().map_err(|error| wrong(&error))?,
            "--seed" => found.seed = value.parse().map_err(|error| wrong(&error))?,
            "--threads" => found.threads = value.parse().map_err(|error| wrong(&error))?,
            _ => {
                return Err(format!(
                    "{name} is not an option; there are --kernel, --kind, --each, --seed, --threads and --verbose"
                ));
            }
        }
    }
    Ok(found)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let begin = Instant::now();
    let mut table = Table::default();
    let mut failures = Vec::new();
    let subjects = attending(|kernel| kernel.symbol().contains(&arguments.kernel)).chain(copying());
    for subject in subjects.filter(|subject| subject.name.contains(&arguments.kernel)) {
        let begin = Instant::now();
        let before = table.total();
        run(&subject, &arguments, &mut table, &mut failures);
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!("{}: {} mutants, {seconds:.1} s", subject.name, table.total() - before);
    }
    let whole = arguments.kernel.is_empty() && arguments.kind.is_none();
    if whole && table.equivalent() > MOST_EQUIVALENT {
        failures.push(format!("{:.1} % of the mutants change nothing", 100.0 * table.equivalent()));
    }
    println!("{table}");
    println!(
        "{} mutants in {:.0} s; {} failures",
        table.total(),
        begin.elapsed().as_secs_f64(),
        failures.len()
    );
    for failure in &failures {
        println!("{failure}");
    }
    if failures.is_empty() && table.total() > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a kernel's mutants on all threads.
fn run(subject: &Subject, arguments: &Arguments, table: &mut Table, failures: &mut Vec<String>) {
    let rounds = rounds(subject);
    let mut mutants = sample(subject.mutants(), arguments.each, arguments.seed);
    mutants.retain(|mutant| arguments.kind.is_none_or(|kind| mutant.kind == kind));
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| {
                while let Some((index, mutant)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    mutants.get(index).map(|mutant| (index, mutant))
                } {
                    let outcome = judge(subject, mutant, &rounds);
                    outcomes.lock().unwrap().push((index, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by_key(|(index, _)| *index);
    for (index, outcome) in outcomes {
        let mutant = &mutants[index];
        if arguments.verbose {
            println!("{}: {mutant}\n  {}", subject.name, said(&outcome, &rounds));
        }
        table.add(mutant.kind, &outcome);
        failures.extend(outcome.failure().map(|failure| format!("{}: {mutant}\n  {failure}", subject.name)));
    }
}

fn said(outcome: &Outcome, rounds: &[harness::Round]) -> String {
    match outcome {
        Outcome::Caught { by, round, message } => {
            let harness::Round { problem, options, .. } = &rounds[*round];
            format!("{by}, problem {problem}, order {}: {message}", options.order)
        }
        Outcome::Equivalent { why } => format!("equivalent: {why}"),
        other => other.failure().unwrap_or_default(),
    }
}
