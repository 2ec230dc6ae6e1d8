//! The device that a job runs on.

use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;
#[cfg(feature = "emu")]
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use fa3::{Backend, CpuBackend, Device, DeviceName, Place, Target};
#[cfg(feature = "emu")]
use fa3::{CudaTarget, fa3_emu::Options};
#[cfg(feature = "emu")]
use fa3_sys::Arch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Arguments;
use crate::input::InputError;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Which device is asked for.
#[derive(Clone, Copy, Debug)]
pub enum DeviceChoice {
    /// The first GPU that computes the problem, else the CPU.
    Auto,
    /// This one.
    Named(DeviceName),
}

impl FromStr for DeviceChoice {
    type Err = fa3::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Named) }
    }
}

/// Opens the device, and says which and why.
pub fn choose(problem: &fa3::Problem, arguments: &Arguments, bar: &ProgressBar) -> Outcome<Device> {
    let cpu = || cpu_with_progress(arguments.threads, bar);
    let (device, why) = match arguments.device {
        DeviceChoice::Auto => {
            let mut choice = Device::best_for(problem)?;
            if matches!(choice.device.target(), Target::Cpu(_)) {
                choice.device = cpu()?;
            }
            let why = choice.to_string();
            (choice.device, why)
        }
        DeviceChoice::Named(name) => {
            let device = match name {
                DeviceName::Cpu => cpu()?,
                #[cfg(feature = "emu")]
                DeviceName::Emulated(arch) => emulated(arch, arguments)?,
                _ => name.open()?,
            };
            let why = format!("{device}: asked for");
            (device, why)
        }
    };
    check_options(&device, arguments)?;
    println!("device    {why}");
    Ok(device)
}

/// Whether the device has the options that are given.
fn check_options(device: &Device, arguments: &Arguments) -> Result<(), InputError> {
    let place = device.backend().place();
    let refused = |option: String, of, remedy| {
        Err(InputError::Device { option, of, device: device.to_string(), remedy })
    };
    if let (Some(threads), Place::Cuda(_)) = (arguments.threads, place) {
        return refused(format!("--threads {threads}"), "the CPU", "cpu");
    }
    #[cfg(feature = "emu")]
    if !matches!(place, Place::Emulated(_)) {
        let (of, remedy) = ("an emulated GPU", "emu:sm_90a");
        if let Some(order) = arguments.order {
            return refused(format!("--order {order}"), of, remedy);
        }
        if let Some(checks) = arguments.checks {
            return refused(format!("--checks {checks}"), of, remedy);
        }
    }
    Ok(())
}

/// A GPU as large as an H200, emulated as the arguments say.
#[cfg(feature = "emu")]
fn emulated(arch: Arch, arguments: &Arguments) -> fa3::Result<Device> {
    let all = || available_parallelism().map_or(1, usize::from).min(Options::MAX_THREADS);
    let options = Options {
        order: arguments.order.unwrap_or_default(),
        checks: arguments.checks.unwrap_or_default(),
        threads: arguments.threads.unwrap_or_else(all),
        ..Options::default()
    };
    Device::emulated(CudaTarget { arch, ..CudaTarget::H200 }, options)
}

/// The CPU, with a progress bar once it has taken a while.
fn cpu_with_progress(threads: Option<usize>, bar: &ProgressBar) -> Outcome<Device> {
    /// Shorter jobs show no bar.
    const PATIENCE: Duration = Duration::from_millis(700);
    let style = ProgressStyle::with_template("{wide_bar} {percent}% {eta}")?;
    bar.set_style(style);
    let start = Instant::now();
    let shown = bar.clone();
    let progress = move |done: usize, all: usize| {
        if start.elapsed() < PATIENCE {
            return;
        }
        if shown.is_hidden() && done < all {
            shown.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
        shown.set_length(all as u64);
        shown.set_position(done as u64);
    };
    let backend = threads.map_or_else(|| Ok(CpuBackend::new()), CpuBackend::with_threads)?;
    let backend = backend.with_progress(Arc::new(progress));
    let description = backend.target().to_string();
    Ok(Device::new(Arc::new(backend), description))
}
