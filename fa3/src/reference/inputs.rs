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
    /// A tensor's type or shape does not fit the others.
    #[error("{argument} is {value}, but {rule}")]
    Shape {
        /// The tensor.
        argument: &'static str,
        /// Its type and shape.
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

impl<'a, T: Element> Inputs<'a, T> {
    /// The three tensors, and nothing optional.
    pub fn new(q: &'a [T], k: &'a [T], v: &'a [T]) -> Self {
        Self { q, k, v, sinks: None, alibi: None, used_k: None, cu_q: None, cu_k: None }
    }

    /// Checks all that indexing relies on, and finds the sequences.
    pub(super) fn check(&self, problem: &Problem) -> Result<Vec<Sequence>, InputError> {
        let [batch, sq, heads_q, d] = problem.q.layout.shape;
        let [_, sk, heads_k, _] = problem.k.layout.shape;
        let dv = problem.v.layout.shape[3];
        tensor::<T>("q", &problem.q, [batch, sq, heads_q, d], Some(self.q))?;
        tensor::<T>("k", &problem.k, [batch, sk, heads_k, d], Some(self.k))?;
        tensor::<T>("v", &problem.v, [batch, sk, heads_k, dv], Some(self.v))?;
        tensor::<T>("o", &problem.o, [batch, sq, heads_q, dv], None)?;
        if heads_q > 0 && heads_q.checked_rem(heads_k) != Some(0) {
            let value = format!("{heads_k} heads");
            let rule = format!("the number of K's heads divides that of Q's, {heads_q}");
            return Err(InputError::Shape { argument: "k", value, rule });
        }
        let packed = matches!(problem.sequences, crate::Sequences::Packed { .. });
        if packed && batch != 1 {
            let value = format!("{batch} batch entries");
            let rule = "packed sequences are one batch entry".to_owned();
            return Err(InputError::Shape { argument: "q", value, rule });
        }
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
        let lengths = Lengths { used_k: self.used_k, cu_q: self.cu_q, cu_k: self.cu_k };
        Ok(sequences(problem, lengths)?)
    }
}

fn tensor<T: Element>(
    argument: &'static str,
    spec: &TensorSpec,
    shape: [usize; 4],
    data: Option<&[T]>,
) -> Result<(), InputError> {
    let wrong = |rule: String| {
        let value = format!("{} {:?} with strides {:?}", spec.dtype, spec.layout.shape, spec.layout.strides);
        Err(InputError::Shape { argument, value, rule })
    };
    if spec.dtype != T::DTYPE || spec.layout.shape != shape {
        return wrong(format!("it must be {} {shape:?}", T::DTYPE));
    }
    if shape[3] > 1 && spec.layout.strides[3] != 1 {
        return wrong("the elements of a head lie next to each other".to_owned());
    }
    if shape[3] == 0 {
        return wrong("a head has at least one dimension".to_owned());
    }
    let compact = crate::Layout::contiguous(shape).span();
    let (Some(needed), Some(_)) = (spec.layout.span(), compact) else {
        return wrong("its span must be addressable".to_owned());
    };
    match data {
        Some(data) if data.len() < needed => Err(InputError::Short { argument, given: data.len(), needed }),
        _ => Ok(()),
    }
}

fn head_values(
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
