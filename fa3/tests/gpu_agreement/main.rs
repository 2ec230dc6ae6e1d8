//! The emulator and the card, side by side: one test a kernel.
//!
//! Every case of the shared list that the kernel takes runs on both. O and the LSE are compared bit by
//! bit; a line a kernel says how many are equal and how far the others are apart. A difference beyond
//! what the two arithmetics allow ([`bound`]) is a failure, and so are too few equal elements. Of NaN
//! nothing is to be said: cases with such neighbours are left to the other suites. `--list` prints the
//! tests on any machine; running one fails where there is no GPU.

#![allow(clippy::print_stdout, reason = "the figures are what this is run for")]

mod bound;
mod difference;
#[path = "../common/run.rs"]
mod run;

use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

use fa3::fa3_emu::{Checks, Options};
use fa3::testing::{Case, Distribution, Outputs, Set, cases};
use fa3::{Device, Error, Execution, Plan, Target};
use libtest_mimic::{Arguments, Failed, Trial};

use bound::Allowed;
use difference::{F32, Format, Tally};

/// The least part of O that is equal. The f32 values before the last rounding differ by some millionths
/// where the tensor core truncates, and by a unit of a weight where one was rounded to its neighbour, one
/// weight in a thousand; the last rounding of bf16 and f16 hides nearly all of that.
const LEAST_EQUAL: f64 = 0.95;

/// What was compared so far, of all kernels.
static TOTAL: Mutex<Tally> = Mutex::new(Tally::NOTHING);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let symbols = fa3_kernels::forward_kernels().map(fa3_kernels::ForwardKernel::symbol);
    let trials = symbols.map(|symbol| Trial::test(symbol.clone(), move || check(&symbol)));
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let total = *TOTAL.lock().unwrap_or_else(PoisonError::into_inner);
    if total.cases > 0 {
        println!("all kernels: {total}");
    }
    conclusion.exit_code()
}

/// The GPU, opened by the first test that runs.
fn card() -> Result<Device, Failed> {
    static DEVICE: OnceLock<Result<Device, Error>> = OnceLock::new();
    Ok(DEVICE.get_or_init(|| Device::cuda(0)).clone()?)
}

fn check(symbol: &str) -> Result<(), Failed> {
    let card = card()?;
    let Target::Cuda(target) = card.target() else { return Err("cuda:0 is no CUDA device".into()) };
    // Checks change no bit, and every one of these cases, or a smaller one like it, runs with all elsewhere.
    let threads = std::thread::available_parallelism()?.get();
    let options = Options { checks: Checks::NONE, threads, ..Options::default() };
    let emulated = Device::emulated(target, options)?;
    let (mut tally, mut failure) = (Tally::NOTHING, None);
    let numbers = |case: &Case| case.distribution != Distribution::NanNeighbours;
    for case in cases(Set::Full).into_iter().filter(numbers) {
        let plan = Plan::forward(&card.target(), &case.problem()).ok();
        let launches = |plan: &Plan| match plan.execution() {
            Execution::Gpu(gpu) => gpu.forward.kernel.symbol == symbol,
            _ => false,
        };
        if plan.as_ref().is_some_and(launches) {
            let compared = compare(&card, &emulated, &case, &mut tally);
            let failed = compared.err().map(|why| format!("{why}; the case is: {case}"));
            failure = failure.or(failed);
        }
    }
    if tally.cases == 0 {
        return Err("no case of the list runs it".into());
    }
    println!("{symbol}: {tally}");
    *TOTAL.lock().unwrap_or_else(PoisonError::into_inner) += tally;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    if tally.o.equal() < LEAST_EQUAL {
        return Err(format!("less than {:.0} % of O is equal", 100.0 * LEAST_EQUAL).into());
    }
    Ok(())
}

/// Adds one case's differences.
fn compare(card: &Device, emulated: &Device, case: &Case, tally: &mut Tally) -> Result<(), run::Failed> {
    let inputs = case.inputs();
    let (one, other) = (run::once(card, case, &inputs)?, run::once(emulated, case, &inputs)?);
    case.check(&inputs, &one)?;
    case.check(&inputs, &other)?;
    let allowed = Allowed::of(case, &inputs)?;
    tally.cases += 1;
    let (format, o) = (Format::of(case.dtype), [one.o.values(), other.o.values()]);
    let compared = tally.o.compare(format, &o[0], &o[1], |at| allowed.o(at));
    compared.map_err(|why| format!("O: {why}"))?;
    let lse = |outputs: &Outputs| -> Option<Vec<f64>> {
        let rows = case.batch * case.heads_q * case.sq;
        let lse = outputs.lse.as_ref()?.get(Outputs::LSE_FIRST..Outputs::LSE_FIRST + rows)?;
        Some(lse.iter().map(|&value| value.into()).collect())
    };
    if let (Some(one), Some(other)) = (lse(&one), lse(&other)) {
        let compared = tally.lse.compare(F32, &one, &other, |at| allowed.lse(at));
        compared.map_err(|why| format!("LSE: {why}"))?;
    }
    Ok(())
}
