//! The forward kernels of `fa3-kernels`, on problems with every kind of edge, compared with attention
//! in f64: as near as plain arithmetic of the operand type is, twice.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod problem;

use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, ptx, run};
use fa3_kernels::{ForwardKernel, ForwardParams, Operand, forward_kernels};
use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};
use fa3_sys::{Arch, TensorMap};
use problem::Problem;

const BASE: Problem = Problem {
    operand: Operand::Bf16,
    dim: 64,
    batch: 1,
    sq: 128,
    sk: 128,
    heads_q: 1,
    heads_k: 1,
    causal: false,
};

/// Lengths on both sides of a tile's, one token, no key, grouped heads, batches, rows without keys.
const SHAPES: &[Problem] = &[
    BASE,
    Problem { sq: 1, sk: 1, ..BASE },
    Problem { sq: 3, sk: 0, heads_q: 2, ..BASE },
    Problem { sq: 200, sk: 333, heads_q: 2, ..BASE },
    Problem { sq: 333, sk: 200, batch: 2, heads_q: 4, heads_k: 2, causal: true, ..BASE },
    Problem { sq: 65, sk: 129, batch: 2, heads_q: 3, causal: true, ..BASE },
    Problem { sq: 2, sk: 1, causal: true, ..BASE },
    Problem { sq: 385, sk: 385, heads_q: 2, heads_k: 1, causal: true, ..BASE },
];

/// A tensor map over `[dim, sequence, heads, batch]` of a contiguous `[batch, sequence, heads, dim]`.
fn map(problem: &Problem, tokens: usize, heads: usize, box_extents: [u32; 4], address: u64) -> TensorMap {
    let data_type = match problem.operand {
        Operand::F16 => DataType::F16,
        Operand::Bf16 => DataType::Bf16,
    };
    let extents = [problem.dim, tokens, heads, problem.batch].map(|extent| extent as u64);
    let head = 2 * extents[0];
    let strides = [head * extents[2], head, head * extents[2] * extents[1]];
    let desc = TensorMapDesc::tiled(data_type, &extents, &strides, &box_extents).unwrap();
    desc.with_swizzle(Swizzle::Bytes128).to_map_bytes(address).unwrap()
}

/// O and the log-sum-exp that `kernel` computes on a grid of at most `ctas`.
fn forward(kernel: &ForwardKernel, problem: &Problem, ctas: u32) -> (Vec<f32>, Vec<f32>) {
    let entry = fa3_kernels::entry(&kernel.symbol(), Arch::Sm90a).unwrap();
    let program = Program::compile(&ptx::parse(entry.ptx).unwrap(), entry.symbol).unwrap();
    let operands = problem.operands();
    let mut memory = Memory::new();
    let q = memory.allocate(&problem.encode(&operands.q)).unwrap();
    let k = memory.allocate(&problem.encode(&operands.k)).unwrap();
    let v = memory.allocate(&problem.encode(&operands.v)).unwrap();
    let o = memory.allocate(&vec![0xff; 2 * operands.q.len()]).unwrap();
    let rows = problem.batch * problem.heads_q * problem.sq;
    let lse = memory.allocate(&vec![0xff; 4 * rows]).unwrap();
    let boxes = kernel.boxes();
    // A map cannot describe an empty tensor: without keys it stands on Q, and no key is visible.
    let keys = |address| match problem.sk {
        0 => map(problem, 1, 1, boxes.kv, q),
        sk => map(problem, sk, problem.heads_k, boxes.kv, address),
    };
    let maps = [
        map(problem, problem.sq, problem.heads_q, boxes.q, q),
        keys(k),
        keys(v),
        map(problem, problem.sq, problem.heads_q, boxes.o, o),
    ];
    let number = |value: usize| i32::try_from(value).unwrap();
    let m_tiles = problem.sq.div_ceil(kernel.tile_m() as usize);
    let batch_heads = problem.batch * problem.heads_q;
    let params = ForwardParams {
        lse,
        scale_log2: problem.scale() * std::f32::consts::LOG2_E,
        sq: number(problem.sq),
        sk: number(problem.sk),
        heads_q: number(problem.heads_q),
        group: number(problem.heads_q / problem.heads_k),
        batch_heads: number(batch_heads),
        m_tiles: number(m_tiles),
        tiles: number(m_tiles * batch_heads),
        section: 2.min(number(batch_heads)),
        causal: i32::from(problem.causal),
    };
    let arguments: Vec<&[u8]> =
        maps.iter().map(|map| &map.as_bytes()[..]).chain([bytemuck::bytes_of(&params)]).collect();
    let grid = ctas.min(u32::try_from(params.tiles).unwrap());
    let launch = Launch {
        dynamic_shared: kernel.shared_bytes(),
        ..Launch::new([grid, 1, 1], [kernel.threads(), 1, 1])
    };
    run(&program, &launch, &arguments, &mut memory)
        .unwrap_or_else(|error| panic!("{} {problem:?}: {error}", kernel.symbol()));
    let output = problem.decode(memory.read(o, 2 * operands.q.len()).unwrap());
    let sums = memory.read(lse, 4 * rows).unwrap().chunks_exact(4);
    (output, sums.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect())
}

/// The largest difference; NaN counts as infinite.
fn distance(found: impl Iterator<Item = f64>, exact: &[f64]) -> f64 {
    found
        .zip(exact)
        .map(|(a, b)| if a == *b { 0.0 } else { (a - b).abs() })
        .fold(0.0, |most, one| if one.is_nan() { f64::INFINITY } else { most.max(one) })
}

fn check(kernel: &ForwardKernel, problem: &Problem, ctas: u32) {
    let operands = problem.operands();
    let exact = problem.exact(&operands);
    let plain = distance(problem.plain(&operands).o.into_iter(), &exact.o);
    let (o, lse) = forward(kernel, problem, ctas);
    let error = distance(o.iter().map(|&o| o.into()), &exact.o);
    assert!(error <= 2.0 * plain, "{} {problem:?}: O is {error:e} off, plain {plain:e}", kernel.symbol());
    let error = distance(lse.iter().map(|&lse| lse.into()), &exact.lse);
    assert!(error <= 1e-5, "{} {problem:?}: LSE is {error:e} off", kernel.symbol());
}

fn check_all(operand: Operand, dim: u32) {
    let kernels: Vec<_> =
        forward_kernels().filter(|row| row.operand == operand && row.head_dim == dim).collect();
    assert!(!kernels.is_empty());
    for kernel in kernels {
        for (shape, ctas) in SHAPES.iter().zip([u32::MAX, 1, 2, 3].into_iter().cycle()) {
            check(kernel, &Problem { operand, dim: dim as usize, ..*shape }, ctas);
        }
    }
}

#[test]
fn bf16_d64() {
    check_all(Operand::Bf16, 64);
}

#[test]
fn bf16_d128() {
    check_all(Operand::Bf16, 128);
}

#[test]
fn bf16_d256() {
    check_all(Operand::Bf16, 256);
}

#[test]
fn f16_d64() {
    check_all(Operand::F16, 64);
}

#[test]
fn f16_d128() {
    check_all(Operand::F16, 128);
}

#[test]
fn f16_d256() {
    check_all(Operand::F16, 256);
}

#[test]
fn the_grid_does_not_change_a_bit() {
    let kernel = forward_kernels().find(|row| row.head_dim == 64).unwrap();
    let problem = Problem { operand: kernel.operand, sq: 300, heads_q: 3, causal: true, ..BASE };
    let bits = |ctas| {
        let (o, lse) = forward(kernel, &problem, ctas);
        o.into_iter().chain(lse).map(f32::to_bits).collect::<Vec<_>>()
    };
    let alone = bits(1);
    assert_eq!(alone, bits(2));
    assert_eq!(alone, bits(u32::MAX));
}
