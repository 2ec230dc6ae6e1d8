//! Time on the device as criterion's measurement: its own clock would count what the host does.

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{BenchmarkGroup, Throughput};
use fa3_sys::driver::{DriverError, Event, Stream};

/// Measures a call, which submits one iteration to `stream`, by events around them all. `explain` turns the
/// driver's errors into the call's.
pub fn measure<E>(
    group: &mut BenchmarkGroup<'_, DeviceTime>,
    name: &str,
    throughput: Throughput,
    stream: &Stream,
    explain: impl Fn(DriverError) -> E,
    call: impl Fn() -> Result<(), E>,
) -> Result<(), E> {
    let mut outcome = Ok(());
    group.throughput(throughput).bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            nanoseconds(stream, iterations, &explain, &call).unwrap_or_else(|error| {
                outcome = Err(error);
                f64::NAN
            })
        });
    });
    outcome
}

/// What the device takes for so many calls.
fn nanoseconds<E>(
    stream: &Stream,
    iterations: u64,
    explain: impl Fn(DriverError) -> E,
    call: impl Fn() -> Result<(), E>,
) -> Result<f64, E> {
    let event = || Event::with_timing(stream.context()).map_err(&explain);
    let (start, end) = (event()?, event()?);
    start.record(stream).map_err(&explain)?;
    (0..iterations).try_for_each(|_| call())?;
    end.record(stream).map_err(&explain)?;
    end.synchronize().map_err(&explain)?;
    let milliseconds = end.elapsed_ms_since(&start).map_err(&explain)?;
    Ok(f64::from(milliseconds) * 1e6)
}

/// Time on the device, in nanoseconds.
pub struct DeviceTime;

/// Floating-point operations an iteration come as [`Throughput::Elements`], bytes as themselves.
struct Rates;

impl Measurement for DeviceTime {
    type Intermediate = ();
    type Value = f64;

    // Every measurement is made by `iter_custom` in `measure`, with events.
    fn start(&self) {}

    fn end(&self, (): ()) -> f64 {
        0.0
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Rates
    }
}

impl ValueFormatter for Rates {
    fn scale_values(&self, _: f64, values: &mut [f64]) -> &'static str {
        values.iter_mut().for_each(|value| *value /= 1e3);
        "µs"
    }

    fn scale_throughputs(&self, _: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        match *throughput {
            Throughput::Elements(flops) => {
                // Operations a nanosecond are thousandths of a teraflop a second.
                values.iter_mut().for_each(|value| *value = flops as f64 / *value / 1e3);
                "TFLOP/s"
            }
            Throughput::Bytes(bytes) => {
                // Bytes a nanosecond are gigabytes a second.
                values.iter_mut().for_each(|value| *value = bytes as f64 / *value);
                "GB/s"
            }
            _ => self.scale_values(0.0, values),
        }
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns"
    }
}
