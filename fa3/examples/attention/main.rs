//! Attention on a file of queries, keys and values.
//!
//! ```text
//! cargo run --release --example attention -- FILE.safetensors --causal --check
//! cargo run --release --example attention -- --random 1,4096,4096,16,16,128 --dtype bf16 --check
//! ```
//!
//! The file holds `q`, `k` and `v` in f32, f16 or bf16, as `[batch, sequence, heads, dim]`, or packed
//! as `[total, heads, dim]` with `cu_seqlens` (or `cu_seqlens_q` and `cu_seqlens_k`), and optionally
//! `used_k`, `sinks`, `alibi`, and the `o` and `lse` that are expected. Without a file: Q, K and V of
//! a layer of a real model. Writes `o` and `lse` to a safetensors file, and prints the plan, the
//! time, the speed and, with `--check`, the errors.
//!
//! Exit codes: 0 done, 1 failed (the check too), 2 the arguments or the file are wrong.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod check;
mod device;
mod input;
mod job;
#[path = "../serve/random.rs"]
mod random;
mod safetensors_io;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use fa3::{CudaTarget, DType, Options, Target, Window, support};

use device::DeviceChoice;
use input::{Input, InputError, RandomSizes};

/// Exact softmax attention on a safetensors file of q, k and v.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// A safetensors file with q, k and v. With --random, the file that they are written to.
    file: Option<PathBuf>,
    /// Standard normal inputs instead of a file's: batch,sq,sk,heads_q,heads_k,d[,dv].
    #[arg(long, value_name = "SIZES")]
    random: Option<RandomSizes>,
    /// Decides the random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Compute in this type (f32, f16 or bf16) instead of the file's; random inputs are bf16.
    #[arg(long, value_parser = parse_dtype)]
    dtype: Option<DType>,
    /// auto, cpu, cuda:N, or emu:sm_90a: that GPU, emulated.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// When asynchronous copies and products of an emulated GPU take effect: eager, lazy or seed:N;
    /// eager by default.
    #[cfg(feature = "emu")]
    #[arg(long)]
    order: Option<fa3::fa3_emu::Order>,
    /// What an emulated GPU checks beside what it always does: all, none, or some of races, fences,
    /// uninitialised, registers and exit, with commas between; all by default.
    #[cfg(feature = "emu")]
    #[arg(long)]
    checks: Option<fa3::fa3_emu::Checks>,
    /// Threads of the CPU that compute, or emulate; all of them by default.
    #[arg(long)]
    threads: Option<usize>,
    /// The factor on q·kᵀ; 1/√d by default.
    #[arg(long, allow_negative_numbers = true)]
    scale: Option<f32>,
    /// A query sees no key after its own position.
    #[arg(long)]
    causal: bool,
    /// A query sees this many keys before its own position.
    #[arg(long)]
    left: Option<usize>,
    /// A query sees this many keys after its own position.
    #[arg(long)]
    right: Option<usize>,
    /// Scores s become cap·tanh(s/cap).
    #[arg(long, value_name = "CAP", allow_negative_numbers = true)]
    softcap: Option<f32>,
    /// The bits of a row depend on its own sequence alone, not on the rest of the batch.
    #[arg(long)]
    batch_invariant: bool,
    /// One more logit of this value for every head, in the denominator only.
    #[arg(long, value_name = "LOGIT", allow_negative_numbers = true, value_parser = parse_logit)]
    sink: Option<f32>,
    /// ALiBi with the slopes 2^(-8·(head + 1)/heads).
    #[arg(long)]
    alibi: bool,
    /// Timed runs, after warming up.
    #[arg(long, default_value_t = 10, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    runs: usize,
    /// Where o and lse go.
    #[arg(long, value_name = "FILE", default_value_os_t = std::env::temp_dir().join("fa3_attention.safetensors"))]
    out: PathBuf,
    /// Compare with attention in 64-bit arithmetic, and with the file's own o and lse.
    #[arg(long)]
    check: bool,
    /// Print what is supported on a device like this machine's, and on the CPU, and stop.
    #[arg(long)]
    support: bool,
}

impl Arguments {
    fn options(&self) -> Options {
        let window = Window { left: self.left, right: self.right };
        Options {
            scale: self.scale,
            causal: self.causal,
            window,
            softcap: self.softcap,
            batch_invariant: self.batch_invariant,
        }
    }
}

fn parse_dtype(text: &str) -> Result<DType, String> {
    [DType::F32, DType::F16, DType::Bf16]
        .into_iter()
        .find(|dtype| dtype.name() == text.replace("fp", "f"))
        .ok_or_else(|| "f32, f16 or bf16".to_owned())
}

/// A number that a logit can be.
fn parse_logit(text: &str) -> Result<f32, String> {
    let logit: f32 = text.parse().map_err(|_| "a number".to_owned())?;
    if logit.is_nan() || logit == f32::INFINITY {
        Err("a number below infinity".to_owned())
    } else {
        Ok(logit)
    }
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let arguments = Arguments::parse();
    if arguments.support {
        print_support();
        return ExitCode::SUCCESS;
    }
    let input = match load(&arguments) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    match job::run(&input, &arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            let argument =
                matches!(error.downcast_ref(), Some(fa3::Error::Argument { .. } | fa3::Error::Length { .. }))
                    || matches!(
                        error.downcast_ref(),
                        Some(InputError::Types { .. } | InputError::Device { .. })
                    );
            if argument { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Whether the two paths name one file.
fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn load(arguments: &Arguments) -> Result<Input, InputError> {
    if arguments.file.as_deref().is_some_and(|file| same_file(file, &arguments.out)) {
        return Err(InputError::Replaced { path: arguments.out.clone() });
    }
    let mut input = match (&arguments.random, &arguments.file) {
        (Some(sizes), file) => {
            let input = Input::random(sizes, arguments.dtype.unwrap_or(DType::Bf16), arguments.seed)?;
            if let Some(file) = file {
                safetensors_io::write_input(file, &input)?;
                println!("input     {} written", file.display());
            }
            input
        }
        (None, Some(file)) => safetensors_io::read(file)?,
        (None, None) => safetensors_io::real_data()?,
    };
    let heads = input.q.shape[2];
    if let Some(logit) = arguments.sink {
        input.sinks = Some(vec![logit; heads]);
    }
    if arguments.alibi {
        let slope = |head: usize| (-8.0 * (head + 1) as f32 / heads as f32).exp2();
        input.alibi = Some((0..heads).map(slope).collect());
    }
    Ok(input)
}

fn print_support() {
    let gpu = fa3::CudaBackend::open(0).map(|backend| fa3::Backend::target(&backend));
    let gpu = gpu.unwrap_or_else(|error| {
        println!("{error}\nwhat an H200 would take:");
        Target::Cuda(CudaTarget::H200)
    });
    for target in [gpu, fa3::Device::cpu().target()] {
        println!("{target}");
        for row in support::table(&target) {
            println!("  {row}");
        }
    }
}
