//! The kernels of a plan with their arguments.

use std::sync::Arc;

use fa3_kernels::{ForwardParams, ScheduleParams};
use fa3_sys::TensorMap;

use crate::backend::{Argument, KernelLaunch, Launch};
use crate::{
    AnyPlan, Backend, ForwardPlan, GpuPlan, KernelHandle, KernelPlan, Operand, Operands, Plan, Pointer,
    Result, SchedulePlan, StreamHandle,
};

/// Loaded, their tensor maps encoded and addresses filled in.
#[derive(Debug)]
pub(super) struct BoundKernels {
    schedule: Option<Schedule>,
    forward: Forward,
}

#[derive(Debug)]
struct Schedule {
    handle: KernelHandle,
    params: ScheduleParams,
}

#[derive(Debug)]
struct Forward {
    handle: KernelHandle,
    maps: Vec<TensorMap>,
    params: ForwardParams,
}

/// The most parameters that a kernel of this crate has: four maps and a block.
const MAX_PARAMETERS: usize = 5;

/// What a kernel reads as an address; zero where there is none.
fn address(pointer: Option<Pointer>) -> u64 {
    pointer.map_or(0, |pointer| pointer.address)
}

impl BoundKernels {
    pub(super) fn new(
        plan: &GpuPlan,
        backend: &dyn Backend,
        operands: &Operands,
        workspace: Option<Pointer>,
    ) -> Result<Self> {
        let schedule = plan.schedule.as_ref();
        let schedule = schedule.map(|plan| Schedule::new(plan, backend, operands, workspace)).transpose()?;
        let list = schedule.as_ref().map_or(0, |schedule| schedule.params.list);
        Ok(Self { forward: Forward::new(&plan.forward, backend, operands, list)?, schedule })
    }

    /// Launches them one after the other. Allocates nothing.
    ///
    /// # Safety
    /// As [`Binding::run`](super::Binding::run).
    pub(super) unsafe fn run(
        &self,
        shapes: &GpuPlan,
        backend: &dyn Backend,
        plan: &Arc<Plan>,
        stream: StreamHandle,
    ) -> Result<()> {
        let plan = AnyPlan::from(plan);
        let launch = |kernel, shape: &KernelPlan, arguments: &[Argument<'_>]| {
            let launch = Launch::Kernel(KernelLaunch { kernel, shape, arguments, plan: &plan });
            // SAFETY: the caller's promises.
            unsafe { backend.launch(&launch, stream) }
        };
        if let (Some(shape), Some(bound)) = (&shapes.schedule, &self.schedule) {
            launch(bound.handle, &shape.kernel, &[Argument::Schedule(&bound.params)])?;
        }
        let bound = &self.forward;
        // Sized for the most parameters, so that running allocates nothing.
        let mut arguments = [Argument::Forward(&bound.params); MAX_PARAMETERS];
        let maps = bound.maps.iter().map(Argument::Map);
        arguments.iter_mut().zip(maps).for_each(|(slot, map)| *slot = map);
        let arguments = arguments.get(..=bound.maps.len()).unwrap_or(&arguments);
        launch(bound.handle, &shapes.forward.kernel, arguments)
    }
}

impl Schedule {
    fn new(
        plan: &SchedulePlan,
        backend: &dyn Backend,
        operands: &Operands,
        workspace: Option<Pointer>,
    ) -> Result<Self> {
        let params = ScheduleParams {
            list: address(workspace),
            cu_q: address(operands.cu_q),
            cu_k: address(operands.cu_k),
            used_k: address(operands.used_k),
            ..plan.params
        };
        Ok(Self { handle: backend.prepare(&plan.kernel)?, params })
    }
}

impl Forward {
    /// `list` is the address of the list of tiles, zero for none.
    fn new(plan: &ForwardPlan, backend: &dyn Backend, operands: &Operands, list: u64) -> Result<Self> {
        let maps = plan.maps.iter().map(|slot| {
            let address = match slot.address {
                Operand::K => operands.k.pointer,
                Operand::V => operands.v.pointer,
                Operand::O => operands.o.pointer,
                _ => operands.q.pointer,
            };
            backend.encode(slot, address)
        });
        let maps = maps.collect::<Result<Vec<_>>>()?;
        let params = ForwardParams {
            lse: address(operands.lse),
            o: operands.o.pointer.address,
            schedule: list,
            sinks: address(operands.sinks),
            slopes: address(operands.alibi),
            ..plan.params
        };
        Ok(Self { handle: backend.prepare(&plan.kernel)?, maps, params })
    }
}
