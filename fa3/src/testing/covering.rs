//! What the GPU's kernels take, in every combination of two features and the riskier ones of three: every
//! head dimension with all lengths of [`SHAPES`], and each other feature with each of these and with each
//! other.

use super::design::Design;
use super::shapes::{KINDS, SHAPES};
use super::{Arrangement, Case, Distribution};
use crate::{DType, Options, Window};

/// Every multiple of 8 up to 256, for K and V alike; and pairs that differ.
pub(super) fn head_dims() -> Vec<(usize, usize)> {
    let same = (1..=32).map(|n| (8 * n, 8 * n));
    let different = [
        (192, 128),
        (136, 128),
        (144, 64),
        (184, 120),
        (64, 128),
        (128, 64),
        (40, 256),
        (256, 8),
        (8, 256),
        (96, 64),
        (64, 96),
        (160, 96),
        (72, 200),
        (128, 192),
        (248, 136),
    ];
    same.chain(different).collect()
}

/// The widest heads that are computed alike, of K and of V. Tiles of one of these have the columns beyond
/// a narrower head filled.
const CLASSES: [(usize, usize); 6] = [(64, 64), (96, 96), (128, 128), (192, 128), (192, 192), (256, 256)];

fn class((d, dv): (usize, usize)) -> usize {
    CLASSES.iter().take_while(|&&(widest, widest_v)| d > widest || dv > widest_v).count()
}

const DTYPES: [DType; 2] = [DType::Bf16, DType::F16];

/// Causality, and the window on the left and on the right.
const MASKS: [(bool, Option<usize>, Option<usize>); 11] = [
    (false, None, None),
    (true, None, None),
    (false, Some(70), None),
    (false, None, Some(5)),
    (false, Some(100), Some(40)),
    (true, Some(20), None),
    (false, Some(0), Some(0)),
    (false, Some(1), Some(90)),
    (true, Some(128), None),
    (false, Some(0), None),
    (true, Some(3), Some(9)),
];

/// A softcap, sinks and ALiBi.
const BIASES: [(Option<f32>, bool, bool); 9] = [
    (None, false, false),
    (None, true, false),
    (Some(20.0), false, false),
    (None, false, true),
    (None, false, false),
    (Some(5.0), true, false),
    (Some(30.0), false, true),
    (None, true, true),
    (Some(1.5), true, true),
];

/// Heads of Q, and of K and V.
const HEADS: [(usize, usize); 15] = [
    (1, 1),
    (3, 3),
    (2, 1),
    (4, 2),
    (6, 2),
    (4, 1),
    (8, 2),
    (5, 1),
    (6, 1),
    (14, 2),
    (8, 1),
    (12, 1),
    (16, 1),
    (32, 2),
    (32, 1),
];

/// All that a tensor map can describe.
const ARRANGEMENTS: [Arrangement; 9] = [
    Arrangement::Bshd,
    Arrangement::Bhsd,
    Arrangement::Sbhd,
    Arrangement::Padded,
    Arrangement::Fused,
    Arrangement::ExpandBatch,
    Arrangement::ExpandHeads,
    Arrangement::OddUnit,
    Arrangement::Mixed,
];

const DISTRIBUTIONS: [Distribution; 9] = [
    Distribution::Normal,
    Distribution::Outliers,
    Distribution::Constant,
    Distribution::Sharp,
    Distribution::Rising,
    Distribution::Falling,
    Distribution::LargeValues,
    Distribution::HugeNegative,
    Distribution::NanNeighbours,
];

const SCALES: [Option<f32>; 8] = [None, Some(0.05), None, Some(-0.125), None, Some(0.5), None, Some(0.0)];

/// Whether the LSE is wanted, and batch invariance.
const EXTRAS: [(bool, bool); 5] = [(true, false), (true, true), (false, false), (true, false), (false, true)];

// The factors. The second two follow from the first two.
const HEAD_DIM: usize = 0;
const SHAPE: usize = 1;
const CLASS: usize = 2;
const KIND: usize = 3;
const DTYPE: usize = 4;
const MASK: usize = 5;
const BIAS: usize = 6;
const HEAD: usize = 7;
const FACTORS: usize = 12;

/// Multiplications of a case, at most: all heads and lengths meet, but the most heads and the longest
/// lengths only where heads are narrow.
const LARGEST: usize = 1 << 26;

fn design() -> Design {
    let levels = vec![
        head_dims().len(),
        SHAPES.len(),
        CLASSES.len(),
        KINDS,
        DTYPES.len(),
        MASKS.len(),
        BIASES.len(),
        HEADS.len(),
        ARRANGEMENTS.len(),
        DISTRIBUTIONS.len(),
        SCALES.len(),
        EXTRAS.len(),
    ];
    let independent = |factor: &usize| ![CLASS, KIND].contains(factor);
    let factors: Vec<usize> = (0..FACTORS).filter(independent).collect();
    let pairs = factors.iter().enumerate().flat_map(|(n, &a)| factors[n + 1..].iter().map(move |&b| [a, b]));
    let triples = [
        [CLASS, KIND, MASK],
        [CLASS, KIND, BIAS],
        [CLASS, KIND, HEAD],
        [CLASS, DTYPE, MASK],
        [CLASS, MASK, BIAS],
        [KIND, MASK, BIAS],
    ];
    let groups = pairs.map(|pair| pair.to_vec()).chain(triples.map(|triple| triple.to_vec()));
    Design { levels, groups: groups.collect() }
}

/// The levels of every case.
fn rows() -> Vec<Vec<usize>> {
    let dims = head_dims();
    let crossed = (0..dims.len() * SHAPES.len()).map(|n| {
        let (dim, turn) = (n % dims.len(), n / dims.len());
        let shape = (dim + turn) % SHAPES.len();
        vec![dim, shape, class(dims[dim]), SHAPES[shape].kind()]
    });
    let fits = |row: &[usize]| row.len() != HEAD + 1 || sized(row, &dims).products() <= LARGEST;
    design().complete(crossed, fits)
}

/// A case of the lengths and heads that a row begins with.
fn sized(row: &[usize], dims: &[(usize, usize)]) -> Case {
    let ((d, dv), (heads_q, heads_k)) = (dims[row[HEAD_DIM]], HEADS[row[HEAD]]);
    SHAPES[row[SHAPE]].of(Case { heads_q, heads_k, d, dv, ..Case::default() })
}

pub(super) fn covering() -> Vec<Case> {
    let dims = head_dims();
    rows().iter().zip(20_000..).map(|(row, seed)| case(row, &dims, seed)).collect()
}

fn case(row: &[usize], dims: &[(usize, usize)], seed: u64) -> Case {
    let [arrangement, distribution, scale, extra] = [8, 9, 10, 11].map(|factor| row[factor]);
    let ((causal, left, right), (softcap, sinks, alibi)) = (MASKS[row[MASK]], BIASES[row[BIAS]]);
    let (lse, batch_invariant) = EXTRAS[extra];
    let (scale, window) = (SCALES[scale], Window { left, right });
    Case {
        dtype: DTYPES[row[DTYPE]],
        arrangement: ARRANGEMENTS[arrangement],
        distribution: DISTRIBUTIONS[distribution],
        seed,
        options: Options { scale, causal, window, softcap, batch_invariant },
        lse,
        sinks,
        alibi,
        ..sized(row, dims)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::testing::{Lengths, Need};

    #[test]
    fn at_least_two_thousand_cases_that_the_kernels_take() {
        let list = covering();
        assert!(list.len() >= 2_000, "{}", list.len());
        let never = [Need::F32, Need::HeadDim, Need::UnalignedStrides];
        for case in &list {
            assert!(!case.needs().iter().any(|need| never.contains(need)), "{case}");
            assert!(case.products() <= LARGEST, "{case}");
        }
    }

    #[test]
    fn all_combinations_that_are_asked_for_occur() {
        let (design, rows) = (design(), rows());
        assert!(rows.iter().all(|row| row.len() == FACTORS));
        for group in &design.groups {
            let of = |row: &Vec<usize>| -> Vec<usize> { group.iter().map(|&factor| row[factor]).collect() };
            let found: BTreeSet<Vec<usize>> = rows.iter().map(of).collect();
            let all: usize = group.iter().map(|&factor| design.levels[factor]).product();
            assert_eq!(found.len(), all, "{group:?}");
        }
    }

    /// What the cases themselves say, whatever the design is.
    #[test]
    fn features_meet() {
        let mut met = BTreeMap::<(String, String), usize>::new();
        for case in covering() {
            let features = features(&case);
            for (n, a) in features.iter().enumerate() {
                for b in &features[n + 1..] {
                    *met.entry((a.clone(), b.clone())).or_default() += 1;
                }
            }
        }
        let names: BTreeSet<&String> = met.keys().flat_map(|(a, b)| [a, b]).collect();
        let kind = |name: &str| name.split('=').next().map(str::to_owned);
        let mut missing = Vec::new();
        for a in &names {
            for b in names.range::<&String, _>(a..).skip(1) {
                let pair = |a: &&String, b: &&String| met.contains_key(&((*a).clone(), (*b).clone()));
                if kind(a) != kind(b) && !pair(a, b) && !pair(b, a) {
                    missing.push(format!("{a} {b}"));
                }
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }

    fn features(case: &Case) -> Vec<String> {
        let Case { d, dv, dtype, arrangement, distribution, options, .. } = case;
        let sequences = match case.lengths {
            Lengths::Dense => "dense",
            Lengths::UsedKeys(_) => "used",
            Lengths::Packed { .. } => "packed",
        };
        let sign = options.scale.map_or("default", |scale| match scale {
            0.0 => "zero",
            _ if scale < 0.0 => "negative",
            _ => "positive",
        });
        vec![
            format!("dims={d}/{dv}"),
            format!("dtype={dtype}"),
            format!("arrangement={arrangement:?}"),
            format!("distribution={distribution:?}"),
            format!("mask={} {:?} {:?}", options.causal, options.window.left, options.window.right),
            format!("softcap={:?}", options.softcap.is_some()),
            format!("sinks={}", case.sinks),
            format!("alibi={}", case.alibi),
            format!("scale={sign}"),
            format!("ratio={}", case.heads_q / case.heads_k),
            format!("sequences={sequences}"),
            format!("lse={}", case.lse),
            format!("invariant={}", options.batch_invariant),
        ]
    }
}
