//! Draws how a forward kernel spends its time: the trace of one CTA, as a picture.
//!
//! ```text
//! cargo run --release -p fa3-emu --example timeline > docs/timeline.svg
//! ```
//!
//! `--json` prints the whole trace instead, for Perfetto.

#![allow(clippy::print_stdout, reason = "an example prints")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "the launch is one of the tests'")]

#[path = "../../tests/forward/kernel.rs"]
#[allow(dead_code, reason = "the tests compare results")]
mod kernel;
mod picture;
#[path = "../../tests/forward/problem.rs"]
#[allow(dead_code, reason = "the tests compare results")]
mod problem;
mod svg;

use fa3_emu::trace::Trace;
use fa3_emu::{Options, run};
use fa3_kernels::{ForwardKernel, Operand, forward_kernels};
use problem::Problem;

/// One tile of queries.
const QUERIES: usize = 128;
/// Six tiles of keys.
const KEYS: usize = 768;

/// The kernel drawn.
fn drawn() -> &'static ForwardKernel {
    let wanted = |row: &&ForwardKernel| row.head_dim == 128 && row.operand == Operand::Bf16;
    forward_kernels().find(wanted).unwrap()
}

fn trace(kernel: &ForwardKernel) -> Trace {
    let problem = Problem {
        operand: kernel.operand,
        dim: kernel.head_dim as usize,
        value_dim: kernel.value_dim as usize,
        sq: QUERIES,
        sk: KEYS,
        ..Problem::PLAIN
    };
    let mut prepared = kernel::prepare(kernel, &problem, &problem.operands(), u32::MAX);
    let arguments: Vec<&[u8]> = prepared.arguments.iter().map(Vec::as_slice).collect();
    let options = Options { trace: true, ..Options::default() };
    let program = kernel::compiled(kernel);
    let report = run(&program, &prepared.launch, &arguments, &mut prepared.memory, &options).unwrap();
    report.trace.unwrap()
}

#[test]
fn every_tile_is_in_the_picture() {
    let kernel = drawn();
    let trace = trace(kernel);
    let rows = picture::rows(&trace, kernel);
    let labels =
        |row: usize| rows[row].bars.iter().map(|bar| bar.label.as_str()).filter(|label| !label.is_empty());
    let loads = ["Q", "K₅", "K₄", "V₅", "K₃", "V₄", "K₂", "V₃", "K₁", "V₂", "K₀", "V₁", "V₀"];
    assert_eq!(labels(0).collect::<Vec<_>>(), loads);
    // A softmax and two products for each of six tiles of two warpgroups.
    assert_eq!((labels(2).count(), labels(3).count(), labels(4).count()), (24, 6, 6));
    assert_eq!(labels(5).collect::<Vec<_>>(), ["O", "O"]);
    let svg = svg::drawn(&rows, trace.cycles());
    assert_eq!(svg.matches(">exp₀<").count(), 2);
}

fn main() {
    let kernel = drawn();
    let trace = trace(kernel);
    if std::env::args().any(|argument| argument == "--json") {
        print!("{}", trace.to_json());
    } else {
        print!("{}", svg::drawn(&picture::rows(&trace, kernel), trace.cycles()));
    }
}
