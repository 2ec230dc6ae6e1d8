//! Merging partial results by their log-sum-exps, row by row, in 64-bit arithmetic.

use half::{bf16, f16};
use rayon::prelude::*;

use super::memory::{Array, Input, Output};
use crate::{DType, Element, Error, Layout, MergeOperands, MergeProblem, Pointer, Result};

/// Computes O, and the LSE where it is asked for.
///
/// # Safety
/// As [`forward`](super::forward), for the operands of a merge.
///
/// # Errors
/// [`Error::Argument`] for a type that is none of attention.
pub(crate) unsafe fn merge(problem: &MergeProblem, operands: &MergeOperands) -> Result<()> {
    // SAFETY: the caller's promises, for the element type that the problem names.
    unsafe {
        match problem.part.dtype {
            DType::F32 => merge_from::<f32>(problem, operands),
            DType::F16 => merge_from::<f16>(problem, operands),
            DType::Bf16 => merge_from::<bf16>(problem, operands),
            DType::I32 => Err(no_float("part.dtype")),
        }
    }
}

fn no_float(argument: &'static str) -> Error {
    Error::argument(argument, DType::I32, "attention is of floating-point numbers", "pass f32, f16 or bf16")
}

/// # Safety
/// As [`merge`]; `T` is the partial results' type.
unsafe fn merge_from<T: Element>(problem: &MergeProblem, operands: &MergeOperands) -> Result<()> {
    // SAFETY: the caller's promises, for the element type that the problem names.
    unsafe {
        match problem.o.dtype {
            DType::F32 => merge_typed::<T, f32>(problem, operands),
            DType::F16 => merge_typed::<T, f16>(problem, operands),
            DType::Bf16 => merge_typed::<T, bf16>(problem, operands),
            DType::I32 => return Err(no_float("o.dtype")),
        }
    }
    Ok(())
}

/// # Safety
/// As [`merge`]; `T` is the partial results' type, `O` that of O.
unsafe fn merge_typed<T: Element, O: Element>(problem: &MergeProblem, operands: &MergeOperands) {
    let [batch, sq, heads, dv] = problem.part.layout.shape;
    let rows = batch * heads * sq;
    let lse_layout = Layout::contiguous([batch, heads, sq, 1]);
    // No overflow: the parts span fewer than 2⁶³ bytes.
    let part_bytes = (problem.part_stride * problem.part.dtype.size()) as u64;
    let first = operands.parts.pointer;
    // SAFETY: the caller says that each operand is live, typed, aligned, and as large as its shape.
    let (parts, o, lse, parts_lse, sinks) = unsafe {
        let part = |n: usize| {
            let address = first.address + n as u64 * part_bytes;
            Input::<T>::new(Pointer { address, ..first }, problem.part.layout)
        };
        let parts: Vec<Input<T>> = (0..problem.parts).map(part).collect();
        let o = Output::<O>::new(operands.o.pointer, problem.o.layout);
        let lse = operands.lse.map(|pointer| Output::<f32>::new(pointer, lse_layout));
        let parts_lse = Some(operands.parts_lse).array::<f32>(rows * problem.parts);
        (parts, o, lse, parts_lse.unwrap_or_default(), operands.sinks.array::<f32>(heads))
    };
    (0..rows).into_par_iter().for_each_init(Vec::new, |merged: &mut Vec<f64>, row| {
        let (batch, head, query) = (row / sq / heads, row / sq % heads, row % sq);
        let terms = parts_lse.iter().skip(row).step_by(rows).map(|&lse| f64::from(lse));
        let sink = sinks.and_then(|sinks| sinks.get(head)).map_or(f64::NEG_INFINITY, |&sink| f64::from(sink));
        let largest = terms.clone().fold(sink, f64::max);
        // An LSE of −∞ weighs nothing, also where there is no other.
        let weight = |term: f64| if term == f64::NEG_INFINITY { 0.0 } else { (term - largest).exp() };
        merged.clear();
        merged.resize(dv, 0.0);
        let mut sum = weight(sink);
        for (part, weight) in parts.iter().zip(terms.map(weight)) {
            // A part without keys may hold anything.
            if weight == 0.0 {
                continue;
            }
            sum += weight;
            for (merged, &value) in merged.iter_mut().zip(part.row(batch, query, head)) {
                *merged += weight * f64::from(value.to_f32());
            }
        }
        let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
        o.store(batch, query, head, merged.iter().map(|&value| (value * factor) as f32));
        if let Some(lse) = &lse {
            // The logarithm of no term is −∞.
            let merged = if sum == 0.0 { largest } else { largest + sum.ln() };
            lse.store(batch, head, query, core::iter::once(merged as f32));
        }
    });
}
