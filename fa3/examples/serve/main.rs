//! Times attention for another program: one JSON request a line on standard input, one JSON answer
//! a line on standard output.
//!
//! ```text
//! asked:    {"op": "fwd", "dtype": "bf16", "b": 1, "sq": 4096, "sk": 4096, "hq": 16, "hk": 16,
//!            "d": 128, "dv": 128, "causal": false, "window": null, "lens": null,
//!            "warmup_ms": 150, "measure_ms": 100}
//! answered: {"ms": …, "err": …}, or {"error": "why"}
//! ```
//!
//! With op "varlen", sequences of `lens` tokens attend to themselves, packed one after the other; `b`,
//! `sq` and `sk` are ignored.
//!
//! With "tuning", what planning chooses by measurement is chosen by the request ([`fa3::Tuning`]):
//! `{"kernel": {"operand": "bf16", "head_dim": 64, …}, "image": "path of its machine code, unless it is
//! of the table", "walk": "pairs", "section_of_l2": 0.5}`, each of which may be null or missing.
//!
//! `ms` is the median time of one call, by events around each. `err` is the largest deviation from
//! f64 over 64 sampled rows of the output, computed after the timing. Inputs are standard normal,
//! fresh for each request. The device, its kernels and its memory are kept between requests.
//!
//! Op "ceiling" times a loop of matrix products alone, whose speed no attention kernel exceeds:
//!
//! ```text
//! asked:    {"op": "ceiling", "name": "d128", "warmup_ms": 150, "measure_ms": 100}
//! answered: {"ms": …, "flops": …}, or {"error": "why"}
//! ```
//!
//! `name` is that of one of `fa3_tma_examples::CEILINGS`, `flops` the operations of one call.
//!
//! `cargo run --release --example serve` (with `--device N` for another GPU than the first).

#![allow(clippy::print_stdout)]

mod ceiling;
#[path = "../../../fa3-sys/timing/median.rs"]
mod median;
mod random;
mod request;
mod session;
mod tuning;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};

use clap::Parser;
use serde_json::json;

use request::Asked;
use session::Session;

/// Times attention for another program, by requests on standard input.
#[derive(Parser)]
struct Arguments {
    /// The GPU.
    #[arg(long, default_value_t = 0)]
    device: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    // A device that cannot be opened is an answer too, so that whoever asks learns why.
    let mut session = Session::open(arguments.device);
    for line in stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = session.as_mut().map_err(|error| error.to_string()).and_then(|session| {
            let answer = match Asked::parse(&line)? {
                Asked::Attention(request) => {
                    session.time(&request).map(|timed| json!({"ms": timed.ms, "err": timed.error}))
                }
                Asked::Ceiling(request) => {
                    session.ceiling(&request).map(|timed| json!({"ms": timed.ms, "flops": timed.flops}))
                }
            };
            answer.map_err(|error| error.to_string())
        });
        println!("{}", answer.unwrap_or_else(|why| json!({"error": why})));
        stdout().flush()?;
    }
    Ok(())
}
