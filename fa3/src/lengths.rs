//! Where the sequences of a batch lie, once their lengths are known.

use crate::{Problem, Sequences};

/// One sequence: where its tokens lie in the tensors, and how many of them it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The index in the first dimension of every tensor.
    pub(crate) batch: usize,
    /// The first query.
    pub(crate) q_start: usize,
    /// How many queries.
    pub(crate) q_len: usize,
    /// The first key.
    pub(crate) k_start: usize,
    /// How many keys; nothing beyond them is read.
    pub(crate) k_len: usize,
}

/// The length arrays of a call, where it has them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lengths<'a> {
    /// For [`Sequences::UsedKeys`].
    pub(crate) used_k: Option<&'a [i32]>,
    /// For [`Sequences::Packed`].
    pub(crate) cu_q: Option<&'a [i32]>,
    /// For [`Sequences::Packed`].
    pub(crate) cu_k: Option<&'a [i32]>,
}

/// A length array that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument} is {value}, but {rule}")]
pub struct LengthsError {
    /// The array or one of its entries.
    pub argument: String,
    /// What it is.
    pub value: String,
    /// What it must be.
    pub rule: String,
}

fn error(argument: impl Into<String>, value: impl Into<String>, rule: impl Into<String>) -> LengthsError {
    LengthsError { argument: argument.into(), value: value.into(), rule: rule.into() }
}

/// The sequences of a problem whose shapes agree.
pub(crate) fn sequences(problem: &Problem, lengths: Lengths<'_>) -> Result<Vec<Sequence>, LengthsError> {
    let [batch, sq, ..] = problem.q.layout.shape;
    let sk = problem.k.layout.shape[1];
    let whole = |batch, k_len| Sequence { batch, q_start: 0, q_len: sq, k_start: 0, k_len };
    match problem.sequences {
        Sequences::Dense => Ok((0..batch).map(|b| whole(b, sk)).collect()),
        Sequences::UsedKeys => {
            let used = array("used_k", lengths.used_k, batch)?;
            let entry = |(b, &n): (usize, &i32)| match usize::try_from(n) {
                Ok(n) if n <= sk => Ok(whole(b, n)),
                _ => Err(error(
                    format!("used_k[{b}]"),
                    n.to_string(),
                    format!("a sequence uses 0 to {sk} keys"),
                )),
            };
            used.iter().enumerate().map(entry).collect()
        }
        Sequences::Packed { count, max_q, max_k } => {
            let entries = count.saturating_add(1);
            let q = spans("cu_q", array("cu_q", lengths.cu_q, entries)?, sq, max_q)?;
            let k = spans("cu_k", array("cu_k", lengths.cu_k, entries)?, sk, max_k)?;
            let join =
                |((q_start, q_len), (k_start, k_len))| Sequence { batch: 0, q_start, q_len, k_start, k_len };
            Ok(q.into_iter().zip(k).map(join).collect())
        }
    }
}

fn array<'a>(name: &str, given: Option<&'a [i32]>, entries: usize) -> Result<&'a [i32], LengthsError> {
    let given = given.ok_or_else(|| error(name, "missing", "the problem's sequences need it"))?;
    if given.len() != entries {
        return Err(error(name, format!("{} entries", given.len()), format!("the sequences need {entries}")));
    }
    Ok(given)
}

/// Start and length of each sequence.
fn spans(name: &str, cu: &[i32], total: usize, max: usize) -> Result<Vec<(usize, usize)>, LengthsError> {
    let mut ends = Vec::with_capacity(cu.len());
    let mut before = 0usize;
    for (n, &value) in cu.iter().enumerate() {
        let rule = if n == 0 {
            "offsets begin at 0".to_owned()
        } else {
            format!("offsets rise, here from {before} to at most {total}")
        };
        let limit = if n == 0 { 0 } else { total };
        let end = usize::try_from(value).ok().filter(|&end| end >= before && end <= limit);
        before = end.ok_or_else(|| error(format!("{name}[{n}]"), value.to_string(), rule))?;
        ends.push(before);
    }
    if before != total {
        let last = cu.len().saturating_sub(1);
        return Err(error(
            format!("{name}[{last}]"),
            before.to_string(),
            format!("the last offset is the total, {total}"),
        ));
    }
    let span = |(n, pair): (usize, &[usize])| {
        let (start, len) = (pair[0], pair[1] - pair[0]);
        if len > max {
            let rule = format!("no sequence is longer than the {max} that the problem says");
            return Err(error(format!("{name}[{}] - {name}[{n}]", n + 1), len.to_string(), rule));
        }
        Ok((start, len))
    };
    ends.windows(2).enumerate().map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Layout, Options, TensorSpec};

    fn problem(batch: usize, sq: usize, sk: usize, sequences: Sequences) -> Problem {
        let spec = |s| TensorSpec { dtype: DType::F32, layout: Layout::contiguous([batch, s, 1, 4]) };
        Problem {
            q: spec(sq),
            k: spec(sk),
            v: spec(sk),
            o: spec(sq),
            lse: true,
            sinks: false,
            alibi: false,
            sequences,
            options: Options::default(),
        }
    }

    #[test]
    fn used_keys_shorten_each_batch_entry() {
        let problem = problem(2, 5, 7, Sequences::UsedKeys);
        let lengths = |used| Lengths { used_k: used, ..Lengths::default() };
        let found = sequences(&problem, lengths(Some(&[0, 7]))).unwrap();
        assert_eq!(found.iter().map(|s| (s.batch, s.k_len)).collect::<Vec<_>>(), [(0, 0), (1, 7)]);
        for wrong in [Some(&[0, 8][..]), Some(&[-1, 7]), Some(&[7]), None] {
            assert!(sequences(&problem, lengths(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn packed_offsets_rise_from_zero_to_the_total() {
        let problem = problem(1, 5, 7, Sequences::Packed { count: 2, max_q: 5, max_k: 6 });
        let lengths = |cu_q, cu_k| Lengths { cu_q: Some(cu_q), cu_k: Some(cu_k), used_k: None };
        let found = sequences(&problem, lengths(&[0, 0, 5], &[0, 1, 7])).unwrap();
        assert_eq!(found[0], Sequence { batch: 0, q_start: 0, q_len: 0, k_start: 0, k_len: 1 });
        assert_eq!(found[1], Sequence { batch: 0, q_start: 0, q_len: 5, k_start: 1, k_len: 6 });
        for wrong in [&[0, 3, 2][..], &[1, 3, 5], &[0, 3, 4], &[0, 6, 5], &[0, 5], &[0, -1, 5]] {
            assert!(sequences(&problem, lengths(wrong, &[0, 1, 7])).is_err(), "{wrong:?}");
        }
        assert!(sequences(&problem, lengths(&[0, 0, 5], &[0, 0, 7])).is_err(), "longer than max_k");
    }
}
