//! Both kernels timed by events on the device, and copies of as many bytes. Fails where there is no GPU.
//!
//! `cargo bench -p fa3-tma-examples --features gpu-tests`. An iteration is one launch.

#![allow(clippy::print_stderr, missing_docs)]

use std::convert::identity;
use std::error::Error;
use std::process::ExitCode;

use criterion::{Criterion, Throughput};
use device_time::DeviceTime;
use fa3_sys::driver::{Buffer, Context, DriverError, Stream};
use fa3_tma_examples::{Gemm, Transpose};

#[path = "../../../fa3-sys/timing/device_time.rs"]
mod device_time;
#[path = "../timing/problem.rs"]
mod problem;
#[path = "../../../fa3-sys/timing/run.rs"]
mod run;

use problem::{Problem, Work};

fn benches(criterion: &mut Criterion<DeviceTime>) -> Result<(), Box<dyn Error>> {
    let stream = Stream::new(&Context::open(0)?)?;
    let mut measure = |group, name: &str, throughput, call: &dyn Fn() -> Result<(), DriverError>| {
        let mut group = criterion.benchmark_group(group);
        device_time::measure(&mut group, name, throughput, &stream, identity, call)
    };
    for (size, bias) in [(4096, false), (4096, true), (8192, false), (8192, true)] {
        let problem = Problem::new(&stream, Work::Gemm(Gemm { bias, ..Gemm::new(size, size, size) }), size)?;
        let name = format!("{size}{}", if bias { " bias" } else { "" });
        let flops = Throughput::Elements(2 * size * size * size);
        measure("gemm bf16", &name, flops, &|| problem.launch(&stream))?;
    }
    for (batch, rows, columns) in [(8, 4096, 8192), (64, 1000, 2056)] {
        let name = format!("{batch}x{rows}x{columns}");
        let bytes = 2 * batch * rows * columns;
        // Each is read and written.
        let traffic = Throughput::Bytes(2 * bytes);
        let problem =
            Problem::new(&stream, Work::Transpose(Transpose::new(batch, rows, columns, 1.0)), rows)?;
        measure("transpose bf16", &name, traffic.clone(), &|| problem.launch(&stream))?;
        let (from, to) = (&problem.output, Buffer::new(stream.context(), bytes as usize)?);
        measure("copy", &name, traffic, &|| to.copy_from(&stream, 0, from, 0, bytes as usize))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    run::run(Criterion::default().with_measurement(DeviceTime).sample_size(20), benches)
}
