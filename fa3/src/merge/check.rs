//! Whether a merge is well-formed, and whether operands are those that were planned for.

use super::{MergeOperands, MergeProblem};
use crate::binding::check::{describe, presence};
use crate::dims::{MAX_BYTES, check_strides, check_written_once, shape};
use crate::{DType, Error, Operand, Result, TensorSpec};

/// The sizes of a well-formed [`MergeProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MergeDims {
    pub(crate) batch: usize,
    pub(crate) sq: usize,
    pub(crate) heads: usize,
    pub(crate) dv: usize,
    /// Rows of O, and elements of the LSE.
    pub(crate) rows: usize,
    /// Elements of the partial LSEs.
    pub(crate) parts_lse: usize,
}

impl MergeProblem {
    /// Checks the rules that hold on every backend.
    pub(crate) fn dims(&self) -> Result<MergeDims> {
        for (argument, spec) in [("part.dtype", &self.part), ("o.dtype", &self.o)] {
            if spec.dtype == DType::I32 {
                let rule = "attention is of floating-point numbers";
                return Err(Error::argument(argument, spec.dtype, rule, "pass f32, f16 or bf16"));
            }
        }
        let [batch, sq, heads, dv] = self.part.layout.shape;
        if self.o.layout.shape != self.part.layout.shape {
            let rule = "the merged O has the shape of each part";
            return Err(Error::argument(
                "o.shape",
                shape(&self.o),
                rule,
                format!("pass {}", shape(&self.part)),
            ));
        }
        if dv == 0 {
            return Err(Error::argument(
                "o.shape[3]",
                dv,
                "a head has at least one dimension",
                "pass dv ≥ 1",
            ));
        }
        check_strides("part.strides", &self.part)?;
        check_strides("o.strides", &self.o)?;
        check_written_once(&self.o.layout)?;
        let product =
            |factors: &[usize]| factors.iter().try_fold(1usize, |sum, &factor| sum.checked_mul(factor));
        let rows = product(&[batch, heads, sq]);
        let parts_lse = rows.and_then(|rows| rows.checked_mul(self.parts));
        let addressable = |len: &usize| *len <= MAX_BYTES / 4;
        let (Some(rows), Some(parts_lse)) = (rows.filter(addressable), parts_lse.filter(addressable)) else {
            let value = format!("{} parts of {}", self.parts, shape(&self.part));
            return Err(Error::argument(
                "part.shape",
                value,
                "the LSEs must be addressable",
                "split the batch",
            ));
        };
        if self.span().is_none() {
            let value = format!("{} with {} parts of {}", self.part_stride, self.parts, shape(&self.part));
            let rule = "the parts span fewer than 2^63 bytes";
            return Err(Error::argument("part_stride", value, rule, "pass a smaller stride or fewer parts"));
        }
        Ok(MergeDims { batch, sq, heads, dv, rows, parts_lse })
    }

    /// Elements from the first of the first part to one past the last of the last.
    fn span(&self) -> Option<usize> {
        let Some(last) = self.parts.checked_sub(1) else { return Some(0) };
        let span = last.checked_mul(self.part_stride)?.checked_add(self.part.layout.span()?)?;
        span.checked_mul(self.part.dtype.size()).filter(|&bytes| bytes <= MAX_BYTES).map(|_| span)
    }
}

/// Whether the operands are those that were planned for.
pub(super) fn operands(problem: &MergeProblem, operands: &MergeOperands) -> Result<()> {
    let same = |what, planned: &TensorSpec, given: &TensorSpec| {
        if planned == given {
            return Ok(());
        }
        Err(Error::PlanMismatch { what, planned: describe(planned), given: describe(given) })
    };
    same("the parts", &problem.part, &operands.parts.spec)?;
    same("o", &problem.o, &operands.o.spec)?;
    presence(&[
        (Operand::Lse, operands.lse.is_some(), problem.lse, ["the LSE was asked for", "none was asked for"]),
        (Operand::Sinks, operands.sinks.is_some(), problem.sinks, ["there are sinks", "there are no sinks"]),
    ])
}
