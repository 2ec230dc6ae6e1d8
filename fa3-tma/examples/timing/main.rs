//! Times the kernels for another program, as `beside_torch.py` is: one JSON request a line on standard
//! input, one JSON answer a line on standard output.
//!
//! ```text
//! asked:    {"op": "gemm", "m": 4096, "n": 4096, "k": 4096, "bias": false, "warmup_ms": 150, "measure_ms": 100}
//!           {"op": "transpose", "batch": 8, "rows": 4096, "columns": 8192, "scale": 1.0, "warmup_ms": …}
//! answered: {"ms": …, "err": …}, or {"error": "why"}
//! ```
//!
//! `ms` is the median time of one call, by events around each. `err` is the largest deviation from f64
//! over sampled elements of the output, as a part of the largest of them, computed after the timing.
//! Inputs are standard normal, fresh for each request.
//!
//! `cargo run --release -p fa3-tma-examples --features driver --example timing`

#![allow(clippy::print_stdout)]

#[path = "../../../fa3-sys/timing/median.rs"]
mod median;
mod problem;
mod request;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::{SystemTime, UNIX_EPOCH};

use fa3_sys::driver::{Context, Stream};
use serde_json::json;

use problem::Problem;
use request::Request;

/// Milliseconds and deviation.
fn time(stream: &Stream, line: &str) -> Result<(f64, f64), Box<dyn Error>> {
    let request = Request::parse(line)?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let problem = Problem::new(stream, request.work(), seed)?;
    let ms =
        median::median_ms(stream, request.warmup_ms, request.measure_ms, || Ok(problem.launch(stream)?))?;
    Ok((ms, problem.error(stream)?))
}

fn main() -> Result<(), Box<dyn Error>> {
    // A device that cannot be opened is an answer too, so that whoever asks learns why.
    let stream = Context::open(0).and_then(|context| Stream::new(&context));
    for line in stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let timed = match &stream {
            Ok(stream) => time(stream, &line).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let answer = match timed {
            Ok((ms, error)) => json!({"ms": ms, "err": error}),
            Err(why) => json!({"error": why}),
        };
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}
