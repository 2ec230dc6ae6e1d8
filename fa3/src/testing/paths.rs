//! Every way through each kernel, on short sequences: dense or ragged batches, one head a tile or several,
//! scores as they are or edited, and keys that are out of sight on the left, on the right, on both sides or
//! on none.

use super::list::cycle;
use super::shapes::Shape;
use super::{Arrangement, Case, Distribution};
use crate::{DType, Options, Window};

use Shape::{Dense, Packed, UsedKeys};

/// Head dimensions, of K and V: those that tiles are made for, and some that fill part of such a tile.
const HEAD_DIMS: [[(usize, usize); 2]; 6] = [
    [(64, 64), (56, 40)],
    [(96, 96), (80, 96)],
    [(128, 128), (104, 120)],
    [(192, 128), (136, 96)],
    [(192, 192), (160, 152)],
    [(256, 256), (200, 248)],
];

/// Heads up to this wide have several kernels, and batch invariance has a say in which is taken.
const SEVERAL_KERNELS_TO: usize = 96;

pub(super) fn paths() -> Vec<Case> {
    let mut list = Vec::new();
    for dims in HEAD_DIMS {
        for dtype in [DType::Bf16, DType::F16] {
            let several = dims[0].0 <= SEVERAL_KERNELS_TO;
            for bits in 0..if several { 64usize } else { 32 } {
                let [ragged, together, edited, left, right, batch_invariant] =
                    [0, 1, 2, 3, 4, 5].map(|bit| bits >> bit & 1 == 1);
                let n = list.len();
                let options = Options { batch_invariant, ..options(n, edited, left, right) };
                let (d, dv) = dims[(n / 3) % 2];
                list.push(case(n, ragged, together, Case { d, dv, dtype, options, ..Case::default() }));
            }
        }
    }
    for (n, dims) in HEAD_DIMS.iter().enumerate() {
        for dtype in [DType::Bf16, DType::F16] {
            let [(d, dv), _] = *dims;
            for batch_invariant in [false, true].into_iter().filter(|&set| !set || d <= SEVERAL_KERNELS_TO) {
                let options = Options { batch_invariant, ..Options::default() };
                list.extend(walks(Case {
                    d,
                    dv,
                    dtype,
                    options,
                    seed: 41_000 + 4 * n as u64,
                    ..Case::default()
                }));
            }
        }
    }
    list
}

/// Many tiles for one CTA, and under a causal mask an odd number of rows of them and of heads: on one SM
/// and on two, whose number a seed's remainder by four decides.
fn walks(case: Case) -> [Case; 3] {
    let many = Case { heads_q: 7, heads_k: 7, ..case.clone() };
    let causal = Options { causal: true, ..case.options };
    let rows = Case { heads_q: 3, heads_k: 3, options: causal, ..case };
    let seed = rows.seed;
    [
        Dense(1, 100, 140).of(many),
        Dense(1, 575, 575).of(rows.clone()),
        Dense(1, 320, 340).of(Case { seed: seed + 1, ..rows }),
    ]
}

fn options(n: usize, edited: bool, left: bool, right: bool) -> Options {
    let (scale, softcap) = match n / 2 % 3 {
        0 => (None, Some(8.0)),
        1 => (Some(-0.1), None),
        _ => (Some(0.0), Some(20.0)),
    };
    let mut options = if edited { Options { scale, softcap, ..Options::PLAIN } } else { Options::PLAIN };
    options.causal = right && (n / 2).is_multiple_of(2);
    let right = right && !options.causal;
    options.window = Window { left: left.then_some(9 + n % 50), right: right.then_some(n % 30) };
    options
}

fn case(n: usize, ragged: bool, together: bool, case: Case) -> Case {
    let shape = match (ragged, together) {
        (false, true) => Dense(2, 3, 70 + n % 40),
        (false, false) => Dense(1, 100, 140),
        (true, true) => cycle([Packed(&[3, 1, 0, 2], &[70, 90, 5, 0]), UsedKeys(3, 90, &[70, 0, 90])], n / 4),
        (true, false) => cycle([Packed(&[100, 1, 30], &[140, 90, 0]), UsedKeys(100, 140, &[140, 81])], n / 4),
    };
    let arrangements =
        [Arrangement::Bshd, Arrangement::Mixed, Arrangement::Bhsd, Arrangement::Padded, Arrangement::Sbhd];
    let distributions = [
        Distribution::Normal,
        Distribution::Rising,
        Distribution::NanNeighbours,
        Distribution::Falling,
        Distribution::Sharp,
        Distribution::Outliers,
        Distribution::LargeValues,
    ];
    let (heads_q, heads_k) = if together { cycle([(4, 1), (6, 2), (7, 1)], n) } else { (1, 1) };
    shape.of(Case {
        heads_q,
        heads_k,
        arrangement: cycle(arrangements, n),
        distribution: cycle(distributions, n),
        seed: 40_000 + n as u64,
        sinks: n % 5 == 1,
        lse: n % 7 != 3,
        ..case
    })
}
