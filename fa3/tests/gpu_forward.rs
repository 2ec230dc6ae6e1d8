//! The shared case list on the GPU: one test a case.
//!
//! A case that the kernels take is run twice, must give the same bits both times, leave the memory
//! around its outputs alone, and be within the accuracy that the case allows. Any other must be
//! refused, by type, when it is planned. `--list` prints the tests on any machine; running one
//! fails where there is no GPU.

#[path = "common/alike.rs"]
mod alike;
#[path = "common/run.rs"]
mod run;
#[path = "common/taken.rs"]
mod taken;

use std::process::ExitCode;
use std::sync::OnceLock;

use fa3::testing::{Case, Report, Set, cases};
use fa3::{Device, Error};
use libtest_mimic::{Arguments, Failed, Trial};

/// The bound on the root mean square error of f16 on the FlashAttention-3 paper's distribution.
const PAPER_RMSE: f64 = 1e-4;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let full = cases(Set::Full).into_iter().map(|case| trial("case", case, |case| check(&case)));
    let paper = cases(Set::Paper).into_iter().map(|case| trial("paper", case, |case| check_paper(&case)));
    libtest_mimic::run(&arguments, full.chain(paper).collect()).exit_code()
}

fn trial(kind: &str, case: Case, test: impl Fn(Case) -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(format!("{kind}: {case}"), move || test(case))
}

/// The GPU, opened by the first test that runs.
fn device() -> Result<Device, Failed> {
    static DEVICE: OnceLock<Result<Device, Error>> = OnceLock::new();
    Ok(DEVICE.get_or_init(|| Device::cuda(0)).clone()?)
}

fn check(case: &Case) -> Result<(), Failed> {
    let device = device()?;
    if taken::plan(&device.target(), case)?.is_some() {
        twice(&device, case)?;
    }
    Ok(())
}

fn twice(device: &Device, case: &Case) -> Result<Report, Failed> {
    let report = alike::alike(device, std::slice::from_ref(device), case);
    Ok(report.map_err(|error| error.to_string())?)
}

#[expect(clippy::print_stdout, reason = "the figure is of interest even where the bound holds")]
fn check_paper(case: &Case) -> Result<(), Failed> {
    let report = twice(&device()?, case)?;
    println!("d{}: RMSE {:.3e}", case.d, report.rmse);
    if report.rmse <= PAPER_RMSE {
        return Ok(());
    }
    Err(format!("RMSE {:e} exceeds {PAPER_RMSE:e}; the case is: {case}", report.rmse).into())
}
