//! A merge with addresses.

use std::sync::Arc;

use fa3_kernels::MergeParams;

use super::{MergeExecution, MergeOperands, MergePlan, check};
use crate::backend::{Argument, CpuMerge, KernelLaunch, Launch};
use crate::binding::check as common;
use crate::overlap::Extent;
use crate::{AnyPlan, Backend, KernelHandle, Operand, Pointer, Result, StreamHandle};

/// A [`MergePlan`] bound to a backend and to addresses: checked, its kernel loaded. Running it allocates
/// nothing and synchronises nothing, and can be captured in a CUDA graph.
#[derive(Debug)]
pub struct MergeBinding {
    backend: Arc<dyn Backend>,
    plan: Arc<MergePlan>,
    operands: MergeOperands,
    kernel: Option<(KernelHandle, MergeParams)>,
}

/// The kernel moves 16 bytes at a time.
const ALIGNMENT: u64 = 16;

impl MergePlan {
    /// Binds the plan to a backend and to operands.
    ///
    /// # Errors
    /// Those of [`Plan::bind`](crate::Plan::bind), but for a workspace: a merge needs none.
    pub fn bind(
        self: &Arc<Self>,
        backend: &Arc<dyn Backend>,
        operands: &MergeOperands,
    ) -> Result<MergeBinding> {
        common::target(self.target(), &backend.target())?;
        check::operands(self.problem(), operands)?;
        let by_kernel = matches!(self.execution(), MergeExecution::Gpu(_));
        let alignment = |operand: Operand, element: u64| match operand {
            Operand::Parts | Operand::O if by_kernel => ALIGNMENT,
            _ => element,
        };
        common::memory(&self.extents(operands), backend.place(), alignment)?;
        let kernel = match self.execution() {
            MergeExecution::Gpu(gpu) => {
                let address = |pointer: Option<Pointer>| pointer.map_or(0, |pointer| pointer.address);
                let params = MergeParams {
                    parts: operands.parts.pointer.address,
                    parts_lse: operands.parts_lse.address,
                    o: operands.o.pointer.address,
                    lse: address(operands.lse),
                    sinks: address(operands.sinks),
                    ..gpu.params
                };
                Some((backend.prepare(&gpu.kernel)?, params))
            }
            MergeExecution::Nothing | MergeExecution::Cpu => None,
        };
        let (backend, plan) = (Arc::clone(backend), Arc::clone(self));
        Ok(MergeBinding { backend, plan, operands: *operands, kernel })
    }

    /// Where each operand lies.
    fn extents(&self, operands: &MergeOperands) -> Vec<(Operand, Pointer, Extent)> {
        let (problem, dims) = (self.problem(), self.dims());
        let MergeOperands { parts, parts_lse, o, lse, sinks } = operands;
        let stack = Extent::stack(parts.pointer, &parts.spec, problem.parts, problem.part_stride);
        let array = |operand, pointer: Pointer, len| (operand, pointer, Extent::array(pointer, len, 4));
        let mut extents = vec![
            (Operand::Parts, parts.pointer, stack),
            array(Operand::PartsLse, *parts_lse, dims.parts_lse),
            (Operand::O, o.pointer, Extent::tensor(o.pointer, &o.spec)),
        ];
        extents.extend(lse.map(|pointer| array(Operand::Lse, pointer, dims.rows)));
        extents.extend(sinks.map(|pointer| array(Operand::Sinks, pointer, dims.heads)));
        extents
    }
}

impl MergeBinding {
    /// The plan.
    pub fn plan(&self) -> &Arc<MergePlan> {
        &self.plan
    }

    /// The operands.
    pub fn operands(&self) -> &MergeOperands {
        &self.operands
    }

    /// Starts the computation on `stream`. On the CPU it is done on return; on a GPU when the stream has
    /// reached it.
    ///
    /// # Safety
    /// As [`Binding::run`](crate::Binding::run).
    ///
    /// # Errors
    /// What the backend reports: a fault of earlier work comes with the plans that ran last.
    pub unsafe fn run(&self, stream: StreamHandle) -> Result<()> {
        match (self.plan.execution(), &self.kernel) {
            (MergeExecution::Gpu(gpu), Some((kernel, params))) => {
                let plan = AnyPlan::from(&self.plan);
                let arguments = [Argument::Merge(params)];
                let launch =
                    KernelLaunch { kernel: *kernel, shape: &gpu.kernel, arguments: &arguments, plan: &plan };
                // SAFETY: the addresses were checked for this kernel; the caller answers for the memory
                // behind them and for the stream.
                unsafe { self.backend.launch(&Launch::Kernel(launch), stream) }
            }
            (MergeExecution::Cpu, _) => {
                let launch = CpuMerge { plan: &self.plan, operands: &self.operands };
                // SAFETY: the operands were checked against the plan; the caller answers for the memory
                // behind them.
                unsafe { self.backend.launch(&Launch::CpuMerge(launch), stream) }
            }
            (MergeExecution::Nothing | MergeExecution::Gpu(_), _) => Ok(()),
        }
    }
}
