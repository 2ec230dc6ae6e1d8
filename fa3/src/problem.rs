//! What one forward call computes: operand types and layouts, and options, without addresses.

use core::fmt;

use crate::{DType, Layout, Options, Pointer, Tensor, TensorSpec};

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

/// The sizes of a dense problem, for [`Problem::dense`].
///
/// ```
/// use fa3::Sizes;
/// let grouped = Sizes { heads_k: 2, ..Sizes::new(1, 4096, 16, 128) };
/// assert_eq!((grouped.sk, grouped.heads_q, grouped.dv), (4096, 16, 128));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Sequences.
    pub batch: usize,
    /// Queries a sequence.
    pub sq: usize,
    /// Keys a sequence.
    pub sk: usize,
    /// Heads of Q and O.
    pub heads_q: usize,
    /// Heads of K and V; divides `heads_q`.
    pub heads_k: usize,
    /// The dimension of Q's and K's heads.
    pub d: usize,
    /// The dimension of V's and O's heads.
    pub dv: usize,
}

impl Sizes {
    /// Self-attention: as many keys as queries, one K/V head a query head, `dv = d`.
    pub const fn new(batch: usize, sequence: usize, heads: usize, d: usize) -> Self {
        Self { batch, sq: sequence, sk: sequence, heads_q: heads, heads_k: heads, d, dv: d }
    }
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

impl Problem {
    /// Contiguous `[batch, sequence, heads, dim]` operands of one type, with the LSE.
    pub fn dense(dtype: DType, sizes: Sizes, options: Options) -> Self {
        let Sizes { batch, sq, sk, heads_q, heads_k, d, dv } = sizes;
        let spec = |shape| TensorSpec { dtype, layout: Layout::contiguous(shape) };
        Self {
            q: spec([batch, sq, heads_q, d]),
            k: spec([batch, sk, heads_k, d]),
            v: spec([batch, sk, heads_k, dv]),
            o: spec([batch, sq, heads_q, dv]),
            lse: true,
            sinks: false,
            alibi: false,
            sequences: Sequences::Dense,
            options,
        }
    }
}

/// An argument of a call that is an address, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operand {
    /// [`Operands::q`].
    Q,
    /// [`Operands::k`].
    K,
    /// [`Operands::v`].
    V,
    /// [`Operands::o`].
    O,
    /// [`Operands::lse`].
    Lse,
    /// [`Operands::sinks`].
    Sinks,
    /// [`Operands::alibi`].
    Alibi,
    /// [`Operands::used_k`].
    UsedKeys,
    /// [`Operands::cu_q`].
    CuQ,
    /// [`Operands::cu_k`].
    CuK,
    /// [`MergeOperands::parts`](crate::MergeOperands::parts).
    Parts,
    /// [`MergeOperands::parts_lse`](crate::MergeOperands::parts_lse).
    PartsLse,
    /// The workspace.
    Workspace,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Q => "q",
            Self::K => "k",
            Self::V => "v",
            Self::O => "o",
            Self::Lse => "lse",
            Self::Sinks => "sinks",
            Self::Alibi => "alibi",
            Self::UsedKeys => "used_k",
            Self::CuQ => "cu_q",
            Self::CuK => "cu_k",
            Self::Parts => "parts",
            Self::PartsLse => "parts_lse",
            Self::Workspace => "the workspace",
        })
    }
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

impl Operands {
    /// Four tensors and nothing else.
    pub const fn new(q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> Self {
        Self { q, k, v, o, lse: None, sinks: None, alibi: None, used_k: None, cu_q: None, cu_k: None }
    }

    /// The problem that these operands pose with `options`: their types, their layouts, and which
    /// of the optional ones are there.
    pub const fn problem(&self, sequences: Sequences, options: Options) -> Problem {
        Problem {
            q: self.q.spec,
            k: self.k.spec,
            v: self.v.spec,
            o: self.o.spec,
            lse: self.lse.is_some(),
            sinks: self.sinks.is_some(),
            alibi: self.alibi.is_some(),
            sequences,
            options,
        }
    }
}
