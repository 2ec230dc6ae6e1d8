//! Devices by name, and the choice of one.

use core::fmt;
use std::sync::Arc;

use crate::{Backend, Error, Execution, Plan, Problem, Result, Target};

/// A device that is open: a backend, and what a person calls it. Clones share the backend.
#[derive(Clone, Debug)]
pub struct Device {
    backend: Arc<dyn Backend>,
    description: String,
}

impl Device {
    /// A backend of the caller's: the mock, or one with a context or a number of threads of its
    /// own.
    pub fn new(backend: Arc<dyn Backend>, description: impl Into<String>) -> Self {
        Self { backend, description: description.into() }
    }

    /// The CUDA device of this ordinal.
    ///
    /// # Errors
    /// [`Error::Driver`] where there is no driver, no such device, or one without kernels.
    #[cfg(feature = "cuda")]
    pub fn cuda(ordinal: u32) -> Result<Self> {
        let backend = crate::CudaBackend::open(ordinal)?;
        let description = format!("cuda:{ordinal} ({})", backend.context().device().name);
        Ok(Self::new(Arc::new(backend), description))
    }

    /// This machine's processor, all of its threads.
    #[cfg(feature = "cpu")]
    pub fn cpu() -> Self {
        let backend = crate::CpuBackend::new();
        let description = backend.target().to_string();
        Self::new(Arc::new(backend), description)
    }

    /// An emulated GPU like `target`, whose kernels run with these options. Few SMs make kernels
    /// persist over several tiles.
    ///
    /// ```
    /// use fa3::fa3_emu::{Options, Order};
    /// use fa3::{CudaTarget, Device};
    /// let options = Options { order: Order::Seeded(7), ..Options::default() };
    /// match Device::emulated(CudaTarget { sms: 2, ..CudaTarget::H200 }, options) {
    ///     Ok(device) => assert_eq!(device.to_string(), "emu:sm_90a (2 SMs, seed:7 delivery, checks: all)"),
    ///     Err(error) => assert!(error.to_string().contains("cargo xtask cubins")),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Kernel`] when no kernel for it is embedded in this build, [`Error::Backend`] when
    /// there is none at all; [`Error::Argument`] for no thread, or more
    /// than [`MAX_THREADS`](fa3_emu::Options::MAX_THREADS).
    #[cfg(feature = "emu")]
    pub fn emulated(target: crate::CudaTarget, options: fa3_emu::Options) -> Result<Self> {
        let crate::CudaTarget { arch, sms, .. } = target;
        any_kernel("emu", arch)?;
        let fa3_emu::Options { order, checks, threads, .. } = options;
        if !(1..=fa3_emu::Options::MAX_THREADS).contains(&threads) {
            let rule = "so many threads run no kernels";
            return Err(Error::argument("options.threads", threads, rule, "ask for 1 to 1024"));
        }
        let description = format!("emu:{arch} ({sms} SMs, {order} delivery, checks: {checks})");
        Ok(Self::new(Arc::new(crate::EmuBackend::new(target, options)), description))
    }

    /// The first GPU that there are kernels for, else the CPU.
    ///
    /// # Errors
    /// Why the last candidate was rejected, in a build without the CPU backend.
    pub fn best() -> Result<Choice> {
        choose(|device| match device.target() {
            Target::Cuda(cuda) => any_kernel("cuda", cuda.arch),
            Target::Cpu(_) => Ok(()),
        })
    }

    /// The first GPU that computes `problem`, else the CPU.
    ///
    /// ```
    /// # #[cfg(feature = "cpu")] {
    /// use fa3::{DType, Device, Options, Problem, Sizes};
    /// let problem = Problem::dense(DType::F32, Sizes::new(1, 16, 2, 8), Options::default());
    /// let choice = Device::best_for(&problem)?;
    /// println!("{choice}"); // no kernel multiplies f32: the CPU, and why
    /// assert!(matches!(choice.device.target(), fa3::Target::Cpu(_)));
    /// # }
    /// # Ok::<(), fa3::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for a malformed problem; why the last candidate was rejected, in a build
    /// without the CPU backend.
    pub fn best_for(problem: &Problem) -> Result<Choice> {
        problem.dims()?;
        choose(|device| {
            let plan = Plan::forward(&device.target(), problem)?;
            match plan.execution() {
                Execution::Gpu(gpu) => {
                    gpu.kernels().try_for_each(|kernel| device.backend.prepare(kernel).map(drop))
                }
                Execution::Cpu(_) | Execution::Nothing => Ok(()),
            }
        })
    }

    /// What executes plans on it.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// What plans for it are made for.
    pub fn target(&self) -> Target {
        self.backend.target()
    }

    /// Plans the forward pass of `problem` on this device.
    ///
    /// # Errors
    /// Those of [`Plan::forward`].
    pub fn plan(&self, problem: &Problem) -> Result<Arc<Plan>> {
        Plan::forward(&self.target(), problem).map(Arc::new)
    }

    /// Waits for all that the conveniences of this crate have started on the device.
    ///
    /// # Errors
    /// [`Error::Fault`] with the plans that ran last when one of them failed; else what the
    /// backend reports.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the default stream lives as long as the device.
        unsafe { self.backend.synchronize(crate::StreamHandle::DEFAULT) }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

/// A chosen device, and why none before it would do. Prints both.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The device.
    pub device: Device,
    /// The candidates that were tried before it, and what was wrong with each.
    pub rejected: Vec<Rejected>,
}

/// A device that was not chosen.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The device: `cuda:0 (NVIDIA H200)`.
    pub candidate: String,
    /// Why.
    pub reason: Error,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.device)?;
        match self.device.target() {
            Target::Cuda(_) if self.rejected.is_empty() => {
                f.write_str(": the first GPU with kernels for this")?
            }
            Target::Cuda(_) => f.write_str(": the first GPU with kernels for this, after")?,
            Target::Cpu(_) => f.write_str(", because")?,
        }
        for Rejected { candidate, reason } in &self.rejected {
            write!(f, "\n  {candidate}: {reason}")?;
        }
        Ok(())
    }
}

/// The first GPU that `accept` takes, else the CPU.
fn choose(accept: impl Fn(&Device) -> Result<()>) -> Result<Choice> {
    let mut rejected = Vec::new();
    for (candidate, opened) in gpus() {
        match opened.and_then(|device| accept(&device).map(|()| device)) {
            Ok(device) => return Ok(Choice { device, rejected }),
            Err(reason) => rejected.push(Rejected { candidate, reason }),
        }
    }
    without_gpu(rejected)
}

#[cfg(feature = "cpu")]
fn without_gpu(rejected: Vec<Rejected>) -> Result<Choice> {
    Ok(Choice { device: Device::cpu(), rejected })
}

#[cfg(not(feature = "cpu"))]
fn without_gpu(rejected: Vec<Rejected>) -> Result<Choice> {
    Err(rejected.into_iter().next_back().map_or(
        Error::Backend {
            backend: "none",
            request: "choose a device".to_owned(),
            remedy: "build with feature `cuda` or `cpu`",
        },
        |rejected| rejected.reason,
    ))
}

/// Every GPU, opened or why not; one entry for all of them where there is no driver.
#[cfg(feature = "cuda")]
fn gpus() -> Vec<(String, Result<Device>)> {
    let driver = match fa3_sys::driver::probe() {
        Ok(driver) => driver,
        Err(error) => return vec![("cuda".to_owned(), Err(error.into()))],
    };
    let device = |ordinal| {
        let opened = Device::cuda(ordinal);
        let name = opened.as_ref().map_or_else(|_| format!("cuda:{ordinal}"), Device::to_string);
        (name, opened)
    };
    (0..driver.device_count()).map(device).collect()
}

#[cfg(not(feature = "cuda"))]
fn gpus() -> Vec<(String, Result<Device>)> {
    let error = Error::Backend {
        backend: "cuda",
        request: "open a device".to_owned(),
        remedy: "build with feature `cuda`",
    };
    vec![("cuda".to_owned(), Err(error))]
}

/// Whether a kernel for this architecture is embedded in this build.
fn any_kernel(backend: &'static str, arch: fa3_sys::Arch) -> Result<()> {
    if fa3_kernels::entries().iter().any(|entry| entry.arch == arch) {
        return Ok(());
    }
    match fa3_kernels::missing().iter().find(|missing| missing.arch == arch) {
        Some(missing) => Err(fa3_kernels::EntryError::from(*missing).into()),
        None => Err(Error::Backend { backend, request: format!("run on {arch}"), remedy: "use sm_90a" }),
    }
}
