//! The shared case list on the CPU, through the API: planned, bound and run like on a GPU, and
//! with every option.

#[path = "common/alike.rs"]
mod alike;
#[path = "common/run.rs"]
mod run;

use std::process::ExitCode;

use fa3::testing::{Case, Set, cases};
use fa3::{CpuBackend, Device};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |case: Case| Trial::test(case.to_string(), move || check(&case));
    libtest_mimic::run(&arguments, cases(Set::Small).into_iter().map(trial).collect()).exit_code()
}

fn check(case: &Case) -> Result<(), Failed> {
    let backend = CpuBackend::with_threads(2)?;
    let device = Device::new(std::sync::Arc::new(backend), "two threads");
    alike::alike(&device, std::slice::from_ref(&device), case).map_err(|error| error.to_string())?;
    Ok(())
}
