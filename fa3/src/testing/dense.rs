//! Dense batches of bf16 and f16, d = dv of 64, 128 and 256, causal or not: lengths that no ragged batch
//! has, and long ones.

use super::list::cycle;
use super::{Arrangement, Case, Distribution};
use crate::{DType, Options};

/// Multiplications of a dense case, at most.
const LARGEST: usize = 1 << 26;

/// Query and key lengths: on, just below and just above the extents of tiles (64, 80, 128, 192),
/// one or several tiles, more queries than keys and the reverse.
const LENGTHS: [(usize, usize); 34] = [
    (1, 1),
    (1, 257),
    (2, 3),
    (3, 2),
    (17, 63),
    (63, 17),
    (64, 64),
    (64, 65),
    (65, 64),
    (79, 80),
    (80, 81),
    (81, 79),
    (127, 128),
    (128, 127),
    (128, 129),
    (129, 128),
    (191, 193),
    (192, 192),
    (193, 191),
    (255, 256),
    (256, 255),
    (257, 129),
    (384, 256),
    (256, 384),
    (511, 512),
    (512, 511),
    (640, 384),
    (80, 640),
    (1, 1024),
    (17, 1000),
    (1000, 1024),
    (1024, 1000),
    (1024, 3),
    (384, 1024),
];

pub(super) fn dense() -> Vec<Case> {
    let mut list = Vec::new();
    for (t, dtype) in [DType::Bf16, DType::F16].into_iter().enumerate() {
        for (n, d) in [64, 128, 256].into_iter().enumerate() {
            for causal in [false, true] {
                let kind = 6 * t + 2 * n + usize::from(causal);
                for (l, (sq, sk)) in LENGTHS.into_iter().enumerate() {
                    list.push(dense_case(dtype, d, causal, kind, l, (sq, sk), list.len() as u64));
                }
            }
        }
    }
    list
}

fn dense_case(
    dtype: DType,
    d: usize,
    causal: bool,
    kind: usize,
    l: usize,
    (sq, sk): (usize, usize),
    seed: u64,
) -> Case {
    use Arrangement::{Bhsd, Bshd, Fused, OddUnit, Padded, Sbhd};
    use Distribution::{Constant, Falling, LargeValues, Normal, Outliers, Rising, Sharp};
    let ratio = cycle([1, 2, 4, 7, 8], 2 * l + kind);
    let mut case = Case {
        sq,
        sk,
        d,
        dv: d,
        dtype,
        seed,
        batch: cycle([1, 2, 3], l / 2 + kind),
        heads_k: cycle([1, 2, 3], l / 5 + kind),
        arrangement: cycle([Bshd, Bhsd, Padded, OddUnit, Sbhd, Fused], l + 5 * kind),
        distribution: cycle(
            [Normal, Outliers, Sharp, Normal, Rising, Falling, Constant, LargeValues],
            l + 3 * kind,
        ),
        options: Options {
            causal,
            scale: cycle([None, None, Some(0.05), None, Some(0.5)], l + 2 * kind),
            ..Options::default()
        },
        lse: !(l + kind).is_multiple_of(7),
        ..Case::default()
    };
    case.heads_q = case.heads_k * ratio;
    // Long cases have fewer heads and batch entries, so that the reference of all takes seconds.
    while case.products() > LARGEST {
        if case.batch > 1 {
            case.batch -= 1;
        } else if case.heads_k > 1 {
            case.heads_q -= case.heads_q / case.heads_k;
            case.heads_k -= 1;
        } else if case.heads_q > 1 {
            case.heads_q /= 2;
        } else {
            break;
        }
    }
    case
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_dense_list_covers_what_the_kernels_take() {
        let dense = dense();
        assert!(dense.len() >= 320, "{}", dense.len());
        assert!(dense.iter().all(|case| case.needs().is_empty()));
        assert!(dense.iter().all(|case| case.products() <= LARGEST || case.heads_q * case.batch == 1));
        for dtype in [DType::Bf16, DType::F16] {
            for d in [64, 128, 256] {
                for causal in [false, true] {
                    let of_kind: Vec<_> = dense
                        .iter()
                        .filter(|case| (case.dtype, case.d, case.options.causal) == (dtype, d, causal))
                        .collect();
                    let ratios: BTreeSet<_> =
                        of_kind.iter().map(|case| case.heads_q / case.heads_k).collect();
                    let batches: BTreeSet<_> = of_kind.iter().map(|case| case.batch).collect();
                    assert!([1, 2, 4, 7, 8].iter().all(|ratio| ratios.contains(ratio)), "{ratios:?}");
                    assert_eq!(batches.len(), 3);
                    assert!(of_kind.iter().any(|case| case.sq > case.sk));
                    assert!(of_kind.iter().any(|case| case.sq < case.sk));
                }
            }
        }
    }
}
