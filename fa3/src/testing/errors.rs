//! How far an output is from what is expected.

use super::FailureKind;
use crate::DType;

/// The largest finite magnitude.
pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// What rounding a result of this magnitude may cost: half a unit in its last place for the 16-bit
/// types. For f32, in which everything is computed too, sixteen of them.
pub(super) fn rounding(dtype: DType, magnitude: f64) -> f64 {
    if magnitude == 0.0 {
        return 0.0;
    }
    let steps = match dtype {
        DType::F16 => -11,
        DType::Bf16 => -8,
        DType::F32 | DType::I32 => -20,
    };
    magnitude.log2().floor().exp2() * f64::from(steps).exp2()
}

/// The errors of a tensor.
pub(super) struct Errors {
    pub(super) max: f64,
    pub(super) rmse: f64,
    /// Where the largest error is.
    at: usize,
}

impl Errors {
    /// Infinities must be equal; then their error is zero. Where NaN is expected, anything will do if it
    /// may be `undefined`.
    pub(super) fn of(
        tensor: &'static str,
        actual: &[f64],
        expected: &[f64],
        undefined: bool,
    ) -> Result<Self, FailureKind> {
        let mut found = Self { max: 0.0, rmse: 0.0, at: 0 };
        for (index, (&a, &e)) in actual.iter().zip(expected).enumerate() {
            if e.is_nan() && undefined {
                continue;
            }
            if e.is_nan() {
                return Err(FailureKind::Undefined { tensor, index });
            }
            if a.is_nan() {
                return Err(FailureKind::NotANumber { tensor, index });
            }
            let error = if a == e { 0.0 } else { (a - e).abs() };
            found.rmse += error * error;
            if error > found.max {
                (found.max, found.at) = (error, index);
            }
        }
        found.rmse = (found.rmse / actual.len().max(1) as f64).sqrt();
        Ok(found)
    }

    /// Whether the largest is within the bound.
    pub(super) fn within(
        &self,
        tensor: &'static str,
        bound: f64,
        actual: &[f64],
        expected: &[f64],
    ) -> Result<(), FailureKind> {
        if self.max <= bound {
            return Ok(());
        }
        let index = self.at;
        Err(FailureKind::Inaccurate {
            tensor,
            index,
            actual: actual[index],
            expected: expected[index],
            bound,
        })
    }
}
