//! Attention over parts of the keys, merged: what split keys, caches in several places and rings of devices
//! need.
//!
//! Given partial results `(O_i, LSE_i)` of the same rows, `LSE = log Σ exp LSE_i` and
//! `O = Σ exp(LSE_i − LSE) · O_i` are what attention over all the keys gives. A part in which a row saw no key
//! has an LSE of −∞ there, and its O may hold anything, NaN included; a row without a key in any part is O = 0
//! with an LSE of −∞. Sinks belong to no part: they are left out of the partial results and added here, once.
//!
//! [`merge`] takes host slices. On a device there are, as for attention, a [`MergeProblem`], a [`MergePlan`]
//! and a [`MergeBinding`].

mod binding;
mod check;
mod display;
mod host;
mod plan;

use crate::{DType, Layout, Pointer, Tensor, TensorSpec};

pub use binding::MergeBinding;
pub use host::{HostParts, Merged, merge};
pub use plan::{MergeExecution, MergeKernel, MergePlan};

/// What one merge computes: types and layouts, without addresses.
///
/// ```
/// use fa3::{CudaTarget, DType, MergePlan, MergeProblem, Target};
/// // Eight partial results in f32 of one query with 32 heads of 128, for 4 sequences.
/// let problem = MergeProblem::contiguous(8, DType::F32, DType::Bf16, [4, 1, 32, 128]);
/// println!("{}", MergePlan::new(&Target::Cuda(CudaTarget::H200), &problem)?);
/// # Ok::<(), fa3::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeProblem {
    /// How many partial results there are. Of none, every row is empty.
    pub parts: usize,
    /// A partial O: `[batch, sq, heads, dv]`; packed sequences are `[1, total, heads, dv]`.
    pub part: TensorSpec,
    /// Elements from one partial O to the next.
    pub part_stride: usize,
    /// The merged O, of the same shape.
    pub o: TensorSpec,
    /// Whether the merged LSE is wanted.
    pub lse: bool,
    /// Whether each head has a sink: one more logit, in the denominator only.
    pub sinks: bool,
}

impl MergeProblem {
    /// Contiguous `[parts, batch, sq, heads, dv]` to contiguous `[batch, sq, heads, dv]`, with the LSE and
    /// without sinks.
    pub fn contiguous(parts: usize, part: DType, o: DType, shape: [usize; 4]) -> Self {
        let spec = |dtype| TensorSpec { dtype, layout: Layout::contiguous(shape) };
        let part_stride = shape.into_iter().fold(1, usize::saturating_mul);
        Self { parts, part: spec(part), part_stride, o: spec(o), lse: true, sinks: false }
    }
}

/// The operands of one merge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MergeOperands {
    /// The first partial O; the others follow at [`MergeProblem::part_stride`].
    pub parts: Tensor,
    /// The partial LSEs: f32, contiguous `[parts, batch, heads, sq]`, or `[parts, heads, total]` of packed
    /// sequences. Natural logarithms, finite or −∞.
    pub parts_lse: Pointer,
    /// The merged O; written.
    pub o: Tensor,
    /// The merged LSE: f32, contiguous `[batch, heads, sq]`; written.
    pub lse: Option<Pointer>,
    /// f32 `[heads]`, logits already scaled.
    pub sinks: Option<Pointer>,
}

impl MergeOperands {
    /// Without the optional ones.
    pub const fn new(parts: Tensor, parts_lse: Pointer, o: Tensor) -> Self {
        Self { parts, parts_lse, o, lse: None, sinks: None }
    }
}
