//! Both kernels timed by events on the device, and copies of as many bytes. Fails where there is no GPU.
//!
//! `cargo bench -p fa3-tma-examples --features gpu-tests`. An iteration is one launch.

#![allow(clippy::print_stderr, missing_docs)]

use std::error::Error;
use std::process::ExitCode;

use criterion::{Criterion, Throughput};
use device_time::DeviceTime;
use fa3_sys::driver::{Buffer, Context, DriverError, Event, Stream};
use fa3_tma_examples::{Gemm, Transpose};

#[path = "../../../fa3-sys/timing/device_time.rs"]
mod device_time;
#[path = "../timing/problem.rs"]
mod problem;

use problem::{Problem, Work};

/// Measures a call; the closure submits one.
fn measure(
    criterion: &mut Criterion<DeviceTime>,
    (group, name): (&str, &str),
    throughput: Throughput,
    stream: &Stream,
    call: impl Fn() -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    let nanoseconds = |iterations| {
        let [start, end] = [Event::with_timing(stream.context())?, Event::with_timing(stream.context())?];
        start.record(stream)?;
        (0..iterations).try_for_each(|_| call())?;
        end.record(stream)?;
        end.synchronize()?;
        Ok(f64::from(end.elapsed_ms_since(&start)?) * 1e6)
    };
    let mut outcome = Ok(());
    let mut group = criterion.benchmark_group(group);
    group.throughput(throughput).bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            nanoseconds(iterations).unwrap_or_else(|error| {
                outcome = Err(error);
                f64::NAN
            })
        });
    });
    group.finish();
    outcome
}

fn benches(criterion: &mut Criterion<DeviceTime>) -> Result<(), Box<dyn Error>> {
    let stream = Stream::new(&Context::open(0)?)?;
    for (size, bias) in [(4096, false), (4096, true), (8192, false), (8192, true)] {
        let problem = Problem::new(&stream, Work::Gemm(Gemm { bias, ..Gemm::new(size, size, size) }), size)?;
        let name = format!("{size}{}", if bias { " bias" } else { "" });
        let flops = Throughput::Elements(2 * size * size * size);
        measure(criterion, ("gemm bf16", &name), flops, &stream, || problem.launch(&stream))?;
    }
    for (batch, rows, columns) in [(8, 4096, 8192), (64, 1000, 2056)] {
        let name = format!("{batch}x{rows}x{columns}");
        let bytes = 2 * batch * rows * columns;
        // Each is read and written.
        let traffic = Throughput::Bytes(2 * bytes);
        let problem =
            Problem::new(&stream, Work::Transpose(Transpose::new(batch, rows, columns, 1.0)), rows)?;
        measure(criterion, ("transpose bf16", &name), traffic.clone(), &stream, || problem.launch(&stream))?;
        let (from, to) = (&problem.output, Buffer::new(stream.context(), bytes as usize)?);
        measure(criterion, ("copy", &name), traffic, &stream, || {
            to.copy_from(&stream, 0, from, 0, bytes as usize)
        })?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut criterion =
        Criterion::default().with_measurement(DeviceTime).sample_size(20).configure_from_args();
    match benches(&mut criterion) {
        Ok(()) => {
            criterion.final_summary();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
