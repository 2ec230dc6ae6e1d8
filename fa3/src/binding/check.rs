//! Whether a backend, operands and a workspace are those that were planned for, and memory is as it must be.

use crate::overlap::{Extent, may_overlap};
use crate::{
    Backend, Error, Execution, Operand, Operands, Place, Plan, Pointer, Problem, Result, Sequences, Target,
    TensorSpec, Workspace,
};

pub(crate) fn target(planned: &Target, given: &Target) -> Result<()> {
    if planned == given {
        return Ok(());
    }
    Err(Error::PlanMismatch { what: "the target", planned: planned.to_string(), given: given.to_string() })
}

/// Whether the operands are those that were planned for.
pub(super) fn operands(problem: &Problem, operands: &Operands) -> Result<()> {
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
    presence(&[
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
    ])
}

/// Whether optional operands are given, whether they are wanted, and why they are and are not.
pub(crate) fn presence(optional: &[(Operand, bool, bool, [&'static str; 2])]) -> Result<()> {
    for &(operand, given, wanted, why) in optional {
        match (given, wanted) {
            (false, true) => return Err(Error::OperandMissing { operand, why: why[0] }),
            (true, false) => return Err(Error::OperandUnexpected { operand, why: why[1] }),
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn describe(spec: &TensorSpec) -> String {
    format!("{} {:?} with strides {:?}", spec.dtype, spec.layout.shape, spec.layout.strides)
}

/// TMA reads and writes at multiples of 16 bytes (CUDA driver API, `cuTensorMapEncodeTiled`,
/// `globalAddress`).
const MAP_ALIGNMENT: u64 = 16;

/// The alignment of a workspace: that of every backend's allocations.
const WORKSPACE_ALIGNMENT: u64 = 256;

/// Place, null, alignment and overlap of every operand, and of the caller's workspace.
pub(super) fn addresses(
    plan: &Plan,
    backend: &dyn Backend,
    operands: &Operands,
    workspace: Workspace,
) -> Result<()> {
    let mut extents = extents(plan, operands);
    if let Workspace::Caller { pointer, bytes } = workspace {
        let needed = plan.workspace_bytes();
        if bytes < needed {
            return Err(Error::Length { argument: "workspace", given: bytes, needed, unit: "bytes" });
        }
        extents.push((Operand::Workspace, pointer, Extent::array(pointer, needed, 1)));
    }
    let mapped = matches!(plan.execution(), Execution::Gpu(_));
    memory(&extents, backend.place(), |operand, element| match operand {
        Operand::Q | Operand::K | Operand::V | Operand::O if mapped => MAP_ALIGNMENT,
        Operand::Workspace => WORKSPACE_ALIGNMENT,
        _ => element,
    })
}

/// Place, null, alignment and overlap of operands. `alignment` gets an operand and the size of its elements.
pub(crate) fn memory(
    extents: &[(Operand, Pointer, Extent)],
    place: Place,
    alignment: impl Fn(Operand, u64) -> u64,
) -> Result<()> {
    for (operand, pointer, extent) in extents {
        if pointer.place != place {
            return Err(Error::WrongPlace { operand: *operand, found: pointer.place, expected: place });
        }
        let bytes = extent.bytes();
        if bytes == 0 {
            continue;
        }
        if pointer.address == 0 {
            return Err(Error::Null { operand: *operand, bytes });
        }
        let alignment = alignment(*operand, extent.element as u64);
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
        if !matches!(written, Operand::O | Operand::Lse | Operand::Workspace) {
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
