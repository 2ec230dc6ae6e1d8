//! Every option, element type and head dimension in combination, those that no kernel takes among them.

use super::list::cycle;
use super::{Arrangement, Case, Distribution, Lengths};
use crate::{DType, Options, Window};

pub(super) fn options() -> Vec<Case> {
    let mut list = Vec::new();
    for n in 0..144usize {
        let seed = 10_000 + n as u64;
        let (d, dv) = cycle(
            [
                (64, 64),
                (8, 8),
                (128, 128),
                (16, 16),
                (24, 24),
                (192, 128),
                (32, 32),
                (40, 40),
                (5, 3),
                (96, 96),
                (160, 160),
                (256, 256),
                (1, 1),
            ],
            n,
        );
        let windows =
            [(None, None), (Some(3), None), (None, Some(2)), (Some(0), Some(0)), (Some(70), Some(5))];
        let (left, right) = cycle(windows, n / 2);
        let heads_k = cycle([1, 2], n / 2);
        let mut case = Case {
            batch: cycle([1, 2, 3], n / 3),
            sq: cycle([1, 5, 33, 64, 130, 200, 257], n / 2),
            sk: cycle([3, 64, 300, 1, 129, 31, 192, 700], n / 3),
            heads_k,
            heads_q: heads_k * cycle([1, 3, 2, 8], n / 4),
            d,
            dv,
            dtype: cycle([DType::F32, DType::Bf16, DType::F16], n),
            arrangement: cycle(Arrangement::NAMES, n / 2).0,
            distribution: cycle(Distribution::NAMES, n / 3).0,
            seed,
            options: Options {
                causal: n % 2 == 1,
                window: Window { left, right },
                softcap: cycle([None, Some(20.0), None, Some(1.5)], n / 3),
                scale: cycle([None, None, Some(0.3)], n / 5),
                batch_invariant: n % 7 == 3,
            },
            lse: n % 5 != 0,
            sinks: n % 3 == 1,
            alibi: n % 4 == 2,
            ..Case::default()
        };
        case.lengths = lengths(&mut case, n);
        list.push(case);
    }
    list
}

/// Uneven lengths within the extents of the case; a packed case is made one batch entry.
fn lengths(case: &mut Case, n: usize) -> Lengths {
    let part = |total: usize, numerator: usize| (total * (numerator % 6) / 5) as i32;
    match n / 2 % 3 {
        0 => Lengths::Dense,
        1 => Lengths::UsedKeys((0..case.batch).map(|b| part(case.sk, n + 3 * b)).collect()),
        _ => {
            case.batch = 1;
            let cut = |total: usize, a: usize, b: usize| {
                let (a, b) = (part(total, a), part(total, b));
                vec![0, a.min(b), a.max(b), total as i32]
            };
            Lengths::Packed { cu_q: cut(case.sq, n, n / 2), cu_k: cut(case.sk, n / 3, n / 5) }
        }
    }
}
