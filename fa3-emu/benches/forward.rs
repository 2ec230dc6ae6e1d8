//! How long the emulator takes for the forward kernels: one head of 512 queries and 512 keys, with
//! every check and with none.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the bench")]

#[path = "../tests/forward/kernel.rs"]
mod kernel;
#[path = "../tests/forward/problem.rs"]
#[allow(dead_code, reason = "the tests compare with attention in f64")]
mod problem;

use criterion::{Criterion, criterion_group, criterion_main};
use fa3_emu::{Checks, Options};
use fa3_kernels::{Operand, forward_kernels};
use problem::Problem;

fn forward(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("forward 512x512");
    group.sample_size(10);
    for kernel in forward_kernels().filter(|row| row.operand == Operand::Bf16) {
        let problem = Problem {
            operand: kernel.operand,
            dim: kernel.head_dim as usize,
            value_dim: kernel.value_dim as usize,
            sq: 512,
            sk: 512,
            ..Problem::PLAIN
        };
        let (program, operands) = (kernel::compiled(kernel), problem.operands());
        for checks in [Checks::NONE, Checks::ALL] {
            let options = Options { checks, ..Options::default() };
            group.bench_function(format!("{} checks {checks}", kernel.symbol()), |bencher| {
                bencher.iter(|| kernel::forward(kernel, &program, &problem, &operands, u32::MAX, &options));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, forward);
criterion_main!(benches);
