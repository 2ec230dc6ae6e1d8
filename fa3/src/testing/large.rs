//! Long sequences, many of them, and many heads to a head of K and V: what the short cases of
//! [`covering`](super::covering) do not reach.

use super::shapes::cumulative;
use super::{Arrangement, Case, Distribution, Lengths};
use crate::{DType, Options, Window};

fn case([batch, sq, sk, heads_q, heads_k, d, dv]: [usize; 7]) -> Case {
    Case { batch, sq, sk, heads_q, heads_k, d, dv, seed: 30_000 + sk as u64, ..Case::default() }
}

fn causal(case: Case) -> Case {
    Case { options: Options { causal: true, ..case.options }, ..case }
}

fn window(left: Option<usize>, right: Option<usize>, case: Case) -> Case {
    Case { options: Options { window: Window { left, right }, ..case.options }, ..case }
}

fn f16(case: Case) -> Case {
    Case { dtype: DType::F16, ..case }
}

fn packed(q: &[i32], k: &[i32], case: Case) -> Case {
    let (cu_q, cu_k) = (cumulative(q), cumulative(k));
    let total = |cu: &[i32]| cu.last().map_or(0, |&end| end as usize);
    Case { sq: total(&cu_q), sk: total(&cu_k), lengths: Lengths::Packed { cu_q, cu_k }, ..case }
}

/// Twelve lengths up to 300, without an order to them.
const LONG: [i32; 12] = [3, 114, 300, 0, 33, 201, 64, 128, 257, 1, 90, 190];

/// So many sequences of each length, one after the other.
fn runs(runs: &[(usize, i32)]) -> Vec<i32> {
    runs.iter().flat_map(|&(count, length)| vec![length; count]).collect()
}

pub(super) fn large() -> Vec<Case> {
    let short = runs(&[(100, 1), (20, 0), (150, 2), (1, 0), (30, 3)]);
    let keys = runs(&[(1, 0), (40, 90), (60, 3), (200, 17)]);
    let queries = runs(&[(12, 1)]);
    let neighbours = Distribution::NanNeighbours;
    vec![
        causal(case([1, 1000, 1500, 2, 1, 96, 96])),
        f16(case([1, 700, 1200, 1, 1, 192, 192])),
        causal(case([1, 500, 2000, 2, 2, 192, 128])),
        window(Some(256), Some(0), case([1, 2048, 2048, 2, 1, 40, 40])),
        f16(window(Some(300), Some(300), case([1, 1500, 1400, 1, 1, 128, 128]))),
        window(Some(511), None, causal(case([1, 300, 3000, 1, 1, 256, 256]))),
        Case { alibi: true, sinks: true, ..causal(case([1, 1100, 1100, 2, 1, 72, 72])) },
        Case { arrangement: Arrangement::Mixed, ..f16(case([2, 600, 900, 2, 2, 88, 88])) },
        case([2, 1, 8191, 32, 4, 96, 96]),
        f16(case([1, 2, 6000, 16, 1, 128, 128])),
        // More heads to one of K and V than half a tile has rows, as many as it has, and more.
        case([2, 1, 300, 71, 1, 64, 64]),
        causal(case([1, 3, 200, 128, 1, 128, 128])),
        f16(causal(case([1, 2, 190, 130, 1, 64, 64]))),
        causal(case([1, 5, 100, 194, 1, 64, 64])),
        packed(&LONG, &LONG, causal(case([1, 0, 0, 2, 1, 128, 128]))),
        packed(&[1, 1, 64, 2, 0, 140, 3, 200, 17, 0, 5, 1], &LONG, f16(case([1, 0, 0, 4, 2, 64, 64]))),
        Case { distribution: neighbours, ..packed(&queries, &LONG, case([1, 0, 0, 8, 1, 128, 128])) },
        // More sequences than a warp, or the threads that list their tiles.
        packed(&short, &keys, causal(case([1, 0, 0, 2, 1, 64, 64]))),
        packed(&keys, &short, f16(case([1, 0, 0, 6, 2, 32, 32]))),
        Case {
            lengths: Lengths::UsedKeys(keys),
            distribution: neighbours,
            ..case([301, 1, 90, 4, 1, 64, 64])
        },
    ]
}
