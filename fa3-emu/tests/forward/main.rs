//! The forward kernels of `fa3-kernels`, on problems with every kind of edge, compared with attention
//! in f64: as near as plain arithmetic of the operand type is, twice.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod kernel;
mod problem;

use fa3_emu::{Options, Order};
use fa3_kernels::{ForwardKernel, Operand, forward_kernels};
use kernel::{compiled, forward};
use problem::Problem;

const BASE: Problem = Problem::PLAIN;

/// Lengths on both sides of a tile's, one token, no key, grouped heads, batches, rows without keys; then
/// windows, packed heads, what edits scores, and lists of tiles.
const SHAPES: &[Problem] = &[
    BASE,
    Problem { sq: 1, sk: 1, ..BASE },
    Problem { sq: 3, sk: 0, heads_q: 2, ..BASE },
    Problem { sq: 200, sk: 333, heads_q: 2, ..BASE },
    Problem { sq: 333, sk: 200, batch: 2, heads_q: 4, heads_k: 2, causal: true, ..BASE },
    Problem { sq: 65, sk: 129, batch: 2, heads_q: 3, causal: true, ..BASE },
    Problem { sq: 2, sk: 1, causal: true, ..BASE },
    Problem { sq: 385, sk: 385, heads_q: 2, heads_k: 1, causal: true, ..BASE },
    Problem { sq: 300, sk: 450, left: Some(70), causal: true, ..BASE },
    Problem { sq: 300, sk: 200, left: Some(3), sinks: true, ..BASE },
    Problem { sq: 50, sk: 200, heads_q: 3, packed_heads: true, causal: true, alibi: true, ..BASE },
    Problem { sq: 200, sk: 300, heads_q: 2, softcap: Some(2.0), alibi: true, causal: true, ..BASE },
    Problem { batch: 4, sq: 130, sk: 200, heads_q: 2, ragged: true, causal: true, ..BASE },
    Problem { batch: 2, sq: 70, sk: 90, heads_q: 2, ragged: true, packed_heads: true, sinks: true, ..BASE },
];

/// The largest difference; NaN counts as infinite.
fn distance(found: impl Iterator<Item = f64>, exact: &[f64]) -> f64 {
    found
        .zip(exact)
        .map(|(a, b)| if a == *b { 0.0 } else { (a - b).abs() })
        .fold(0.0, |most, one| if one.is_nan() { f64::INFINITY } else { most.max(one) })
}

/// The orders that are compared with the eager one.
const ORDERS: [Order; 4] = [Order::Lazy, Order::Seeded(1), Order::Seeded(2), Order::Seeded(3)];

fn check(kernel: &ForwardKernel, problem: &Problem, ctas: u32) {
    let operands = problem.operands();
    let exact = problem.exact(&operands);
    let plain = distance(problem.plain(&operands).o.into_iter(), &exact.o);
    let program = compiled(kernel);
    let under =
        |order| forward(kernel, &program, problem, &operands, ctas, &Options { order, ..Options::default() });
    let (o, lse) = under(Order::Eager);
    let error = distance(o.iter().map(|&o| o.into()), &exact.o);
    assert!(error <= 2.0 * plain, "{} {problem:?}: O is {error:e} off, plain {plain:e}", kernel.symbol());
    let error = distance(lse.iter().map(|&lse| lse.into()), &exact.lse);
    assert!(error <= 1e-5, "{} {problem:?}: LSE is {error:e} off", kernel.symbol());
    for order in ORDERS {
        assert!(under(order) == (o.clone(), lse.clone()), "{} {problem:?}: {order} differs", kernel.symbol());
    }
}

fn check_all(operand: Operand, head_dim: u32) {
    let rows = forward_kernels().filter(|row| (row.operand, row.head_dim) == (operand, head_dim));
    let kernels: Vec<_> = rows.collect();
    assert!(!kernels.is_empty());
    for kernel in kernels {
        let (dim, value_dim) = (kernel.head_dim as usize, kernel.value_dim as usize);
        for (n, (shape, ctas)) in SHAPES.iter().zip([u32::MAX, 1, 2, 3].into_iter().cycle()).enumerate() {
            // Some have heads narrower than the kernel's.
            let narrower = 8 * (n % 3 / 2);
            let (dim, value_dim) = (dim - narrower, value_dim - 3 * narrower);
            check(kernel, &Problem { operand, dim, value_dim, ..*shape }, ctas);
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $operand:ident, $head_dim:literal;)*) => {
        $(
            #[test]
            fn $name() {
                check_all(Operand::$operand, $head_dim);
            }
        )*
    };
}

kernels! {
    bf16_d64: Bf16, 64;
    bf16_d96: Bf16, 96;
    bf16_d128: Bf16, 128;
    bf16_d192: Bf16, 192;
    bf16_d256: Bf16, 256;
    f16_d64: F16, 64;
    f16_d96: F16, 96;
    f16_d128: F16, 128;
    f16_d192: F16, 192;
    f16_d256: F16, 256;
}

#[test]
fn the_grid_does_not_change_a_bit() {
    let kernel = forward_kernels().find(|row| row.head_dim == 64).unwrap();
    let problem = Problem { operand: kernel.operand, sq: 300, heads_q: 3, causal: true, ..BASE };
    let (program, operands) = (compiled(kernel), problem.operands());
    let bits = |ctas| {
        let (o, lse) = forward(kernel, &program, &problem, &operands, ctas, &Options::default());
        o.into_iter().chain(lse).map(f32::to_bits).collect::<Vec<_>>()
    };
    let alone = bits(1);
    assert_eq!(alone, bits(2));
    assert_eq!(alone, bits(u32::MAX));
}
