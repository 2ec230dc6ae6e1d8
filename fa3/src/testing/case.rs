//! A case: all that decides what is computed and on what.

use super::{Arrangement, Distribution};
use crate::{DType, Layout, Operand, Options, Problem, Sequences, TensorSpec};

/// How long the sequences of a case are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lengths {
    /// All of full length.
    #[default]
    Dense,
    /// Keys used by each batch entry.
    UsedKeys(Vec<i32>),
    /// Cumulative lengths; `batch` is 1, and `sq` and `sk` are the totals.
    Packed {
        /// Of Q.
        cu_q: Vec<i32>,
        /// Of K and V.
        cu_k: Vec<i32>,
    },
}

/// One test case. Its [`Display`](core::fmt::Display) form is one line that parses back into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What a person calls it; may be empty.
    pub name: String,
    /// Batch entries.
    pub batch: usize,
    /// Queries a batch entry.
    pub sq: usize,
    /// Keys a batch entry.
    pub sk: usize,
    /// Heads of Q.
    pub heads_q: usize,
    /// Heads of K and V.
    pub heads_k: usize,
    /// Head dimension of Q and K.
    pub d: usize,
    /// Head dimension of V and O.
    pub dv: usize,
    /// The type of Q, K, V and O.
    pub dtype: DType,
    /// How the tensors are stored.
    pub arrangement: Arrangement,
    /// What the inputs are.
    pub distribution: Distribution,
    /// Decides the inputs, together with the distribution.
    pub seed: u64,
    /// The options.
    pub options: Options,
    /// Whether the LSE is wanted.
    pub lse: bool,
    /// Whether heads have sinks.
    pub sinks: bool,
    /// Whether heads have ALiBi slopes.
    pub alibi: bool,
    /// The lengths of the sequences.
    pub lengths: Lengths,
}

impl Default for Case {
    /// One bf16 head of 64 queries and keys, d = 64.
    fn default() -> Self {
        Self {
            name: String::new(),
            batch: 1,
            sq: 64,
            sk: 64,
            heads_q: 1,
            heads_k: 1,
            d: 64,
            dv: 64,
            dtype: DType::Bf16,
            arrangement: Arrangement::Bshd,
            distribution: Distribution::Normal,
            seed: 0,
            options: Options::default(),
            lse: true,
            sinks: false,
            alibi: false,
            lengths: Lengths::Dense,
        }
    }
}

/// Something that a case asks of a backend beyond dense bf16 or f16 attention with d = dv of 64,
/// 128 or 256. A backend either computes a case or refuses it with a typed error when planned.
///
/// [`F32`](Self::F32), [`HeadDim`](Self::HeadDim) and [`UnalignedStrides`](Self::UnalignedStrides) are
/// what tensor cores and tensor maps cannot do: no kernel of ours takes them. Each of the others is a
/// feature of its own, that a kernel has or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// Q, K, V and O are f32.
    F32,
    /// d or dv is no multiple of 8, or above 256.
    HeadDim,
    /// d ≠ dv, or d is not one of 64, 128 and 256.
    OtherHeadDim,
    /// Batch entries use part of K and V.
    UsedKeys,
    /// Sequences are packed.
    Packed,
    /// A window.
    Window,
    /// A softcap.
    Softcap,
    /// Sinks.
    Sinks,
    /// ALiBi.
    Alibi,
    /// A scale that is not above zero: the largest product is not the largest score.
    NonPositiveScale,
    /// A stride between rows, heads or batch entries, of which there are several, that is no multiple of
    /// 16 bytes.
    UnalignedStrides,
    /// A stride of zero between slices.
    ZeroStride,
    /// No output at all: no batch entry or no query.
    EmptyOutput,
    /// No key at all.
    EmptyKeys,
}

impl Case {
    /// The problem that this case poses.
    pub fn problem(&self) -> Problem {
        let spec = |s, h, d, operand| TensorSpec {
            dtype: self.dtype,
            layout: self.arrangement.layout([self.batch, s, h, d], operand),
        };
        Problem {
            q: spec(self.sq, self.heads_q, self.d, Operand::Q),
            k: spec(self.sk, self.heads_k, self.d, Operand::K),
            v: spec(self.sk, self.heads_k, self.dv, Operand::V),
            o: spec(self.sq, self.heads_q, self.dv, Operand::O),
            lse: self.lse,
            sinks: self.sinks,
            alibi: self.alibi,
            sequences: match &self.lengths {
                Lengths::Dense => Sequences::Dense,
                Lengths::UsedKeys(_) => Sequences::UsedKeys,
                Lengths::Packed { cu_q, cu_k } => Sequences::Packed {
                    count: cu_q.len().saturating_sub(1),
                    max_q: longest(cu_q),
                    max_k: longest(cu_k),
                },
            },
            options: self.options,
        }
    }

    /// What this case asks of a backend, in order and without repetition.
    pub fn needs(&self) -> Vec<Need> {
        let problem = self.problem();
        let window = self.options.window;
        let over = |layout: &Layout, wrong: &dyn Fn(usize) -> bool| {
            let steps = layout.strides.iter().zip(&layout.shape).take(3);
            steps.filter(|&(_, &extent)| extent > 1).any(|(&stride, _)| wrong(stride * self.dtype.size()))
        };
        let layouts = [&problem.q.layout, &problem.k.layout, &problem.v.layout, &problem.o.layout];
        let any = |wrong: &dyn Fn(usize) -> bool| layouts.iter().any(|layout| over(layout, wrong));
        let needs = [
            (Need::F32, self.dtype == DType::F32),
            (Need::HeadDim, [self.d, self.dv].iter().any(|&dim| dim % 8 != 0 || dim > 256)),
            (Need::OtherHeadDim, self.d != self.dv || ![64, 128, 256].contains(&self.d)),
            (Need::UsedKeys, matches!(self.lengths, Lengths::UsedKeys(_))),
            (Need::Packed, matches!(self.lengths, Lengths::Packed { .. })),
            (Need::Window, window.left.is_some() || window.right.is_some()),
            (Need::Softcap, self.options.softcap.is_some()),
            (Need::Sinks, self.sinks),
            (Need::Alibi, self.alibi),
            (Need::NonPositiveScale, self.options.scale.is_some_and(|scale| scale <= 0.0)),
            (Need::UnalignedStrides, any(&|bytes| bytes % 16 != 0)),
            (Need::ZeroStride, any(&|bytes| bytes == 0)),
            (Need::EmptyOutput, self.batch == 0 || self.sq == 0),
            (Need::EmptyKeys, self.sk == 0),
        ];
        needs.into_iter().filter(|&(_, needed)| needed).map(|(need, _)| need).collect()
    }

    /// The queries and the keys of each sequence. Lengths that break their rules count as none.
    pub fn lengths_of_sequences(&self) -> Vec<(usize, usize)> {
        let length = |n: i64| usize::try_from(n).unwrap_or(0);
        match &self.lengths {
            Lengths::Dense => vec![(self.sq, self.sk); self.batch],
            Lengths::UsedKeys(used) => used.iter().map(|&n| (self.sq, length(n.into()))).collect(),
            Lengths::Packed { cu_q, cu_k } => {
                let of = |cu: &[i32]| -> Vec<usize> {
                    cu.windows(2).map(|pair| length(i64::from(pair[1]) - i64::from(pair[0]))).collect()
                };
                of(cu_q).into_iter().zip(of(cu_k)).collect()
            }
        }
    }

    /// The sequence that a token of Q (or of K and V) belongs to.
    pub(super) fn sequence_of(&self, query: bool, batch: usize, token: usize) -> usize {
        match &self.lengths {
            Lengths::Packed { cu_q, cu_k } => {
                let cu = if query { cu_q } else { cu_k };
                cu.partition_point(|&start| i64::from(start) <= token as i64).saturating_sub(1)
            }
            Lengths::Dense | Lengths::UsedKeys(_) => batch,
        }
    }

    /// Whether the sequence's inputs are NaN.
    pub(super) fn is_nan(&self, sequence: usize) -> bool {
        self.distribution == Distribution::NanNeighbours && !sequence.is_multiple_of(2)
    }

    /// Multiplications of the two products, masks aside.
    pub fn products(&self) -> usize {
        let pairs: usize = self.lengths_of_sequences().iter().map(|(queries, keys)| queries * keys).sum();
        pairs * self.heads_q * (self.d + self.dv)
    }
}

fn longest(cu: &[i32]) -> usize {
    let lengths =
        cu.windows(2).map(|pair| usize::try_from(i64::from(pair[1]) - i64::from(pair[0])).unwrap_or(0));
    lengths.max().unwrap_or(0)
}
