//! The list of cases.

use super::named::{long_causal, named, paper};
use super::{Arrangement, Case, Distribution, Lengths};
use crate::{DType, Options, Window};

/// Which part of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The cases of [`Set::Full`] that cost next to nothing.
    Small,
    /// The cases of [`Set::Full`] that take an emulated GPU a moment, and a long one for each kernel that
    /// causal masks reach by nothing shorter.
    Emulated,
    /// bf16 and f16, d of 64, 128 and 256, causal and not, lengths around every tile size, in many
    /// arrangements: what the SM90 kernels take.
    Dense,
    /// The smallest inputs of errors that attention libraries are known to have had.
    Named,
    /// Every option, dtype and head dimension, in combination.
    Options,
    /// [`Set::Dense`], [`Set::Named`] and [`Set::Options`].
    Full,
    /// The FlashAttention-3 paper's accuracy experiment: f16, outliers, 4 heads of 2,048 tokens. The
    /// bound on its root mean square error is 10⁻⁴.
    Paper,
}

/// The cases of a set, always the same and in the same order.
///
/// ```
/// use fa3::testing::{Set, cases};
/// let dense = cases(Set::Dense);
/// assert!(dense.len() >= 320 && dense.iter().all(|case| case.lse || !case.sinks));
/// ```
pub fn cases(set: Set) -> Vec<Case> {
    match set {
        Set::Small => cases(Set::Full).into_iter().filter(|case| case.products() <= SMALL).collect(),
        Set::Emulated => {
            let full = cases(Set::Full).into_iter();
            full.filter(|case| whole_tiles(case) <= EMULATED || long_causal().contains(case)).collect()
        }
        Set::Dense => dense(),
        Set::Named => named(),
        Set::Options => options(),
        Set::Full => [dense(), named(), options()].concat(),
        Set::Paper => paper(),
    }
}

/// Multiplications of a small case.
const SMALL: usize = 1 << 22;

/// Multiplications of a case that is emulated, in whole tiles.
const EMULATED: usize = 1 << 26;

/// Multiplications of a case in tiles of 128 queries and 128 keys, which kernels work on whole.
fn whole_tiles(case: &Case) -> usize {
    let tiles = |length: usize| length.next_multiple_of(128);
    Case { sq: tiles(case.sq), sk: tiles(case.sk), ..case.clone() }.products()
}

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

/// An entry of a list that is walked in steps of its own, so that few cases share several.
fn cycle<T: Copy, const N: usize>(list: [T; N], step: usize) -> T {
    list[step % N]
}

fn dense() -> Vec<Case> {
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

fn options() -> Vec<Case> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testing::Need;

    #[test]
    fn the_dense_list_covers_what_the_kernels_take() {
        let dense = cases(Set::Dense);
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

    #[test]
    fn no_two_cases_are_equal() {
        let full = cases(Set::Full);
        let lines: BTreeSet<_> = full.iter().map(Case::to_string).collect();
        assert_eq!(lines.len(), full.len());
        let names: BTreeSet<_> = full.iter().map(|case| &case.name).filter(|name| !name.is_empty()).collect();
        assert_eq!(names.len(), cases(Set::Named).len());
    }

    #[test]
    fn every_need_occurs() {
        use Need::*;
        let found: BTreeSet<_> = cases(Set::Full).iter().flat_map(Case::needs).collect();
        let all = [
            F32,
            HeadDim,
            UsedKeys,
            Packed,
            Window,
            Softcap,
            Sinks,
            Alibi,
            NonPositiveScale,
            UnalignedStrides,
            ZeroStride,
            EmptyOutput,
            EmptyKeys,
        ];
        assert!(all.iter().all(|need| found.contains(need)), "{found:?}");
    }
}
