//! Why a description is refused.

use core::fmt;

use super::rule::{Check, Limit, Rule, Value};

/// A description that breaks a rule: the check that failed. The message names the argument and its
/// value, the rule, what would do, and where the rule comes from.
///
/// ```
/// use fa3_sys::tensormap::{DataType, Rule, TensorMapDesc};
/// let desc = TensorMapDesc::tiled(DataType::Bf16, &[64, 100], &[130], &[64, 16])?;
/// let error = desc.validate_shape().unwrap_err();
/// assert_eq!(error.rule(), Rule::StrideAlignment);
/// assert_eq!(
///     error.to_string(),
///     "globalStrides[0] = 130, but strides are multiples of 16 bytes: a multiple of 16 would do, \
///      such as 128 or 144 (CUDA driver API, cuTensorMapEncodeTiled/Im2col, globalStrides)",
/// );
/// # Ok::<(), fa3_sys::TensorMapError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMapError {
    check: Box<Check>,
}

impl TensorMapError {
    /// The failed check.
    pub fn check(&self) -> &Check {
        &self.check
    }

    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        self.check.rule
    }

    /// `Ok` if the check holds.
    pub(super) fn unless_holds(check: Check) -> Result<(), Self> {
        if check.holds() { Ok(()) } else { Err(Self { check: Box::new(check) }) }
    }
}

impl std::error::Error for TensorMapError {}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Check { rule, limit, value, .. } = *self.check;
        write!(f, "{}, but {}: {limit} would do", self.check, rule.requirement())?;
        if let (Limit::MultipleOf(of), Value::Number(number)) = (limit, value) {
            let below = number.checked_div_euclid(of).and_then(|count| count.checked_mul(of));
            if let Some((below, above)) = below.and_then(|below| Some((below, below.checked_add(of)?))) {
                match below {
                    ..=0 => write!(f, ", such as {above}")?,
                    _ => write!(f, ", such as {below} or {above}")?,
                }
            }
        }
        write!(f, " ({})", rule.source())
    }
}
