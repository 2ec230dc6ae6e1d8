//! Merging partial results in 64-bit arithmetic.

use super::inputs::{head_values, tensor};
use super::{InputError, Output};
use crate::{Element, MergeProblem};

/// Merges partial results by their log-sum-exps in f64. `parts` begins at the first part's first element and
/// is laid out as the problem says, `parts_lse` is contiguous `[parts, batch, heads, sq]`, `sinks` `[heads]`.
///
/// ```
/// use fa3::reference::merge;
/// use fa3::{DType, MergeProblem};
/// let problem = MergeProblem::contiguous(2, DType::F32, DType::F32, [1, 1, 1, 1]);
/// // The second part saw no key.
/// let output = merge(&problem, &[3.0f32, f32::NAN], &[0.5, f32::NEG_INFINITY], None)?;
/// assert_eq!((output.o, output.lse), (vec![3.0], vec![0.5]));
/// # Ok::<(), fa3::reference::InputError>(())
/// ```
///
/// # Errors
/// [`InputError`] for a malformed problem, a slice that is shorter than the problem says, or sinks that are
/// given and not in the problem, or the other way round.
pub fn merge<T: Element>(
    problem: &MergeProblem,
    parts: &[T],
    parts_lse: &[f32],
    sinks: Option<&[f32]>,
) -> Result<Output, InputError> {
    let dims = problem.dims().map_err(InputError::of)?;
    let short = |argument, given: usize, needed: usize| {
        if given < needed { Err(InputError::Short { argument, given, needed }) } else { Ok(()) }
    };
    if let Some(last) = problem.parts.checked_sub(1) {
        tensor("parts", &problem.part, parts.get(last * problem.part_stride..).unwrap_or(&[]))?;
    }
    short("parts_lse", parts_lse.len(), dims.parts_lse)?;
    head_values("sinks", problem.sinks, sinks, dims.heads)?;
    let mut output = Output { o: vec![0.0; dims.rows * dims.dv], lse: vec![0.0; dims.rows] };
    let [part_batch, part_row, part_head, _] = problem.part.layout.strides;
    for row in 0..dims.rows {
        let (batch, head, query) = (row / dims.sq / dims.heads, row / dims.sq % dims.heads, row % dims.sq);
        let logits: Vec<f64> =
            (0..problem.parts).map(|part| f64::from(parts_lse[part * dims.rows + row])).collect();
        let sink = sinks.map_or(f64::NEG_INFINITY, |sinks| f64::from(sinks[head]));
        let largest = logits.iter().copied().fold(sink, f64::max);
        let to = ((batch * dims.sq + query) * dims.heads + head) * dims.dv;
        output.lse[row] = f64::NEG_INFINITY;
        if largest == f64::NEG_INFINITY {
            continue;
        }
        let sum = logits.iter().fold((sink - largest).exp(), |sum, logit| sum + (logit - largest).exp());
        output.lse[row] = largest + sum.ln();
        for (part, logit) in logits.into_iter().enumerate().filter(|&(_, logit)| logit != f64::NEG_INFINITY) {
            let weight = (logit - output.lse[row]).exp();
            let from = part * problem.part_stride + batch * part_batch + query * part_row + head * part_head;
            for (o, value) in output.o[to..to + dims.dv].iter_mut().zip(&parts[from..from + dims.dv]) {
                *o += weight * f64::from(value.to_f32());
            }
        }
    }
    Ok(output)
}
