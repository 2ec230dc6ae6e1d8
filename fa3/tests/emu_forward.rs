//! The shared case list on an emulated GPU: one test a case, every check on.
//!
//! A case that the kernels take is run under each order in which the asynchronous engines may deliver,
//! must give the same bits under all, leave the memory around its outputs alone, and be within the
//! accuracy that the case allows, which is the card's. Any other must be refused, by type, when it is
//! planned.

#[path = "common/alike.rs"]
mod alike;
#[path = "common/emulated.rs"]
mod emulated;
#[path = "common/run.rs"]
mod run;
#[path = "common/taken.rs"]
mod taken;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use fa3::fa3_emu::{Options, Order};
use fa3::testing::{Case, Set, cases};
use fa3::{CudaTarget, Device, Execution, Target};
use libtest_mimic::{Arguments, Failed, Trial};

/// The kernels that have run.
static RAN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trial = |case: Case| Trial::test(case.to_string(), move || check(&case));
    let conclusion = libtest_mimic::run(&arguments, cases(Set::Emulated).into_iter().map(trial).collect());
    let all = !arguments.list && !conclusion.has_failed() && conclusion.num_filtered_out == 0;
    if all && !every_kernel_has_run() {
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

fn check(case: &Case) -> Result<(), Failed> {
    let target = emulated::target(case);
    let Some(plan) = taken::plan(&Target::Cuda(target), case)? else { return Ok(()) };
    let others = [device(target, Order::Lazy, 2)?, device(target, Order::Seeded(case.seed % 4), 1)?];
    alike::alike(&device(target, Order::Eager, 1)?, &others, case).map_err(|error| error.to_string())?;
    if let Execution::Gpu(gpu) = plan.execution() {
        let symbols = gpu.kernels().map(|kernel| kernel.symbol.clone());
        RAN.lock().unwrap_or_else(PoisonError::into_inner).extend(symbols);
    }
    Ok(())
}

/// The device of a number of SMs and an order: cases share it, for it reads each kernel once.
fn device(target: CudaTarget, order: Order, threads: usize) -> Result<Device, fa3::Error> {
    static OPEN: Mutex<BTreeMap<(u32, u64, String), Device>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = (target.sms, target.l2_bytes, order.to_string());
    if let Some(device) = open.get(&name) {
        return Ok(device.clone());
    }
    let device = Device::emulated(target, Options { order, threads, ..Options::default() })?;
    open.insert(name, device.clone());
    Ok(device)
}

#[expect(clippy::print_stderr, reason = "a test program says why it fails")]
fn every_kernel_has_run() -> bool {
    let ran = RAN.lock().unwrap_or_else(PoisonError::into_inner);
    let table = fa3_kernels::forward_kernels().map(fa3_kernels::ForwardKernel::symbol);
    let table = table.chain([fa3_kernels::SCHEDULE_SYMBOL.to_owned()]);
    let left_out: Vec<String> = table.filter(|symbol| !ran.contains(symbol)).collect();
    if !left_out.is_empty() {
        eprintln!("no case has run {}", left_out.join(", "));
    }
    left_out.is_empty()
}
