//! The operands of the reference, as slices.

use super::{LengthsError, Row};
use crate::lengths::{Lengths, Sequence, sequences};
use crate::{Element, Problem, TensorSpec};

/// The operands of one problem as slices. Each of `q`, `k` and `v` begins at the tensor's first
/// element and holds at least the span of its layout.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, T> {
    /// Laid out as `problem.q` says.
    pub q: &'a [T],
    /// Laid out as `problem.k` says.
    pub k: &'a [T],
    /// Laid out as `problem.v` says.
    pub v: &'a [T],
    /// `[heads_q]`, when `problem.sinks`.
    pub sinks: Option<&'a [f32]>,
    /// `[heads_q]`, when `problem.alibi`.
    pub alibi: Option<&'a [f32]>,
    /// `[batch]`, for [`Sequences::UsedKeys`](crate::Sequences::UsedKeys).
    pub used_k: Option<&'a [i32]>,
    /// `[count + 1]`, for [`Sequences::Packed`](crate::Sequences::Packed).
    pub cu_q: Option<&'a [i32]>,
    /// `[count + 1]`, for [`Sequences::Packed`](crate::Sequences::Packed).
    pub cu_k: Option<&'a [i32]>,
}

/// Why the reference cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The problem is malformed, or of another type than the slices.
    #[error("{argument} is {value}, but {rule}")]
    Problem {
        /// The argument.
        argument: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        rule: String,
    },
    /// A slice is too short.
    #[error("{argument} holds {given} elements, but {needed} are needed")]
    Short {
        /// The slice.
        argument: &'static str,
        /// Elements given.
        given: usize,
        /// Elements needed.
        needed: usize,
    },
    /// An operand is given that the problem does not use, or missing although it does.
    #[error("{argument} is {}, but the problem says otherwise", if *given { "given" } else { "missing" })]
    Presence {
        /// The operand.
        argument: &'static str,
        /// Whether it is given.
        given: bool,
    },
    /// A length array breaks its rules.
    #[error(transparent)]
    Lengths(#[from] LengthsError),
    /// There is no such row.
    #[error(
        "{row:?} does not exist among {sequences} sequences and {heads} heads, or its sequence is shorter"
    )]
    Row {
        /// The row asked for.
        row: Row,
        /// How many sequences there are.
        sequences: usize,
        /// How many heads there are.
        heads: usize,
    },
}

impl InputError {
    /// Why the problem is malformed.
    pub(super) fn of(error: crate::Error) -> Self {
        match error {
            crate::Error::Argument { argument, value, rule, .. } => Self::Problem { argument, value, rule },
            other => {
                let (value, rule) = ("malformed".to_owned(), other.to_string());
                Self::Problem { argument: "the problem", value, rule }
            }
        }
    }
}

impl<'a, T: Element> Inputs<'a, T> {
    /// The three tensors, and nothing optional.
    pub fn new(q: &'a [T], k: &'a [T], v: &'a [T]) -> Self {
        Self { q, k, v, sinks: None, alibi: None, used_k: None, cu_q: None, cu_k: None }
    }

    /// Checks all that indexing relies on, and finds the sequences: none where O has no element.
    pub(super) fn check(&self, problem: &Problem) -> Result<Vec<Sequence>, InputError> {
        let dims = problem.dims().map_err(InputError::of)?;
        let heads_q = dims.heads_q;
        tensor("q", &problem.q, self.q)?;
        tensor("k", &problem.k, self.k)?;
        tensor("v", &problem.v, self.v)?;
        let packed = matches!(problem.sequences, crate::Sequences::Packed { .. });
        head_values("sinks", problem.sinks, self.sinks, heads_q)?;
        head_values("alibi", problem.alibi, self.alibi, heads_q)?;
        let used = problem.sequences == crate::Sequences::UsedKeys;
        for (argument, wanted, given) in [
            ("used_k", used, self.used_k.is_some()),
            ("cu_q", packed, self.cu_q.is_some()),
            ("cu_k", packed, self.cu_k.is_some()),
        ] {
            if wanted != given {
                return Err(InputError::Presence { argument, given });
            }
        }
        if dims.is_empty() {
            return Ok(Vec::new());
        }
        let lengths = Lengths { used_k: self.used_k, cu_q: self.cu_q, cu_k: self.cu_k };
        Ok(sequences(problem, lengths)?)
    }
}

pub(super) fn tensor<T: Element>(
    argument: &'static str,
    spec: &TensorSpec,
    data: &[T],
) -> Result<(), InputError> {
    if spec.dtype != T::DTYPE {
        let (value, rule) = (spec.dtype.to_string(), format!("the slices hold {}", T::DTYPE));
        return Err(InputError::Problem { argument, value, rule });
    }
    match spec.layout.span().unwrap_or(usize::MAX) {
        needed if data.len() < needed => Err(InputError::Short { argument, given: data.len(), needed }),
        _ => Ok(()),
    }
}

pub(super) fn head_values(
    argument: &'static str,
    wanted: bool,
    values: Option<&[f32]>,
    heads: usize,
) -> Result<(), InputError> {
    match values {
        Some(values) if wanted && values.len() < heads => {
            Err(InputError::Short { argument, given: values.len(), needed: heads })
        }
        given if wanted != given.is_some() => Err(InputError::Presence { argument, given: given.is_some() }),
        _ => Ok(()),
    }
}
