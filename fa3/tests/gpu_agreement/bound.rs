//! How far the card and the emulator may be apart.
//!
//! Both compute the same sums of the same products in f32, and round the same weights; they differ in
//! the order of the sums and the rounding of each addition within a `wgmma`, which the ISA leaves open
//! (the emulator: in order, to nearest), and in `ex2.approx` and `lg2.approx`, for which it gives
//! bounds (the emulator: the nearest value). What follows from that, by rules that hold for any order of
//! summation, with `f` = 2⁻²³, one addition in f32 with truncation:
//!
//! - A score, times its scale, is off by at most `(d + 3 + 2·tiles)·f·m`, where `m` is the scale times
//!   the largest `Σ|q||k|` of the row: `d` additions, the scale, the difference from the maximum, and the
//!   maxima that a key tile later is corrected by.
//! - A softcap is computed from approximations of 2 ulp each, and ALiBi's product is rounded: `8f` of the
//!   cap, and `2f` of the slope times the largest distance.
//! - So a weight differs by a factor of `e^(2·that)` and by the 2 ulp of `ex2.approx`, as do the sum of
//!   all weights and each correction.
//! - A weight that differs may be rounded to the neighbour: one unit of the operand type, `2⁻⁷` of the
//!   weight in bf16 and `2⁻¹⁰` in f16, where a weight below its normal numbers has a fixed unit of
//!   `2⁻²⁴`.
//! - `Σ p·v` and `Σ p` are of `keys` additions each, and a rescaling a tile.
//! - O is rounded to the operand type: one unit more, which [`Differences`](super::difference) adds.
//!
//! `m` is bounded by the LSE of the absolute values of Q, K and the scale, and `Σ p·|v|` is attention to
//! those of V, both by the f64 reference.

use fa3::reference::{self, InputError, Output};
use fa3::testing::{Buffer, Case, Elements, Inputs};
use fa3::{DType, Element, Options};
use half::{bf16, f16};

use crate::difference::Format;

/// What each element of a case's outputs may differ by, before its own rounding.
pub struct Allowed {
    heads: usize,
    queries: usize,
    dim: usize,
    /// Keys, and one for the division.
    additions: f64,
    /// The least number that a weight is rounded to a multiple of, times the values that it may meet.
    subnormal: f64,
    /// One unit of a rounded weight, relative to it.
    unit: f64,
    /// How far the exponent of a row's weights may be off, `[batch, heads, queries]`.
    exponents: Vec<f64>,
    /// The LSE.
    lse: Vec<f64>,
    /// Attention to the absolute values of V, in the order of O.
    weighted: Vec<f64>,
}

/// One addition in f32, truncated.
const F: f64 = 1.0 / (1u64 << 23) as f64;
/// Keys of the smallest tile.
const TILE: usize = 80;

impl Allowed {
    /// Of the case.
    pub fn of(case: &Case, inputs: &Inputs) -> Result<Self, InputError> {
        let mut magnitudes = inputs.clone();
        absolute(&mut magnitudes.q);
        absolute(&mut magnitudes.k);
        let scale = Some(case.options.scale_for(case.d).abs());
        (magnitudes.sinks, magnitudes.alibi) = (None, None);
        let options = Options { scale, softcap: None, ..case.options };
        let scores = forward(&Case { options, sinks: false, alibi: false, ..case.clone() }, &magnitudes)?;
        let mut weighted = inputs.clone();
        absolute(&mut weighted.v);
        let weighted = forward(case, &weighted)?;
        let format = Format::of(case.dtype);
        let tiles = case.sk.div_ceil(TILE) as f64;
        let steps = case.d as f64 + 3.0 + 2.0 * tiles;
        let largest = weighted_values(&inputs.v);
        let slopes = inputs.alibi.iter().flatten().fold(0f32, |most, slope| slope.abs().max(most));
        let distances = 2.0 * f64::from(slopes) * (case.sq + case.sk) as f64;
        let edits = 8.0 * f64::from(case.options.softcap.unwrap_or(0.0)) + distances;
        Ok(Self {
            heads: case.heads_q,
            queries: case.sq,
            dim: case.dv,
            additions: case.sk as f64 + tiles + 1.0,
            subnormal: case.sk as f64 * format.least() * largest,
            unit: format.relative_unit(),
            // Of a row without keys the LSE is −∞: nothing may be off.
            exponents: scores.lse.iter().map(|&m| (F * (steps * m + edits)).max(0.0)).collect(),
            lse: weighted.lse,
            weighted: weighted.o,
        })
    }

    /// By how much a row's weights may differ, relative to them.
    fn weights(&self, row: usize) -> f64 {
        (2.0 * self.exponents[row]).exp_m1() + 8.0 * F
    }

    /// For an element of O in the order `[batch, queries, heads, dim]`.
    pub fn o(&self, at: usize) -> f64 {
        let row = at / self.dim;
        let (batch, query, head) =
            (row / (self.queries * self.heads), row / self.heads % self.queries, row % self.heads);
        let weights = self.weights((batch * self.heads + head) * self.queries + query);
        let relative = 2.0 * weights + self.unit + 4.0 * self.additions * F;
        relative * self.weighted[at] + self.subnormal
    }

    /// For an element of the LSE.
    pub fn lse(&self, row: usize) -> f64 {
        let rounding = 4.0 * F * (1.0 + self.lse[row].abs());
        self.weights(row) + 2.0 * self.exponents[row] + 2.0 * self.additions * F + rounding
    }
}

fn weighted_values(v: &Buffer) -> f64 {
    v.values().iter().fold(0.0, |most, value| value.abs().max(most))
}

/// Clears the sign of every element.
fn absolute(tensor: &mut Buffer) {
    match &mut tensor.elements {
        Elements::F32(data) => data.iter_mut().for_each(|value| *value = value.abs()),
        Elements::F16(data) => data.iter_mut().for_each(|v| *v = f16::from_bits(v.to_bits() & 0x7fff)),
        Elements::Bf16(data) => data.iter_mut().for_each(|v| *v = bf16::from_bits(v.to_bits() & 0x7fff)),
    }
}

fn forward(case: &Case, inputs: &Inputs) -> Result<Output, InputError> {
    fn typed<T: Element>(case: &Case, inputs: &Inputs) -> Result<Output, InputError> {
        let typed = inputs.as_reference::<T>();
        let wrong = || InputError::Problem {
            argument: "dtype",
            value: case.dtype.to_string(),
            rule: "the kernels multiply bf16 and f16".to_owned(),
        };
        reference::forward(&case.problem(), &typed.ok_or_else(wrong)?)
    }
    match case.dtype {
        DType::F16 => typed::<f16>(case, inputs),
        _ => typed::<bf16>(case, inputs),
    }
}
