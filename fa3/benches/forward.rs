//! The forward kernels, timed by events on the device. Fails where there is no GPU.
//!
//! `cargo bench -p fa3 --bench forward`. An iteration is one launch.

#![allow(clippy::print_stderr, missing_docs)]

use std::process::ExitCode;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use device_time::DeviceTime;
use fa3::{
    Backend, Binding, Buffer, CudaBackend, DType, Operands, Options, Plan, Problem, Result, Sizes,
    StreamHandle, Tensor, TensorSpec, Workspace,
};
use fa3_sys::driver::Stream;
use half::bf16;

#[path = "../../fa3-sys/timing/device_time.rs"]
mod device_time;
#[path = "../examples/serve/random.rs"]
mod random;

/// A problem of 16k tokens and hidden size 2048, bound to memory of its own.
struct Bound {
    binding: Binding,
    _buffers: [Buffer; 5],
}

impl Bound {
    fn new(backend: &Arc<dyn Backend>, problem: &Problem) -> Result<Self> {
        let plan = Arc::new(Plan::forward(&backend.target(), problem)?);
        let bytes = |spec: TensorSpec| spec.layout.span().unwrap_or(0) * spec.dtype.size();
        // Random inputs: constant ones draw less power, and the card then runs faster.
        let input = |spec: TensorSpec, seed| {
            let elements = random::normal::<bf16>(spec.layout.span().unwrap_or(0), seed);
            Buffer::from_bytes(backend, bytemuck::cast_slice(&elements))
        };
        let buffers = [
            input(problem.q, 1)?,
            input(problem.k, 2)?,
            input(problem.v, 3)?,
            Buffer::zeroed(backend, bytes(problem.o))?,
            Buffer::zeroed(backend, plan.dims().lse_len * 4)?,
        ];
        let tensor = |n: usize, spec| Tensor { pointer: buffers[n].pointer(), spec };
        let operands = Operands {
            lse: Some(buffers[4].pointer()),
            ..Operands::new(
                tensor(0, problem.q),
                tensor(1, problem.k),
                tensor(2, problem.v),
                tensor(3, problem.o),
            )
        };
        let binding = plan.bind(backend, &operands, Workspace::Own)?;
        Ok(Self { binding, _buffers: buffers })
    }
}

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
                let bound = Bound::new(&backend, &problem)?;
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
    device_time::run(benches)
}
