//! This machine's processor.

use core::fmt;
use std::sync::Arc;

use fa3_sys::TensorMap;

use super::host::{self, HostMemory};
use super::{Backend, KernelHandle, Launch, StreamHandle};
use crate::{CpuTarget, Error, KernelPlan, MapSlot, Place, Pointer, Result, Target};

/// The CPU. Every call is complete when it returns; streams are ignored.
pub struct CpuBackend {
    memory: HostMemory,
    /// `None` is the process's global pool.
    pool: Option<rayon::ThreadPool>,
    progress: Option<Progress>,
}

/// Told how many work items are done, of how many: by any thread, in any order.
pub type Progress = Arc<dyn Fn(usize, usize) + Send + Sync>;

const NAME: &str = "cpu";

impl CpuBackend {
    /// On the process's global pool of threads.
    pub fn new() -> Self {
        Self { memory: HostMemory::new(Place::Host, NAME), pool: None, progress: None }
    }

    /// On `threads` threads of its own.
    ///
    /// # Errors
    /// [`Error::Argument`] when the system does not give that many, or none are asked for.
    pub fn with_threads(threads: usize) -> Result<Self> {
        let refused = |rule: String| Error::argument("threads", threads, rule, "ask for fewer");
        if threads == 0 {
            return Err(Error::argument("threads", threads, "something must compute", "ask for at least 1"));
        }
        let most = rayon::max_num_threads();
        if threads > most {
            return Err(refused(format!("a pool has at most {most}")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| refused(format!("the system says: {error}")))?;
        Ok(Self { pool: Some(pool), ..Self::new() })
    }

    /// Calls `progress` whenever a block of rows is done.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    fn threads(&self) -> usize {
        self.pool.as_ref().map_or_else(rayon::current_num_threads, rayon::ThreadPool::current_num_threads)
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuBackend").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// What a backend without kernels says of them.
fn no_kernels(request: &str) -> Error {
    Error::Backend {
        backend: NAME,
        request: request.to_owned(),
        remedy: "plan for the CPU, or bind on a CUDA backend",
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        Place::Host
    }

    fn target(&self) -> Target {
        Target::Cpu(CpuTarget { threads: self.threads() })
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        self.memory.allocate(bytes)
    }

    unsafe fn free(&self, pointer: Pointer) -> Result<()> {
        self.memory.free(pointer)
    }

    unsafe fn upload(&self, to: Pointer, from: &[u8], _: StreamHandle) -> Result<()> {
        super::expect_place(to, Place::Host, NAME)?;
        // SAFETY: the caller's promises.
        unsafe { host::upload(to, from) };
        Ok(())
    }

    unsafe fn download(&self, to: &mut [u8], from: Pointer, _: StreamHandle) -> Result<()> {
        super::expect_place(from, Place::Host, NAME)?;
        // SAFETY: the caller's promises.
        unsafe { host::download(to, from) };
        Ok(())
    }

    unsafe fn copy(&self, to: Pointer, from: Pointer, bytes: usize, _: StreamHandle) -> Result<()> {
        super::expect_place(to, Place::Host, NAME)?;
        super::expect_place(from, Place::Host, NAME)?;
        // SAFETY: the caller's promises.
        unsafe { host::copy(to, from, bytes) };
        Ok(())
    }

    unsafe fn fill(&self, to: Pointer, value: u8, bytes: usize, _: StreamHandle) -> Result<()> {
        super::expect_place(to, Place::Host, NAME)?;
        // SAFETY: the caller's promises.
        unsafe { host::fill(to, value, bytes) };
        Ok(())
    }

    fn prepare(&self, kernel: &KernelPlan) -> Result<KernelHandle> {
        Err(no_kernels(&format!("load kernel `{}`", kernel.symbol)))
    }

    fn encode(&self, slot: &MapSlot, _: Pointer) -> Result<TensorMap> {
        Err(no_kernels(&format!("encode the tensor map of {}", slot.operand)))
    }

    unsafe fn launch(&self, launch: &Launch<'_>, _: StreamHandle) -> Result<()> {
        let progress = self.progress.as_deref().map(|progress| progress as &(dyn Fn(usize, usize) + Sync));
        let compute = || match launch {
            // SAFETY: the operands were checked against the plan's problem when they were bound
            // (types, layouts, place, alignment, presence, overlap); the caller answers for the
            // memory behind them.
            Launch::Cpu(launch) => unsafe {
                crate::cpu::forward(launch.plan.problem(), launch.operands, progress)
            },
            // SAFETY: as above.
            Launch::CpuMerge(launch) => unsafe { crate::cpu::merge(launch.plan.problem(), launch.operands) },
            Launch::Kernel(kernel) => Err(no_kernels(&format!("launch `{}`", kernel.shape.symbol))),
        };
        match &self.pool {
            Some(pool) => pool.install(compute),
            None => compute(),
        }
    }

    unsafe fn synchronize(&self, _: StreamHandle) -> Result<()> {
        Ok(())
    }
}
