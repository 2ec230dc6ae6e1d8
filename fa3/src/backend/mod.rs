//! What executes plans: CUDA, the CPU, an emulated GPU, and a recording mock.

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "emu")]
mod emu;
mod host;
mod mock;

use core::fmt;
use std::sync::Arc;

use fa3_kernels::{ForwardParams, MergeParams, ScheduleParams};
use fa3_sys::TensorMap;

use crate::{
    AnyPlan, Error, KernelPlan, MapSlot, MergeOperands, MergePlan, Operands, Place, Plan, Pointer, Result,
    Target,
};

#[cfg(feature = "cpu")]
pub use cpu::{CpuBackend, Progress};
#[cfg(feature = "cuda")]
pub use cuda::CudaBackend;
#[cfg(feature = "emu")]
pub use emu::EmuBackend;
pub use mock::{Call, MockBackend, RecordedLaunch, RecordedParams};

/// A stream of the backend, as the number that its own API uses: a `CUstream` for CUDA. The CPU,
/// the emulator and the mock complete each call before they return, and ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StreamHandle(u64);

impl StreamHandle {
    /// The backend's default stream: CUDA's legacy one.
    pub const DEFAULT: Self = Self(0);

    /// The stream with this raw handle: a `CUstream` as a number.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// The raw handle.
    pub const fn raw(self) -> u64 {
        self.0
    }
}

/// A kernel that a backend has loaded, by [`Backend::prepare`]. Means nothing to another backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelHandle(pub u64);

/// One launch, complete with addresses.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Launch<'a> {
    /// A kernel.
    Kernel(KernelLaunch<'a>),
    /// The CPU's own attention.
    Cpu(CpuLaunch<'a>),
    /// The CPU's own merge.
    CpuMerge(CpuMerge<'a>),
}

/// A kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct KernelLaunch<'a> {
    /// The kernel, prepared by the same backend.
    pub kernel: KernelHandle,
    /// Grid, block, shared memory and name.
    pub shape: &'a KernelPlan,
    /// The kernel's parameters, in order.
    pub arguments: &'a [Argument<'a>],
    /// The plan that this belongs to, named should the launch fail.
    pub plan: &'a AnyPlan,
}

/// A parameter of a kernel, passed by value.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Argument<'a> {
    /// A tensor map.
    Map(&'a TensorMap),
    /// The parameter block of the forward kernels.
    Forward(&'a ForwardParams),
    /// The parameter block of the kernel that lists tiles.
    Schedule(&'a ScheduleParams),
    /// The parameter block of the merging kernel.
    Merge(&'a MergeParams),
}

/// A computation on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuLaunch<'a> {
    /// What to compute and how.
    pub plan: &'a Arc<Plan>,
    /// On what.
    pub operands: &'a Operands,
}

/// A merge on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuMerge<'a> {
    /// What to compute.
    pub plan: &'a Arc<MergePlan>,
    /// On what.
    pub operands: &'a MergeOperands,
}

/// Memory, streams and launches of one device.
///
/// Implementations are shared between threads. Calls with a stream are ordered on it.
pub trait Backend: fmt::Debug + Send + Sync {
    /// A short name: `cuda`.
    fn name(&self) -> &'static str;

    /// The memory that this backend's pointers point into.
    fn place(&self) -> Place;

    /// What plans for this backend are made for.
    fn target(&self) -> Target;

    /// Allocates memory, aligned to 256 bytes at least, its contents undefined. An allocation of
    /// no bytes succeeds; its pointer must be freed like any other.
    ///
    /// # Errors
    /// [`Error::Allocation`] when there is not enough.
    fn allocate(&self, bytes: usize) -> Result<Pointer>;

    /// Frees an allocation.
    ///
    /// # Safety
    /// `pointer` came from [`allocate`](Self::allocate) of this backend, is freed once, and
    /// nothing that runs now or later uses it.
    ///
    /// # Errors
    /// What the backend reports, an earlier fault included.
    unsafe fn free(&self, pointer: Pointer) -> Result<()>;

    /// Copies host bytes to the device. Returns once `from` may be changed.
    ///
    /// # Safety
    /// `to` addresses `from.len()` bytes of this backend's memory, which nothing else uses until
    /// the stream has done the copy; `stream` is a live stream of the backend.
    ///
    /// # Errors
    /// What the backend reports.
    unsafe fn upload(&self, to: Pointer, from: &[u8], stream: StreamHandle) -> Result<()>;

    /// Copies device bytes to the host. Returns once they are there.
    ///
    /// # Safety
    /// `from` addresses `to.len()` initialised bytes of this backend's memory, which nothing
    /// writes meanwhile; `stream` is a live stream of the backend.
    ///
    /// # Errors
    /// What the backend reports, a fault of earlier work on the stream included.
    unsafe fn download(&self, to: &mut [u8], from: Pointer, stream: StreamHandle) -> Result<()>;

    /// Copies `bytes` bytes within the device.
    ///
    /// # Safety
    /// Both address `bytes` bytes of this backend's memory, which do not overlap, stay allocated
    /// and are not otherwise used until the stream has done the copy; `stream` is live.
    ///
    /// # Errors
    /// What the backend reports.
    unsafe fn copy(&self, to: Pointer, from: Pointer, bytes: usize, stream: StreamHandle) -> Result<()>;

    /// Sets `bytes` bytes to `value`.
    ///
    /// # Safety
    /// As [`upload`](Self::upload).
    ///
    /// # Errors
    /// What the backend reports.
    unsafe fn fill(&self, to: Pointer, value: u8, bytes: usize, stream: StreamHandle) -> Result<()>;

    /// Loads the kernel of a plan, or finds it loaded. Not to be called while a graph is captured.
    ///
    /// # Errors
    /// [`Error::Kernel`] when it is not embedded in this build, [`Error::Backend`] when the
    /// backend runs no kernels or the plan asks for what the loaded kernel cannot give.
    fn prepare(&self, kernel: &KernelPlan) -> Result<KernelHandle>;

    /// Encodes the tensor map of a slot, at `address`.
    ///
    /// # Errors
    /// [`Error::TensorMap`] when the address breaks a rule, or what the driver reports.
    fn encode(&self, slot: &MapSlot, address: Pointer) -> Result<TensorMap>;

    /// Starts a launch: allocates nothing, synchronises nothing, may be captured in a graph.
    ///
    /// # Safety
    /// The addresses among the arguments are right for the kernel, stay allocated and are not
    /// otherwise written (nor outputs read) until the stream has done it; `stream` is live.
    ///
    /// # Errors
    /// What the backend reports, a fault of earlier work included.
    unsafe fn launch(&self, launch: &Launch<'_>, stream: StreamHandle) -> Result<()>;

    /// Waits until all that was submitted to the stream is done.
    ///
    /// # Safety
    /// `stream` is a live stream of the backend.
    ///
    /// # Errors
    /// What the backend reports: a fault comes with the plans that ran last.
    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<()>;
}

/// The error for a pointer that belongs elsewhere, in the backends' own copies.
fn expect_place(pointer: Pointer, expected: Place, name: &'static str) -> Result<()> {
    if pointer.place == expected {
        return Ok(());
    }
    Err(Error::Backend {
        backend: name,
        request: format!("use an address in {}", pointer.place),
        remedy: "pass addresses of its own memory",
    })
}
