//! Attention on the CPU beside the two matrix products that it cannot do without: the same shapes,
//! the same GEMM crate, all threads. The last lines say how the speeds compare; half is the goal.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark reports to a person")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use fa3::{
    Binding, Buffer, DType, Device, Operands, Options, Problem, StreamHandle, Tensor, TensorSpec, Workspace,
};
use rayon::prelude::*;

const HEADS: usize = 8;
const SEQUENCE: usize = 1024;
/// Rows that a thread multiplies at once.
const ROWS: usize = 256;

/// Bound operands, with the memory behind them.
struct Attention {
    binding: Binding,
    _memory: [Buffer; 4],
}

impl Attention {
    fn new(device: &Device, d: usize, causal: bool) -> Self {
        let sizes =
            fa3::Sizes { batch: 1, sq: SEQUENCE, sk: SEQUENCE, heads_q: HEADS, heads_k: HEADS, d, dv: d };
        let options = Options { causal, ..Options::default() };
        let problem = Problem { lse: false, ..Problem::dense(DType::F32, sizes, options) };
        let backend = device.backend();
        let memory = [1, 2, 3, 4].map(|n| {
            Buffer::from_bytes(backend, bytemuck::cast_slice(&values(HEADS * SEQUENCE * d, n))).unwrap()
        });
        let tensor = |memory: &Buffer, spec: TensorSpec| Tensor { pointer: memory.pointer(), spec };
        let [q, k, v, o] = &memory;
        let operands = Operands::new(
            tensor(q, problem.q),
            tensor(k, problem.k),
            tensor(v, problem.v),
            tensor(o, problem.o),
        );
        let binding = device.plan(&problem).unwrap().bind(backend, &operands, Workspace::Own).unwrap();
        Self { binding, _memory: memory }
    }

    fn run(&self) {
        // SAFETY: the buffers are as large as the layouts and live as long as `self`; nothing else
        // uses them.
        unsafe { self.binding.run(StreamHandle::DEFAULT) }.unwrap();
    }
}

/// The two products of every head, and nothing else.
struct Products {
    d: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    s: Vec<f32>,
    o: Vec<f32>,
}

impl Products {
    fn new(d: usize) -> Self {
        let operand = |n| values(HEADS * SEQUENCE * d, n);
        let (s, o) = (vec![0.0; HEADS * SEQUENCE * SEQUENCE], operand(4));
        Self { d, q: operand(1), k: operand(2), v: operand(3), s, o }
    }

    fn run(&mut self) {
        let d = self.d;
        let blocks = self.s.par_chunks_mut(ROWS * SEQUENCE).zip(self.o.par_chunks_mut(ROWS * d));
        blocks.enumerate().for_each(|(block, (s, o))| {
            let head = block * ROWS / SEQUENCE * SEQUENCE * d;
            let q = &self.q[block * ROWS * d..][..ROWS * d];
            let (k, v) = (&self.k[head..][..SEQUENCE * d], &self.v[head..][..SEQUENCE * d]);
            multiply(s, (ROWS, SEQUENCE, d), q, (k, 1, d));
            multiply(o, (ROWS, d, SEQUENCE), s, (v, d, 1));
        });
    }
}

/// `out = a · b`; `b` comes with its row and column strides, the others are contiguous.
fn multiply(
    out: &mut [f32],
    (m, n, k): (usize, usize, usize),
    a: &[f32],
    (b, row, column): (&[f32], usize, usize),
) {
    assert!(out.len() >= m * n && a.len() >= m * k && b.len() >= n * k);
    let none = gemm::Parallelism::None;
    let (out, a, b) = (out.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    let [n_stride, k_stride, row, column] = [n, k, row, column].map(|stride| stride as isize);
    // SAFETY: the slices hold as many elements as the shapes say, and `out` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m, n, k, out, 1, n_stride, false, a, 1, k_stride, b, column, row, 0.0, 1.0, false, false, false,
            none,
        );
    }
}

fn values(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|n| ((n * 7919 + seed * 104_729) % 1000) as f32 / 500.0 - 1.0).collect()
}

/// The shortest of several runs of either, taken in turn so that both meet the same machine.
fn shortest(mut a: impl FnMut(), mut b: impl FnMut()) -> (Duration, Duration) {
    let timed = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let both = (0..30).map(|_| (timed(&mut a), timed(&mut b)));
    both.fold((Duration::MAX, Duration::MAX), |(x, y), (a, b)| (x.min(a), y.min(b)))
}

fn main() {
    let device = Device::cpu();
    let mut criterion = Criterion::default().configure_from_args();
    let mut lines = Vec::new();
    for d in [64, 128] {
        let flops = 4 * HEADS * SEQUENCE * SEQUENCE * d;
        let mut products = Products::new(d);
        let mut group = criterion.benchmark_group(format!("f32 1x{HEADS}x{SEQUENCE}x{SEQUENCE} d{d}"));
        group.throughput(Throughput::Elements(flops as u64));
        group.bench_function("two products", |bencher| bencher.iter(|| black_box(&mut products).run()));
        for (name, causal, part) in [("attention", false, 1.0), ("causal attention", true, 0.5)] {
            let attention = Attention::new(&device, d, causal);
            group.bench_function(name, |bencher| bencher.iter(|| black_box(&attention).run()));
            let (alone, whole) = shortest(|| products.run(), || attention.run());
            let rate = |time: Duration, part: f64| part * flops as f64 / time.as_secs_f64() / 1e9;
            lines.push(format!(
                "d{d} {name}: {:.0} GFLOP/s, the products alone {:.0}: ratio {:.2}",
                rate(whole, part),
                rate(alone, 1.0),
                rate(whole, part) / rate(alone, 1.0)
            ));
        }
        group.finish();
    }
    criterion.final_summary();
    for line in lines {
        println!("{line}");
    }
}
