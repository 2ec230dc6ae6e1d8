//! The main of a bench that can fail.

use std::fmt::Display;
use std::process::ExitCode;

use criterion::Criterion;
use criterion::measurement::Measurement;

/// Runs the benches as the command line asks for. Says on standard error why they stopped early.
pub fn run<M: Measurement + 'static, E: Display>(
    criterion: Criterion<M>,
    benches: impl FnOnce(&mut Criterion<M>) -> Result<(), E>,
) -> ExitCode {
    let mut criterion = criterion.configure_from_args();
    match benches(&mut criterion) {
        Ok(()) => {
            criterion.final_summary();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
