//! How far a result is from 64-bit arithmetic, and from what the file says.

use std::error::Error;

use fa3::reference::{self, Inputs, Row};
use fa3::{Element, HostInputs, HostSequences, Problem};

use crate::input::Input;

/// A result and what it was computed from.
pub struct Result<'a, T> {
    /// The problem.
    pub problem: &'a Problem,
    /// Lengths, sinks and slopes.
    pub inputs: &'a HostInputs<'a, T>,
    /// Q, K and V.
    pub data: (&'a [T], &'a [T], &'a [T]),
    /// O, contiguous.
    pub o: &'a [T],
    /// The LSE.
    pub lse: &'a [f32],
}

/// Above this many multiplications, rows are sampled.
const WHOLE: f64 = 2e10;

/// How many rows are sampled.
const SAMPLES: usize = 256;

/// Prints the errors; whether O is within twice the error of the plain low-precision computation
/// of the same rows, and the LSE within rounding.
pub fn report<T: Element>(
    result: &Result<'_, T>,
    input: &Input,
) -> std::result::Result<bool, Box<dyn Error>> {
    let (q, k, v) = result.data;
    let (used_k, cu_q, cu_k) = match result.inputs.sequences {
        HostSequences::Dense => (None, None, None),
        HostSequences::UsedKeys(used) => (Some(used), None, None),
        HostSequences::Packed { cu_q, cu_k } => (None, Some(cu_q), Some(cu_k)),
    };
    let inputs = Inputs {
        sinks: result.inputs.sinks,
        alibi: result.inputs.alibi,
        used_k,
        cu_q,
        cu_k,
        ..Inputs::new(q, k, v)
    };
    let rows = sample(result, cu_q);
    let exact = reference::forward_rows(result.problem, &inputs, &rows)?;
    let plain = reference::low_precision_rows(result.problem, &inputs, &rows)?;
    let [_, sq, heads, dv] = result.problem.o.layout.shape;
    let (mut o, mut lse, mut bound) = (Deviation::default(), Deviation::default(), Deviation::default());
    let mut largest = 0.0f64;
    for ((row, exact), plain) in rows.iter().zip(&exact).zip(&plain) {
        let (batch, token) = match cu_q {
            Some(cu) => (0, cu.get(row.sequence).map_or(0, |&start| start as usize) + row.query),
            None => (row.sequence, row.query),
        };
        let first = ((batch * sq + token) * heads + row.head) * dv;
        for (n, &expected) in exact.o.iter().enumerate() {
            o.add(f64::from(result.o[first + n].to_f32()), expected);
            bound.add(plain.o[n], expected);
            largest = largest.max(expected.abs());
        }
        lse.add(f64::from(result.lse[(batch * heads + row.head) * sq + token]), exact.lse);
    }
    let what = if rows.len() == heads * sq * result.problem.o.layout.shape[0] { "all" } else { "sampled" };
    // A rounding of the largest element, for where the plain computation happens to be exact.
    let rounding = largest * f64::from(epsilon::<T>());
    let limit = (2.0 * bound.max).max(rounding);
    let within = o.max <= limit && lse.max <= 1e-3;
    println!(
        "check     {} rows ({what}) against f64: o max {:.3e} rms {:.3e} (allowed: {limit:.3e}), lse max {:.3e}: {}",
        rows.len(),
        o.max,
        o.rms(),
        lse.max,
        if within { "good" } else { "TOO FAR OFF" }
    );
    if let Some(expected) = &input.o {
        let mut file = Deviation::default();
        result
            .o
            .iter()
            .zip(expected)
            .for_each(|(o, &expected)| file.add(f64::from(o.to_f32()), expected.into()));
        println!("check     against the file's o: max {:.3e} rms {:.3e}", file.max, file.rms());
    }
    if let Some(expected) = &input.lse {
        let mut file = Deviation::default();
        result.lse.iter().zip(expected).for_each(|(&lse, &expected)| file.add(lse.into(), expected.into()));
        println!("check     against the file's lse: max {:.3e} rms {:.3e}", file.max, file.rms());
    }
    Ok(within)
}

/// The distance from 1 to the next number of the type.
fn epsilon<T: Element>() -> f32 {
    let mut step = 1.0f32;
    while T::from_f32(1.0 + step / 2.0).to_f32() > 1.0 {
        step /= 2.0;
    }
    step
}

/// Every row, or a sample spread over sequences, heads and queries.
fn sample<T>(result: &Result<'_, T>, cu_q: Option<&[i32]>) -> Vec<Row> {
    let [batch, sq, heads, d] = result.problem.q.layout.shape;
    let [_, sk, _, dv] = result.problem.v.layout.shape;
    let lengths: Vec<usize> = match cu_q {
        Some(cu) => cu.iter().zip(cu.iter().skip(1)).map(|(&a, &b)| (b - a) as usize).collect(),
        None => vec![sq; batch],
    };
    let all = lengths.iter().enumerate().flat_map(|(sequence, &len)| {
        (0..heads).flat_map(move |head| (0..len).map(move |query| Row { sequence, head, query }))
    });
    let cost = (batch * heads * sq) as f64 * sk as f64 * (d + dv) as f64;
    if cost <= WHOLE {
        return all.collect();
    }
    // A step without small factors visits every head and many positions in a sequence.
    let count = lengths.iter().sum::<usize>() * heads;
    let step = (count / SAMPLES).max(1) | 1;
    all.step_by(step).collect()
}

#[derive(Default)]
struct Deviation {
    max: f64,
    squares: f64,
    count: f64,
}

impl Deviation {
    fn add(&mut self, actual: f64, expected: f64) {
        // Equal infinities do not deviate; a NaN deviates without bound.
        let error = if actual == expected { 0.0 } else { (actual - expected).abs() };
        self.max = self.max.max(if error.is_nan() { f64::INFINITY } else { error });
        self.squares += error * error;
        self.count += 1.0;
    }

    fn rms(&self) -> f64 {
        (self.squares / self.count.max(1.0)).sqrt()
    }
}
