//! What one forward call computes: operand types and layouts, and options, without addresses.

use crate::{Options, Pointer, Tensor, TensorSpec};

/// How the sequences of a batch lie in the tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sequences {
    /// `[batch, sequence, heads, dim]`, every sequence of full length.
    #[default]
    Dense,
    /// `[batch, sequence, heads, dim]`; batch `b` uses only the first `used_k[b]` keys. What lies
    /// beyond may hold anything, NaN included.
    UsedKeys,
    /// `[1, total, heads, dim]`; sequence `n` is tokens `cu[n]..cu[n + 1]` of Q and of K/V.
    Packed {
        /// How many sequences.
        count: usize,
        /// No sequence of Q is longer.
        max_q: usize,
        /// No sequence of K/V is longer.
        max_k: usize,
    },
}

/// The forward pass `O = softmax(scale · Q·Kᵀ + bias, masked) · V`, described by shapes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// `[batch, sq, heads_q, d]`.
    pub q: TensorSpec,
    /// `[batch, sk, heads_k, d]`; `heads_k` divides `heads_q`.
    pub k: TensorSpec,
    /// `[batch, sk, heads_k, dv]`.
    pub v: TensorSpec,
    /// `[batch, sq, heads_q, dv]`.
    pub o: TensorSpec,
    /// Whether the log-sum-exp is wanted.
    pub lse: bool,
    /// Whether each query head has a sink: one more logit, in the denominator only.
    pub sinks: bool,
    /// Whether each query head has an ALiBi slope: `-slope · |i + sk - sq - j|` is added to the
    /// scaled score.
    pub alibi: bool,
    /// How sequences lie in the tensors.
    pub sequences: Sequences,
    /// Everything else.
    pub options: Options,
}

/// The operands of one forward call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operands {
    /// `[batch, sq, heads_q, d]`.
    pub q: Tensor,
    /// `[batch, sk, heads_k, d]`.
    pub k: Tensor,
    /// `[batch, sk, heads_k, dv]`.
    pub v: Tensor,
    /// `[batch, sq, heads_q, dv]`; written.
    pub o: Tensor,
    /// f32, contiguous `[batch, heads_q, sq]`, or `[heads_q, total]` for packed sequences; written.
    /// The natural logarithm of the softmax's denominator; −∞ for a row that sees no key.
    pub lse: Option<Pointer>,
    /// f32 `[heads_q]`, logits already scaled.
    pub sinks: Option<Pointer>,
    /// f32 `[heads_q]`.
    pub alibi: Option<Pointer>,
    /// i32 `[batch]`, for [`Sequences::UsedKeys`].
    pub used_k: Option<Pointer>,
    /// i32 `[count + 1]`, rising from 0 to Q's total, for [`Sequences::Packed`].
    pub cu_q: Option<Pointer>,
    /// i32 `[count + 1]`, rising from 0 to K's total, for [`Sequences::Packed`].
    pub cu_k: Option<Pointer>,
}
