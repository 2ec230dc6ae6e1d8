//! How much a problem costs whoever computes it.

use crate::{Dims, Problem, Sequences, TensorSpec};

/// The least work that a problem takes: what speeds are quoted against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations of both products over visible (query, key) pairs only: `2·(d + dv)`
    /// a pair. Lengths may lie in device memory, which planning does not read: of used keys all are
    /// counted, and of packed sequences as if all were as long as the longest.
    pub flops: f64,
    /// Bytes of Q, K, V, O and the LSE, each moved once; repeated (stride 0) slices count once.
    pub bytes: f64,
}

impl Work {
    pub(crate) fn forward(problem: &Problem, dims: &Dims) -> Self {
        let window = problem.options.effective_window();
        let pairs = match problem.sequences {
            Sequences::Dense | Sequences::UsedKeys => {
                dims.batch as f64 * visible_pairs(dims.sq, dims.sk, window.left, window.right)
            }
            Sequences::Packed { max_q, max_k, .. } => {
                // As many sequences of the longest lengths as have that many rows in all.
                let full = if max_q == 0 { 0.0 } else { dims.sq as f64 / max_q as f64 };
                full * visible_pairs(max_q, max_k, window.left, window.right)
            }
        };
        let lse = if problem.lse { dims.lse_len as f64 * 4.0 } else { 0.0 };
        let tensors = [&problem.q, &problem.k, &problem.v, &problem.o].map(bytes).iter().sum::<f64>();
        Self { flops: 2.0 * dims.heads_q as f64 * pairs * (dims.d + dims.dv) as f64, bytes: tensors + lse }
    }
}

fn bytes(spec: &TensorSpec) -> f64 {
    let distinct = spec.layout.shape.iter().zip(spec.layout.strides).map(|(&extent, stride)| {
        // A slice that repeats is read once.
        if stride == 0 { extent.min(1) as f64 } else { extent as f64 }
    });
    distinct.product::<f64>() * spec.dtype.size() as f64
}

/// How many (query, key) pairs of one sequence a bottom-right aligned window leaves:
/// `Σ_i |[i + sk − sq − left, i + sk − sq + right] ∩ [0, sk)|`.
fn visible_pairs(sq: usize, sk: usize, left: Option<usize>, right: Option<usize>) -> f64 {
    let (sq, sk) = (sq as i128, sk as i128);
    let bound = |side: Option<usize>| side.map(|keys| keys as i128);
    // Keys before `i + edge`, over all rows: the difference of two such sums is the window's.
    let keys_before = |edge: i128| -> i128 {
        // Row i contributes clamp(i + edge, 0, sk): zeros, then a rising run, then sk.
        let first = (-edge).clamp(0, sq);
        let full = (sk - edge).clamp(first, sq);
        let rising = full - first;
        rising * (first + edge) + rising * (rising - 1) / 2 + (sq - full) * sk
    };
    let offset = sk - sq;
    let upper =
        bound(right).map_or(sq * sk, |right| keys_before(offset.saturating_add(right).saturating_add(1)));
    let lower = bound(left).map_or(0, |left| keys_before(offset.saturating_sub(left)));
    (upper - lower).max(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn closed_form_counts_what_a_loop_counts(
            sq in 0usize..24, sk in 0usize..24,
            left in proptest::option::of(0usize..30), right in proptest::option::of(0usize..30),
        ) {
            let offset = sk as i64 - sq as i64;
            let mut count = 0u32;
            for i in 0..sq as i64 {
                for j in 0..sk as i64 {
                    let after_left = left.is_none_or(|left| j >= i + offset - left as i64);
                    let before_right = right.is_none_or(|right| j <= i + offset + right as i64);
                    count += u32::from(after_left && before_right);
                }
            }
            prop_assert_eq!(visible_pairs(sq, sk, left, right), f64::from(count));
        }
    }
}
