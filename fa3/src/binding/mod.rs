//! A plan with addresses.

pub(crate) mod check;
mod kernels;

use std::sync::Arc;

use crate::backend::{CpuLaunch, Launch};
use crate::memory::Buffer;
use crate::{Backend, Execution, Operands, Plan, Pointer, Result, StreamHandle};
use kernels::BoundKernels;

/// The memory that a plan works in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    /// The binding allocates what the plan needs and frees it when dropped.
    #[default]
    Own,
    /// The caller's, aligned to 256 bytes.
    Caller {
        /// Its first byte.
        pointer: Pointer,
        /// How many bytes.
        bytes: usize,
    },
}

/// A plan bound to a backend and to addresses: checked, its kernels loaded, its tensor maps
/// encoded. Running it allocates nothing and synchronises nothing, and can be captured in a CUDA
/// graph.
#[derive(Debug)]
pub struct Binding {
    backend: Arc<dyn Backend>,
    plan: Arc<Plan>,
    operands: Operands,
    kernels: Option<BoundKernels>,
    /// Kept allocated while the binding lives.
    _workspace: Option<Buffer>,
}

impl Plan {
    /// Binds the plan to a backend and to operands.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`](crate::Error::PlanMismatch) when the backend is another target, or an
    /// operand's type or layout is not what was planned;
    /// [`Error::OperandMissing`](crate::Error::OperandMissing) and
    /// [`Error::OperandUnexpected`](crate::Error::OperandUnexpected);
    /// [`Error::WrongPlace`](crate::Error::WrongPlace), [`Error::Null`](crate::Error::Null),
    /// [`Error::Misaligned`](crate::Error::Misaligned) and [`Error::Overlap`](crate::Error::Overlap)
    /// for addresses, the workspace's too; [`Error::Length`](crate::Error::Length) for a workspace
    /// too small; [`Error::Kernel`](crate::Error::Kernel) when a kernel is not in this build; what the
    /// backend reports.
    pub fn bind(
        self: &Arc<Self>,
        backend: &Arc<dyn Backend>,
        operands: &Operands,
        workspace: Workspace,
    ) -> Result<Binding> {
        check::target(self.target(), &backend.target())?;
        check::operands(self.problem(), operands)?;
        check::addresses(self, backend.as_ref(), operands, workspace)?;
        let needed = self.workspace_bytes();
        let (workspace, own_workspace) = match workspace {
            Workspace::Caller { pointer, .. } => (Some(pointer), None),
            Workspace::Own if needed == 0 => (None, None),
            Workspace::Own => {
                let buffer = Buffer::new(backend, needed)?;
                (Some(buffer.pointer()), Some(buffer))
            }
        };
        let kernels = match self.execution() {
            Execution::Gpu(gpu) => Some(BoundKernels::new(gpu, backend.as_ref(), operands, workspace)?),
            Execution::Cpu(_) | Execution::Nothing => None,
        };
        Ok(Binding {
            backend: Arc::clone(backend),
            plan: Arc::clone(self),
            operands: *operands,
            kernels,
            _workspace: own_workspace,
        })
    }
}

impl Binding {
    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What runs it.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The operands.
    pub fn operands(&self) -> &Operands {
        &self.operands
    }

    /// Starts the computation on `stream`. On the CPU it is done on return; on a GPU when the
    /// stream has reached it.
    ///
    /// # Safety
    /// - Every operand (and the workspace, if the caller's) addresses live memory of the
    ///   backend of the size that its layout spans, initialised where it is read, until the stream
    ///   has done the work, and the binding lives as long.
    /// - Until then, nothing else writes an operand, and nothing else reads an output or uses the
    ///   workspace: runs that share outputs or workspace are ordered by a stream.
    /// - `stream` is a live stream of the backend's device.
    ///
    /// # Errors
    /// What the backend reports: a fault of earlier work comes with the plans that ran last.
    pub unsafe fn run(&self, stream: StreamHandle) -> Result<()> {
        match (self.plan.execution(), &self.kernels) {
            (Execution::Gpu(gpu), Some(bound)) => {
                // SAFETY: the arguments were made from checked addresses for these kernels; the
                // caller answers for the memory behind them and for the stream.
                unsafe { bound.run(gpu, self.backend.as_ref(), &self.plan, stream) }
            }
            (Execution::Cpu(_), _) => {
                let launch = CpuLaunch { plan: &self.plan, operands: &self.operands };
                // SAFETY: the operands were checked against the plan; the caller answers for the
                // memory behind them.
                unsafe { self.backend.launch(&Launch::Cpu(launch), stream) }
            }
            (Execution::Nothing | Execution::Gpu(_), _) => Ok(()),
        }
    }
}
