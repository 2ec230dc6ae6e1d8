//! What a call costs the host: making a plan, and running a binding that was made before. Fails where there
//! is no GPU.
//!
//! `cargo bench -p fa3 --bench host`.

#![allow(clippy::print_stderr, missing_docs)]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use fa3::{Backend, CudaBackend, DType, Options, Plan, Problem, Result, Sizes, StreamHandle};
use fa3_sys::driver::Stream;

#[path = "common/bound.rs"]
mod bound;
#[path = "../../fa3-sys/timing/run.rs"]
mod run;

/// Fewer launches than a stream takes before a launch waits for an earlier one.
const QUEUED: u64 = 128;

/// The time to submit so many calls, without that to wait for them.
fn submitting(calls: u64, stream: &Stream, call: impl Fn() -> Result<()>) -> Result<Duration> {
    let mut spent = Duration::ZERO;
    let mut left = calls;
    while left > 0 {
        let now = left.min(QUEUED);
        let start = Instant::now();
        (0..now).try_for_each(|_| call())?;
        spent += start.elapsed();
        stream.synchronize()?;
        left -= now;
    }
    Ok(spent)
}

fn benches(criterion: &mut Criterion) -> Result<()> {
    let cuda = Arc::new(CudaBackend::open(0)?);
    let backend: Arc<dyn Backend> = Arc::clone(&cuda) as _;
    let stream = Stream::new(cuda.context())?;
    let problem = Problem::dense(DType::Bf16, Sizes::new(1, 128, 16, 128), Options::default());
    let bound = bound::Bound::new(&backend, &problem)?;
    let mut outcome = Ok(());
    let mut group = criterion.benchmark_group("host");
    group.bench_function("run", |bencher| {
        bencher.iter_custom(|calls| {
            let run = || {
                // SAFETY: the operands live in `bound` until the launches are waited for.
                unsafe { bound.binding.run(StreamHandle::from_raw(stream.raw())) }
            };
            submitting(calls, &stream, run).unwrap_or_else(|error| {
                outcome = Err(error);
                Duration::MAX
            })
        });
    });
    let target = backend.target();
    group.bench_function("plan", |bencher| bencher.iter(|| Plan::forward(&target, black_box(&problem))));
    group.finish();
    outcome
}

fn main() -> ExitCode {
    run::run(Criterion::default(), benches)
}
