//! A plan with addresses.

use std::sync::Arc;

use fa3_kernels::ForwardParams;
use fa3_sys::TensorMap;

use crate::backend::{Argument, CpuLaunch, KernelLaunch, Launch};
use crate::memory::Buffer;
use crate::overlap::{Extent, may_overlap};
use crate::{
    Backend, Error, Execution, ForwardPlan, KernelHandle, Operand, Operands, Plan, Pointer, Problem, Result,
    Sequences, StreamHandle, Target, TensorSpec,
};

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

/// A plan bound to a backend and to addresses: checked, its kernel loaded, its tensor maps
/// encoded. Running it allocates nothing and synchronises nothing, and can be captured in a CUDA
/// graph.
#[derive(Debug)]
pub struct Binding {
    backend: Arc<dyn Backend>,
    plan: Arc<Plan>,
    operands: Operands,
    kernel: Option<BoundKernel>,
    /// Kept allocated while the binding lives.
    _workspace: Option<Buffer>,
}

#[derive(Debug)]
struct BoundKernel {
    handle: KernelHandle,
    maps: Vec<TensorMap>,
    params: ForwardParams,
}

/// The most parameters that a kernel of this crate has: four maps and a block.
const MAX_PARAMETERS: usize = 5;

impl Plan {
    /// Binds the plan to a backend and to operands.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] when the backend is another target, or an operand's type or layout
    /// is not what was planned; [`Error::OperandMissing`] and [`Error::OperandUnexpected`];
    /// [`Error::WrongPlace`], [`Error::Null`], [`Error::Misaligned`] and [`Error::Overlap`] for
    /// addresses; [`Error::Length`] for a workspace too small; [`Error::Kernel`] when the kernel
    /// is not in this build; what the backend reports.
    pub fn bind(
        self: &Arc<Self>,
        backend: &Arc<dyn Backend>,
        operands: &Operands,
        workspace: Workspace,
    ) -> Result<Binding> {
        check_target(self.target(), &backend.target())?;
        check_operands(self.problem(), operands)?;
        check_addresses(self, backend.as_ref(), operands)?;
        let own_workspace = place_workspace(self, backend, workspace)?;
        let kernel = match self.execution() {
            Execution::Gpu(gpu) => Some(bind_forward(&gpu.forward, backend.as_ref(), operands)?),
            Execution::Cpu(_) | Execution::Nothing => None,
        };
        Ok(Binding {
            backend: Arc::clone(backend),
            plan: Arc::clone(self),
            operands: *operands,
            kernel,
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
        match (self.plan.execution(), &self.kernel) {
            (Execution::Gpu(gpu), Some(bound)) => {
                // Sized for the most parameters, so that running allocates nothing.
                let mut arguments = [Argument::Forward(&bound.params); MAX_PARAMETERS];
                let maps = bound.maps.iter().map(Argument::Map);
                arguments.iter_mut().zip(maps).for_each(|(slot, map)| *slot = map);
                let arguments = arguments.get(..=bound.maps.len()).unwrap_or(&arguments);
                let shape = &gpu.forward.kernel;
                let launch = KernelLaunch { kernel: bound.handle, shape, arguments, plan: &self.plan };
                // SAFETY: the arguments were made from checked addresses for this kernel; the
                // caller answers for the memory behind them and for the stream.
                unsafe { self.backend.launch(&Launch::Kernel(launch), stream) }
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

fn check_target(planned: &Target, given: &Target) -> Result<()> {
    if planned == given {
        return Ok(());
    }
    Err(Error::PlanMismatch { what: "the target", planned: planned.to_string(), given: given.to_string() })
}

/// Whether the operands are those that were planned for.
fn check_operands(problem: &Problem, operands: &Operands) -> Result<()> {
    for (what, planned, given) in [
        ("q", &problem.q, &operands.q.spec),
        ("k", &problem.k, &operands.k.spec),
        ("v", &problem.v, &operands.v.spec),
        ("o", &problem.o, &operands.o.spec),
    ] {
        if planned != given {
            return Err(Error::PlanMismatch { what, planned: describe(planned), given: describe(given) });
        }
    }
    let packed = matches!(problem.sequences, Sequences::Packed { .. });
    let used = problem.sequences == Sequences::UsedKeys;
    for (operand, given, wanted, why) in [
        (Operand::Lse, operands.lse.is_some(), problem.lse, ["the LSE was asked for", "none was asked for"]),
        (Operand::Sinks, operands.sinks.is_some(), problem.sinks, ["there are sinks", "there are no sinks"]),
        (
            Operand::Alibi,
            operands.alibi.is_some(),
            problem.alibi,
            ["there are slopes", "there are no slopes"],
        ),
        (Operand::UsedKeys, operands.used_k.is_some(), used, ["only used keys count", "all keys count"]),
        (Operand::CuQ, operands.cu_q.is_some(), packed, ["sequences are packed", "sequences are not packed"]),
        (Operand::CuK, operands.cu_k.is_some(), packed, ["sequences are packed", "sequences are not packed"]),
    ] {
        match (given, wanted) {
            (false, true) => return Err(Error::OperandMissing { operand, why: why[0] }),
            (true, false) => return Err(Error::OperandUnexpected { operand, why: why[1] }),
            _ => {}
        }
    }
    Ok(())
}

fn describe(spec: &TensorSpec) -> String {
    format!("{} {:?} with strides {:?}", spec.dtype, spec.layout.shape, spec.layout.strides)
}

/// TMA reads and writes at multiples of 16 bytes (CUDA driver API, `cuTensorMapEncodeTiled`,
/// `globalAddress`).
const MAP_ALIGNMENT: u64 = 16;

/// Place, null, alignment and overlap of every operand.
fn check_addresses(plan: &Plan, backend: &dyn Backend, operands: &Operands) -> Result<()> {
    let extents = extents(plan, operands);
    let mapped = matches!(plan.execution(), Execution::Gpu(_));
    for (operand, pointer, extent) in &extents {
        if pointer.place != backend.place() {
            let (found, expected) = (pointer.place, backend.place());
            return Err(Error::WrongPlace { operand: *operand, found, expected });
        }
        let bytes = extent.bytes();
        if bytes == 0 {
            continue;
        }
        if pointer.address == 0 {
            return Err(Error::Null { operand: *operand, bytes });
        }
        let tensor = matches!(operand, Operand::Q | Operand::K | Operand::V | Operand::O);
        let alignment = if tensor && mapped { MAP_ALIGNMENT } else { extent.element as u64 };
        if !pointer.address.is_multiple_of(alignment) {
            return Err(Error::Misaligned { operand: *operand, address: pointer.address, alignment });
        }
        if pointer.address.checked_add(bytes as u64).is_none() {
            let value = format!("{:#x}", pointer.address);
            let rule = format!("its {bytes} bytes must not run past the end of the address space");
            return Err(Error::argument("address", value, rule, "pass the address of its first element"));
        }
    }
    for (index, (written, _, extent)) in extents.iter().enumerate() {
        if !matches!(written, Operand::O | Operand::Lse) {
            continue;
        }
        for (other_index, (other, _, other_extent)) in extents.iter().enumerate() {
            if index != other_index && may_overlap(extent, other_extent) {
                return Err(Error::Overlap { written: *written, other: *other });
            }
        }
    }
    Ok(())
}

/// Where each operand lies.
fn extents(plan: &Plan, operands: &Operands) -> Vec<(Operand, Pointer, Extent)> {
    let dims = plan.dims();
    let tensors = [
        (Operand::Q, &operands.q),
        (Operand::K, &operands.k),
        (Operand::V, &operands.v),
        (Operand::O, &operands.o),
    ];
    let tensors = tensors
        .into_iter()
        .map(|(operand, tensor)| (operand, tensor.pointer, Extent::tensor(tensor.pointer, &tensor.spec)));
    let arrays = [
        (Operand::Lse, operands.lse, dims.lse_len),
        (Operand::Sinks, operands.sinks, dims.heads_q),
        (Operand::Alibi, operands.alibi, dims.heads_q),
        (Operand::UsedKeys, operands.used_k, dims.sequences),
        (Operand::CuQ, operands.cu_q, dims.sequences.saturating_add(1)),
        (Operand::CuK, operands.cu_k, dims.sequences.saturating_add(1)),
    ];
    let arrays = arrays.into_iter().filter_map(|(operand, pointer, len)| {
        // The LSE, sinks, slopes, lengths and offsets are all of four bytes an element.
        pointer.map(|pointer| (operand, pointer, Extent::array(pointer, len, 4)))
    });
    tensors.chain(arrays).collect()
}

/// The alignment of a workspace: that of every backend's allocations.
const WORKSPACE_ALIGNMENT: u64 = 256;

/// Allocates the workspace, or checks the caller's.
fn place_workspace(plan: &Plan, backend: &Arc<dyn Backend>, workspace: Workspace) -> Result<Option<Buffer>> {
    let needed = plan.workspace_bytes();
    let (pointer, bytes) = match workspace {
        Workspace::Own if needed == 0 => return Ok(None),
        Workspace::Own => return Buffer::new(backend, needed).map(Some),
        Workspace::Caller { pointer, bytes } => (pointer, bytes),
    };
    let operand = Operand::Workspace;
    if pointer.place != backend.place() {
        return Err(Error::WrongPlace { operand, found: pointer.place, expected: backend.place() });
    }
    if bytes < needed {
        return Err(Error::Length { argument: "workspace", given: bytes, needed, unit: "bytes" });
    }
    if needed > 0 && pointer.address == 0 {
        return Err(Error::Null { operand, bytes: needed });
    }
    if needed > 0 && !pointer.address.is_multiple_of(WORKSPACE_ALIGNMENT) {
        let alignment = WORKSPACE_ALIGNMENT;
        return Err(Error::Misaligned { operand, address: pointer.address, alignment });
    }
    Ok(None)
}

/// Loads the kernel, encodes its maps and fills in its parameters.
fn bind_forward(forward: &ForwardPlan, backend: &dyn Backend, operands: &Operands) -> Result<BoundKernel> {
    let maps = forward.maps.iter().map(|slot| {
        let address = match slot.address {
            Operand::K => operands.k.pointer,
            Operand::V => operands.v.pointer,
            Operand::O => operands.o.pointer,
            _ => operands.q.pointer,
        };
        backend.encode(slot, address)
    });
    let maps = maps.collect::<Result<Vec<_>>>()?;
    let lse = operands.lse.map_or(0, |pointer| pointer.address);
    let params = ForwardParams { lse, ..forward.params };
    Ok(BoundKernel { handle: backend.prepare(&forward.kernel)?, maps, params })
}
