//! The forward kernels, timed by events on the device: 16k tokens in all, hidden size 2048. Fails where there is
//! no GPU.
//!
//! `cargo bench -p fa3 --bench forward`. An iteration is one launch.

#![allow(clippy::print_stderr, missing_docs)]

use std::process::ExitCode;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use device_time::DeviceTime;
use fa3::{Backend, CudaBackend, DType, Options, Problem, Result, Sizes, StreamHandle};
use fa3_sys::driver::Stream;

#[path = "common/bound.rs"]
mod bound;
#[path = "../../fa3-sys/timing/device_time.rs"]
mod device_time;
#[path = "../../fa3-sys/timing/run.rs"]
mod run;

fn benches(criterion: &mut Criterion<DeviceTime>) -> Result<()> {
    let cuda = Arc::new(CudaBackend::open(0)?);
    let backend: Arc<dyn Backend> = Arc::clone(&cuda) as _;
    let stream = Stream::new(cuda.context())?;
    for d in [64, 128, 256] {
        for causal in [false, true] {
            let mut group =
                criterion.benchmark_group(format!("bf16 d{d}{}", if causal { " causal" } else { "" }));
            for sequence in [1024, 4096, 16384] {
                let sizes = Sizes::new(16384 / sequence, sequence, 2048 / d, d);
                let problem = Problem::dense(DType::Bf16, sizes, Options { causal, ..Options::default() });
                let bound = bound::Bound::new(&backend, &problem)?;
                let flops = Throughput::Elements(bound.binding.plan().work().flops as u64);
                let explain = |error| cuda.explain(error);
                device_time::measure(&mut group, &sequence.to_string(), flops, &stream, explain, || {
                    // SAFETY: the operands live in `bound` until the launches are waited for.
                    unsafe { bound.binding.run(StreamHandle::from_raw(stream.raw())) }
                })?;
            }
            group.finish();
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run::run(Criterion::default().with_measurement(DeviceTime).sample_size(20), benches)
}
