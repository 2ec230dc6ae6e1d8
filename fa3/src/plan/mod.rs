//! Plans: what a call will do, as data made from shapes and options alone.

mod any;
mod cpu;
mod display;
mod forward;
mod gpu;
pub(crate) mod heuristics;
pub(crate) mod maps;
pub(crate) mod scores;
pub(crate) mod tiling;
pub(crate) mod tuning;
mod work;

use crate::{Dims, Problem, Result, Target};

pub use any::AnyPlan;
pub use cpu::CpuPlan;
pub use gpu::{ForwardPlan, GpuPlan, KernelPlan, SchedulePlan, Tile};
pub use maps::MapSlot;
pub use tuning::{Tuning, Walk};
pub use work::Work;

/// What one call will do. Made from a target, shapes and options alone, without touching a
/// device: printable, comparable, cacheable, and the answer to "which kernel would run".
///
/// ```
/// use fa3::{CudaTarget, DType, Execution, Options, Plan, Problem, Sizes, Target};
/// let problem = Problem::dense(DType::Bf16, Sizes::new(2, 1024, 16, 128), Options::default());
/// let plan = Plan::forward(&Target::Cuda(CudaTarget::H200), &problem)?;
/// let Execution::Gpu(gpu) = plan.execution() else { panic!("a kernel takes this") };
/// assert_eq!(gpu.forward.kernel.symbol, "fa3_fwd_sm90_bf16_d128_m128");
/// assert_eq!(plan.workspace_bytes(), 0);
/// println!("{plan}");
/// # Ok::<(), fa3::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    target: Target,
    problem: Problem,
    dims: Dims,
    work: Work,
    execution: Execution,
}

/// How a plan computes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Execution {
    /// O has no element: nothing runs.
    Nothing,
    /// Kernels of a GPU.
    Gpu(Box<GpuPlan>),
    /// The CPU, in blocks.
    Cpu(CpuPlan),
}

impl Plan {
    /// Plans the forward pass of `problem` on `target`.
    ///
    /// # Errors
    /// As [`support`](crate::support()): [`Error::Argument`](crate::Error::Argument) for a malformed
    /// problem, [`Error::Unsupported`](crate::Error::Unsupported) for one that the target's
    /// kernels do not take.
    pub fn forward(target: &Target, problem: &Problem) -> Result<Self> {
        Self::tuned(target, problem, &Tuning::default())
    }

    /// As [`forward`](Self::forward), with choices of the caller's.
    ///
    /// # Errors
    /// As [`forward`](Self::forward); [`Error::Unsupported`](crate::Error::Unsupported) also for choices
    /// by which the problem cannot be computed.
    pub fn tuned(target: &Target, problem: &Problem, tuning: &Tuning) -> Result<Self> {
        let dims = problem.dims()?;
        crate::support::check(target, problem, &dims, tuning)?;
        let execution = forward::execution(target, problem, &dims, tuning)?;
        Ok(Self { target: *target, problem: *problem, dims, work: Work::forward(problem, &dims), execution })
    }

    /// What it was made for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What it computes.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The problem's sizes.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The arithmetic and the memory traffic that the problem cannot do without.
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// How it computes.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Bytes of workspace that binding needs.
    pub fn workspace_bytes(&self) -> usize {
        match &self.execution {
            Execution::Gpu(gpu) => gpu.workspace_bytes,
            Execution::Nothing | Execution::Cpu(_) => 0,
        }
    }
}
