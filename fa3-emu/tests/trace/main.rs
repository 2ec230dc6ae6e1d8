//! Timelines of a forward kernel: that they are well formed, that recording changes no result, and that
//! the two consumer warpgroups take turns at the tensor cores as the kernel means them to.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod json;
#[path = "../forward/kernel.rs"]
#[allow(dead_code, reason = "the forward tests compare results")]
mod kernel;
mod overlap;
#[path = "../forward/problem.rs"]
#[allow(dead_code, reason = "the forward tests compare with attention in f64")]
mod problem;

use fa3_emu::trace::{Activity, Actor, Span, Trace};
use fa3_emu::{Options, Order, RunError, run};
use fa3_kernels::forward_kernels;
use problem::Problem;

/// One tile of queries and six of keys.
const PROBLEM: Problem = Problem { dim: 128, value_dim: 128, sk: 768, ..Problem::PLAIN };

/// A run with these options: O, and the trace if there is one.
fn forward(problem: &Problem, options: &Options) -> Result<(Vec<u8>, Option<Trace>), RunError> {
    let kernel = forward_kernels()
        .find(|row| row.head_dim as usize == problem.dim && row.operand == problem.operand)
        .unwrap();
    let mut prepared = kernel::prepare(kernel, problem, &problem.operands(), u32::MAX);
    let arguments: Vec<&[u8]> = prepared.arguments.iter().map(Vec::as_slice).collect();
    let program = kernel::compiled(kernel);
    let report = run(&program, &prepared.launch, &arguments, &mut prepared.memory, options)?;
    Ok((prepared.memory.read(prepared.o.0, prepared.o.1).unwrap().to_vec(), report.trace))
}

fn traced(problem: &Problem) -> Trace {
    forward(problem, &Options { trace: true, ..Options::default() }).unwrap().1.unwrap()
}

/// What an actor of the first CTA did.
fn spans(trace: &Trace, actor: Actor) -> &[Span] {
    &trace.tracks.iter().find(|track| track.actor == actor).unwrap().spans
}

#[test]
fn recording_changes_no_result() {
    let (plain, none) = forward(&PROBLEM, &Options::default()).unwrap();
    let (recorded, trace) = forward(&PROBLEM, &Options { trace: true, ..Options::default() }).unwrap();
    assert!(none.is_none() && trace.is_some());
    assert_eq!(plain, recorded);
}

#[test]
fn other_orders_have_no_time() {
    for order in [Order::Lazy, Order::Seeded(1)] {
        let error = forward(&PROBLEM, &Options { trace: true, order, ..Options::default() }).unwrap_err();
        assert!(error.to_string().contains("a trace is recorded of the eager order"), "{error}");
    }
}

#[test]
fn a_trace_does_not_depend_on_the_threads() {
    let problem = Problem { sq: 256, sk: 128, heads_q: 2, ..PROBLEM };
    let options = Options { trace: true, threads: 3, ..Options::default() };
    let (_, parallel) = forward(&problem, &options).unwrap();
    assert_eq!(parallel.unwrap(), traced(&problem));
}

#[test]
fn every_actor_does_one_thing_at_a_time() {
    let trace = traced(&Problem { sq: 300, heads_q: 2, causal: true, ..PROBLEM });
    // Six CTAs of twelve warps and three engines.
    assert_eq!(trace.tracks.len(), 6 * 15);
    for track in &trace.tracks {
        let mut end = 0;
        for span in &track.spans {
            assert!(
                end <= span.start && span.start < span.end,
                "{:?} {:?}: {span:?}",
                track.cta,
                track.actor
            );
            assert!(span.line.ptx > 0 && trace.source(span).is_some(), "{span:?}");
            end = span.end;
        }
        assert!(end <= trace.cycles());
    }
    let loaded: u64 = spans(&trace, Actor::Loads)
        .iter()
        .map(|span| match span.activity {
            Activity::Load { bytes, .. } => u64::from(bytes),
            _ => panic!("{span:?}"),
        })
        .sum();
    // Q, and as many tiles of K as of V.
    let tile = 128 * 128 * 2;
    assert!(loaded > tile && (loaded / tile) % 2 == 1 && loaded.is_multiple_of(tile), "{loaded}");
}
