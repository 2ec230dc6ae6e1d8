//! Mutants of our kernels: a sample of them, each of which a check notices or is known to change
//! nothing. `cargo run --release --example mutants` runs them all.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

#[allow(dead_code, unused_imports, reason = "the example prints what here passes or fails")]
mod harness;
mod sites;

use fa3_kernels::Operand;
use harness::{Subject, attending, copying, judge, rounds, sample};

/// Which mutants the sample has.
const SEED: u64 = 20_260_729;

/// Of each kind `each` mutants of a kernel are noticed.
fn check(subject: &Subject, each: usize) {
    let rounds = rounds(subject);
    let failures: Vec<String> = sample(subject.mutants(), each, SEED)
        .iter()
        .filter_map(|mutant| {
            let failure = judge(subject, mutant, &rounds).failure()?;
            Some(format!("{}: {mutant}\n  {failure}", subject.name))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check_forward(operand: Operand) {
    for subject in attending(|kernel| kernel.operand == operand) {
        check(&subject, 4);
    }
}

#[test]
fn forward_kernels_of_bf16() {
    check_forward(Operand::Bf16);
}

#[test]
fn forward_kernels_of_f16() {
    check_forward(Operand::F16);
}

#[test]
fn copying_kernels() {
    for subject in copying() {
        check(&subject, 3);
    }
}
