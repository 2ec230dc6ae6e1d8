//! Time on the device as criterion's measurement: its own clock would count what the host does.

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};

/// Time on the device, in nanoseconds.
pub struct DeviceTime;

/// Floating-point operations an iteration come as [`Throughput::Elements`], bytes as themselves.
struct Rates;

impl Measurement for DeviceTime {
    type Intermediate = ();
    type Value = f64;

    // Every measurement here is made by `iter_custom`, which has events of its own.
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
