//! Elementary functions over slices, written so that the compiler vectorises them.
//!
//! The bodies are `#[inline(always)]`: they are compiled for the instruction set of the function
//! that calls them (see [`softmax`](super::softmax)). `FMA` says whether that set multiplies and
//! adds in one instruction; where it does not, `mul_add` would be a call.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::{DType, Element};

/// Elements handled at once: two vectors of the widest common instruction set.
pub(super) const LANES: usize = 16;

/// Below this, `exp` is a subnormal number or zero, and is taken to be zero.
const EXP_LOWEST: f32 = -87.0;

#[inline(always)]
fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// `2ⁿ` and `e^r − 1`, where `x = n·ln 2 + r` and `|r| ≤ ½ ln 2`; for `|x| ≤ 87`.
///
/// `e^r − 1` is its Taylor polynomial of degree 7, whose remainder, below `0.347⁸ / 8!` = 6e-9, is a
/// tenth of f32's rounding. `n·ln 2` is subtracted in two parts (Cody and Waite 1980): the first
/// has few bits, so that its product with `n` is exact.
#[inline(always)]
fn exp_parts<const FMA: bool>(x: f32) -> (f32, f32) {
    const LN_2_HIGH: f32 = 355.0 / 512.0;
    const LN_2_LOW: f32 = (core::f64::consts::LN_2 - 355.0 / 512.0) as f32;
    // Adding 1.5·2²³ leaves no bits for a fraction: the sum is rounded to an integer, in the lowest
    // bits of its representation.
    const ROUND: f32 = 12_582_912.0;
    let shifted = multiply_add::<FMA>(x, core::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = multiply_add::<FMA>(n, -LN_2_HIGH, x);
    let r = multiply_add::<FMA>(n, -LN_2_LOW, r);
    let mut tail = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 1.0 / 2.0] {
        tail = multiply_add::<FMA>(tail, r, factor);
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1f32.to_bits()));
    (power, multiply_add::<FMA>(tail, r * r, r))
}

/// `e^x` for `x ≤ 0`, to about one unit in the last place; NaN stays NaN.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    let (power, minus_one) = exp_parts::<FMA>(if x < EXP_LOWEST { EXP_LOWEST } else { x });
    if x < EXP_LOWEST { 0.0 } else { multiply_add::<FMA>(power, minus_one, power) }
}

/// `tanh y = m / (m + 2)` with `m = e^(2y) − 1`, which loses nothing near zero.
#[inline(always)]
fn tanh<const FMA: bool>(y: f32) -> f32 {
    let twice = 2.0 * y.abs();
    // From 10 on, tanh is one in f32.
    let (power, minus_one) = exp_parts::<FMA>(if twice > 20.0 { 20.0 } else { twice });
    let m = multiply_add::<FMA>(power, minus_one, power - 1.0);
    (m / (m + 2.0)).copysign(y)
}

/// The largest element; NaN counts as nothing.
#[inline(always)]
pub(super) fn largest(row: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(f32::NEG_INFINITY, larger);
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, x);
        }
    }
    lanes.into_iter().fold(rest, larger)
}

/// Replaces each `x` by `e^(x − max)` and returns their sum.
#[inline(always)]
pub(super) fn exponentials<const FMA: bool>(row: &mut [f32], max: f32) -> f64 {
    let mut lanes = [0.0f32; LANES];
    let mut chunks = row.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *x = exp::<FMA>(*x - max);
            *lane += *x;
        }
    }
    let mut sum = 0.0;
    for x in chunks.into_remainder() {
        *x = exp::<FMA>(*x - max);
        sum += f64::from(*x);
    }
    lanes.into_iter().fold(sum, |sum, lane| sum + f64::from(lane))
}

/// Replaces each `x` by `cap · tanh(x / cap)`.
#[inline(always)]
pub(super) fn softcap<const FMA: bool>(row: &mut [f32], cap: f32) {
    for x in row {
        *x = cap * tanh::<FMA>(*x / cap);
    }
}

/// Subtracts `slope · |distance − n|` from element `n`.
#[inline(always)]
pub(super) fn alibi<const FMA: bool>(row: &mut [f32], slope: f32, distance: i64) {
    for (n, x) in row.iter_mut().enumerate() {
        *x = multiply_add::<FMA>(-slope, (distance - n as i64).abs() as f32, *x);
    }
}

/// Converts to f32.
pub(super) fn widen<T: Element>(from: &[T], to: &mut [f32]) {
    match T::DTYPE {
        DType::F16 => bytemuck::cast_slice::<T, f16>(from).convert_to_f32_slice(to),
        DType::Bf16 => {
            for (to, &from) in to.iter_mut().zip(bytemuck::cast_slice::<T, bf16>(from)) {
                *to = f32::from_bits(u32::from(from.to_bits()) << 16);
            }
        }
        DType::F32 | DType::I32 => to.copy_from_slice(bytemuck::cast_slice(from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        name: &str,
        computed: impl Fn(f32) -> f32,
        exact: impl Fn(f64) -> f64,
        range: (f32, f32),
        tolerance: f64,
    ) {
        for step in 0..=200_000 {
            let x = range.0 + (range.1 - range.0) * (step as f32 / 200_000.0);
            let (computed, exact) = (f64::from(computed(x)), exact(f64::from(x)));
            assert!(
                (computed - exact).abs() <= tolerance * exact.abs(),
                "{name}({x}) = {computed}, not {exact}"
            );
        }
    }

    #[test]
    fn exp_is_accurate() {
        check("exp", exp::<true>, f64::exp, (EXP_LOWEST, 0.0), 1.2e-7);
        check("exp", exp::<false>, f64::exp, (EXP_LOWEST, 0.0), 1.2e-7);
        assert_eq!([exp::<true>(0.0), exp::<true>(-87.1), exp::<true>(f32::NEG_INFINITY)], [1.0, 0.0, 0.0]);
        assert!(exp::<true>(f32::NAN).is_nan());
    }

    #[test]
    fn tanh_is_accurate() {
        check("tanh", tanh::<true>, f64::tanh, (-12.0, 12.0), 3e-7);
        check("tanh", tanh::<false>, f64::tanh, (-1e-3, 1e-3), 3e-7);
        assert_eq!([tanh::<true>(1e30), tanh::<true>(-1e30), tanh::<true>(0.0)], [1.0, -1.0, 0.0]);
    }

    #[test]
    fn slices_of_every_length_are_covered() {
        for len in 0..40 {
            let row: Vec<f32> = (0..len).map(|n| ((n * 7 + 3) % 40) as f32 / 8.0).collect();
            let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(largest(&row), max);
            let mut exponential = row.clone();
            let sum = exponentials::<true>(&mut exponential, max);
            let exact: f64 = row.iter().map(|&x| f64::from(x - max).exp()).sum();
            assert!((sum - exact).abs() <= 1e-6 * exact, "{len}: {sum} {exact}");
        }
    }

    #[test]
    fn alibi_is_the_distance_on_both_sides() {
        let mut row = [10.0; 4];
        alibi::<true>(&mut row, 0.5, 1);
        assert_eq!(row, [9.5, 10.0, 9.5, 9.0]);
    }

    #[test]
    fn widening_is_exact() {
        let values = [1.5, -0.0, 65504.0, 6e-8, f32::INFINITY];
        let mut wide = [0.0; 5];
        widen(&values.map(f16::from_f32), &mut wide);
        assert_eq!(wide, values.map(|x| f16::from_f32(x).to_f32()));
        widen(&values.map(bf16::from_f32), &mut wide);
        assert_eq!(wide, values.map(|x| bf16::from_f32(x).to_f32()));
    }
}
