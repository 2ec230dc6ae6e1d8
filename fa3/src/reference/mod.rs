//! Attention in 64-bit arithmetic, straight from its definition: what every backend is checked
//! against, open to users for the same purpose.
//!
//! Inputs are typed, so they are rounded already; everything after them is computed in f64, with
//! the whole row of scores at hand and no tiling. It honours every option of [`Problem`]:
//!
//! - Query `i` of a sequence with `sq` queries and `sk` keys sits at position `i + sk - sq`
//!   (aligned bottom-right); `sk` is the number of *used* keys. Causality and windows are as
//!   [`Window`](crate::Window) says.
//! - The score of a key is `scale · q·k`, then `cap · tanh(score / cap)` with a softcap, then
//!   minus `slope · |i + sk - sq - j|` with ALiBi.
//! - A sink is one more logit in the denominator only. The LSE includes it.
//! - A row that sees no key is zero; its LSE is the sink, or −∞ without one.
//! - Keys and values beyond a sequence's length are never read.

mod inputs;
mod merge;
mod row;

use crate::lengths::Sequence;
use crate::{Element, Problem};

pub use crate::lengths::LengthsError;
pub use inputs::{InputError, Inputs};
pub use merge::merge;
use row::View;

/// One row of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// The batch entry, or which of the packed sequences.
    pub sequence: usize,
    /// The head of Q and O.
    pub head: usize,
    /// The query, counted within its sequence.
    pub query: usize,
}

/// What attention gives for one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowResult {
    /// `dv` values.
    pub o: Vec<f64>,
    /// The natural logarithm of the softmax's denominator.
    pub lse: f64,
}

/// What attention gives for a whole problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Contiguous `[batch, sq, heads_q, dv]`, whatever the layout of `problem.o`.
    pub o: Vec<f64>,
    /// Contiguous `[batch, heads_q, sq]`.
    pub lse: Vec<f64>,
}

/// Attention in f64.
///
/// ```
/// use fa3::reference::{Inputs, forward};
/// use fa3::{DType, Layout, Options, Problem, Sequences, TensorSpec};
///
/// // One query, two keys of equal score: the mean of the two values.
/// let spec = |s, d| TensorSpec { dtype: DType::F32, layout: Layout::contiguous([1, s, 1, d]) };
/// let problem = Problem {
///     q: spec(1, 2),
///     k: spec(2, 2),
///     v: spec(2, 1),
///     o: spec(1, 1),
///     lse: true,
///     sinks: false,
///     alibi: false,
///     sequences: Sequences::Dense,
///     options: Options::default(),
/// };
/// let output = forward(&problem, &Inputs::new(&[1.0f32, 0.0], &[0.0, 1.0, 0.0, -1.0], &[4.0, 8.0]))?;
/// assert_eq!(output.o, [6.0]);
/// assert_eq!(output.lse, [2f64.ln()]);
/// # Ok::<(), fa3::reference::InputError>(())
/// ```
///
/// # Errors
/// [`InputError`] when shapes disagree, a slice is shorter than its layout spans, or the lengths
/// break their rules.
pub fn forward<T: Element>(problem: &Problem, inputs: &Inputs<'_, T>) -> Result<Output, InputError> {
    let sequences = inputs.check(problem)?;
    Ok(whole(problem, inputs, &sequences, |value: T| f64::from(value.to_f32()), row::exact))
}

/// Some rows of attention in f64, in the order asked for: a check of a problem that is too large to
/// compute whole. Costs what these rows cost, and a copy of the heads of K and V that they use.
///
/// ```
/// # use fa3::reference::{Inputs, Row, forward_rows};
/// # use fa3::{DType, Layout, Options, Problem, Sequences, TensorSpec};
/// # let spec = |s| TensorSpec { dtype: DType::F32, layout: Layout::contiguous([1, s, 1, 1]) };
/// # let problem = Problem {
/// #     q: spec(3), k: spec(3), v: spec(3), o: spec(3),
/// #     lse: true, sinks: false, alibi: false, sequences: Sequences::Dense,
/// #     options: Options { causal: true, ..Options::default() },
/// # };
/// let inputs = Inputs::new(&[0.0f32; 3], &[0.0; 3], &[3.0, 5.0, 7.0]);
/// let rows = forward_rows(&problem, &inputs, &[Row { sequence: 0, head: 0, query: 1 }])?;
/// assert_eq!(rows[0].o, [4.0]);
/// # Ok::<(), fa3::reference::InputError>(())
/// ```
///
/// # Errors
/// As [`forward`], and [`InputError::Row`] for a row that the problem does not have.
pub fn forward_rows<T: Element>(
    problem: &Problem,
    inputs: &Inputs<'_, T>,
    rows: &[Row],
) -> Result<Vec<RowResult>, InputError> {
    let sequences = inputs.check(problem)?;
    check_rows(problem, &sequences, rows)?;
    let widen = |value: T| f64::from(value.to_f32());
    Ok(compute(problem, inputs, &sequences, rows, widen, row::exact))
}

/// Whether the problem has all of the rows.
fn check_rows(problem: &Problem, sequences: &[Sequence], rows: &[Row]) -> Result<(), InputError> {
    for &row in rows {
        let queries = sequences.get(row.sequence).map(|sequence| sequence.q_len);
        if row.head >= problem.q.layout.shape[2] || queries.is_none_or(|queries| row.query >= queries) {
            return Err(InputError::Row {
                row,
                sequences: sequences.len(),
                heads: problem.q.layout.shape[2],
            });
        }
    }
    Ok(())
}

/// The plain low-precision computation, whose error bounds what may be expected of a kernel: scores
/// in f32, the whole row's softmax in f32, its unnormalised weights rounded to `T`, their product
/// with V summed in f32, the quotient rounded to `T`.
///
/// # Errors
/// As [`forward`].
pub fn low_precision<T: Element>(problem: &Problem, inputs: &Inputs<'_, T>) -> Result<Output, InputError> {
    let sequences = inputs.check(problem)?;
    Ok(whole(problem, inputs, &sequences, T::to_f32, row::low_precision::<T>))
}

/// Some rows of [`low_precision`], in the order asked for.
///
/// # Errors
/// As [`forward_rows`].
pub fn low_precision_rows<T: Element>(
    problem: &Problem,
    inputs: &Inputs<'_, T>,
    rows: &[Row],
) -> Result<Vec<RowResult>, InputError> {
    let sequences = inputs.check(problem)?;
    check_rows(problem, &sequences, rows)?;
    let attend = row::low_precision::<T>;
    Ok(compute(problem, inputs, &sequences, rows, T::to_f32, attend))
}

fn whole<T: Element, N: Copy + Send + Sync>(
    problem: &Problem,
    inputs: &Inputs<'_, T>,
    sequences: &[Sequence],
    convert: impl Fn(T) -> N + Copy + Sync,
    attend: impl Fn(&View<'_, N>) -> RowResult + Copy + Sync,
) -> Output {
    let [batch, sq, heads, dv] = problem.o.layout.shape;
    if sequences.is_empty() {
        return Output { o: Vec::new(), lse: Vec::new() };
    }
    let mut rows = Vec::with_capacity(batch * sq * heads);
    for (n, sequence) in sequences.iter().enumerate() {
        for head in 0..heads {
            rows.extend((0..sequence.q_len).map(|query| Row { sequence: n, head, query }));
        }
    }
    let results = compute(problem, inputs, sequences, &rows, convert, attend);
    let mut output = Output { o: vec![0.0; batch * sq * heads * dv], lse: vec![0.0; batch * heads * sq] };
    for (row, result) in rows.iter().zip(results) {
        let sequence = sequences[row.sequence];
        let token = sequence.q_start + row.query;
        let first = ((sequence.batch * sq + token) * heads + row.head) * dv;
        output.o[first..first + dv].copy_from_slice(&result.o);
        output.lse[(sequence.batch * heads + row.head) * sq + token] = result.lse;
    }
    output
}

/// Computes rows, those of one head of K and V together so that its copy serves them all.
fn compute<T: Element, N: Copy + Send + Sync>(
    problem: &Problem,
    inputs: &Inputs<'_, T>,
    sequences: &[Sequence],
    rows: &[Row],
    convert: impl Fn(T) -> N + Copy + Sync,
    attend: impl Fn(&View<'_, N>) -> RowResult + Copy + Sync,
) -> Vec<RowResult> {
    let group = problem.q.layout.shape[2] / problem.k.layout.shape[2].max(1);
    let mut shared = std::collections::BTreeMap::<(usize, usize), Vec<usize>>::new();
    for (index, row) in rows.iter().enumerate() {
        shared.entry((row.sequence, row.head / group.max(1))).or_default().push(index);
    }
    let shared: Vec<_> = shared.into_iter().collect();
    let computed = map(&shared, |((n, head_k), indices)| {
        let sequence = sequences[*n];
        let (start, len) = (sequence.k_start, sequence.k_len);
        let k = gather(inputs.k, &problem.k.layout, sequence.batch, start, len, *head_k, convert);
        let v = gather(inputs.v, &problem.v.layout, sequence.batch, start, len, *head_k, convert);
        map(indices, |&index| {
            let Row { head, query, .. } = rows[index];
            let token = sequence.q_start + query;
            let q = gather(inputs.q, &problem.q.layout, sequence.batch, token, 1, head, convert);
            let result = attend(&View {
                q: &q,
                k: &k,
                v: &v,
                dv: problem.v.layout.shape[3],
                query,
                sq: sequence.q_len,
                sk: len,
                options: &problem.options,
                sink: inputs.sinks.map(|sinks| sinks[head]),
                slope: inputs.alibi.map(|slopes| slopes[head]),
            });
            (index, result)
        })
    });
    let mut results: Vec<_> = computed.into_iter().flatten().collect();
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Some tokens of one head, contiguous.
fn gather<T: Copy, N>(
    data: &[T],
    layout: &crate::Layout,
    batch: usize,
    start: usize,
    len: usize,
    head: usize,
    convert: impl Fn(T) -> N,
) -> Vec<N> {
    let [sb, ss, sh, _] = layout.strides;
    let dim = layout.shape[3];
    let mut copied = Vec::with_capacity(len * dim);
    for token in start..start + len {
        let first = batch * sb + token * ss + head * sh;
        copied.extend(data[first..first + dim].iter().map(|&value| convert(value)));
    }
    copied
}

#[cfg(feature = "cpu")]
fn map<A: Sync, B: Send>(items: &[A], f: impl Fn(&A) -> B + Sync) -> Vec<B> {
    use rayon::prelude::*;
    items.par_iter().map(&f).collect()
}

#[cfg(not(feature = "cpu"))]
fn map<A, B>(items: &[A], f: impl Fn(&A) -> B) -> Vec<B> {
    items.iter().map(f).collect()
}

#[cfg(test)]
mod tests;
