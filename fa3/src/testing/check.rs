//! Is an output right?

use half::{bf16, f16};

use super::errors::{Errors, largest, rounding};
use super::{Buffer, Case, Inputs};
use crate::{DType, Element, reference};

/// What a backend writes: NaN until then.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// O.
    pub o: Buffer,
    /// The LSE between two guards, where the case wants it.
    pub lse: Option<Vec<f32>>,
}

/// What rounding to f32 may change a number by, relative to it.
const F32_ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;
/// Elements before and after the LSE.
const GUARD: usize = 1024;

impl Outputs {
    /// Where the LSE begins within [`Outputs::lse`], in elements.
    pub const LSE_FIRST: usize = GUARD;

    /// Whether two runs wrote the same bits.
    pub fn same_bits(&self, other: &Self) -> bool {
        let bits = |lse: &Option<Vec<f32>>| -> Option<Vec<u32>> {
            lse.as_ref().map(|lse| lse.iter().map(|value| value.to_bits()).collect())
        };
        self.o.elements.bytes() == other.o.elements.bytes() && bits(&self.lse) == bits(&other.lse)
    }

    /// Whether the memory around O and the LSE, and between the rows of O, is as it was.
    ///
    /// # Errors
    /// [`FailureKind::WrittenOutside`].
    pub fn check_outside(&self) -> Result<(), FailureKind> {
        if let Some(offset) = self.o.written_outside() {
            return Err(FailureKind::WrittenOutside { tensor: "o", offset });
        }
        let lse = self.lse.as_deref().unwrap_or_default();
        let guards = (0..GUARD.min(lse.len())).chain(lse.len().saturating_sub(GUARD)..lse.len());
        for index in guards {
            if lse[index].to_bits() != poison().to_bits() {
                let offset = index as isize - GUARD as isize;
                return Err(FailureKind::WrittenOutside { tensor: "lse", offset });
            }
        }
        Ok(())
    }
}

/// How far an output is from the reference, and how far it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The largest error of O.
    pub max_error: f64,
    /// The root mean square error of O.
    pub rmse: f64,
    /// The largest error of O in the plain low-precision computation.
    pub plain_max_error: f64,
    /// What `max_error` may be: twice `plain_max_error`, or the rounding of O itself and of a
    /// probability where that is more, and the rounding of scores.
    pub bound: f64,
    /// The largest error of the LSE; zero where the case wants none.
    pub lse_error: f64,
    /// What `lse_error` may be.
    pub lse_bound: f64,
}

/// An output that is wrong. Prints the line that reproduces it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}; the case is: {case}")]
pub struct Failure {
    /// What is wrong.
    pub kind: FailureKind,
    /// The case.
    pub case: Box<Case>,
}

/// What can be wrong with an output. Elements of O are counted in the order `[batch, sequence,
/// heads, dim]`, elements of the LSE in `[batch, heads, sequence]`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FailureKind {
    /// An element is NaN: unwritten, or not a number.
    #[error("{tensor} is NaN or unwritten at element {index}")]
    NotANumber {
        /// `o` or `lse`.
        tensor: &'static str,
        /// Which element.
        index: usize,
    },
    /// The reference is not a number where the inputs are.
    #[error("the reference's {tensor} is NaN at element {index}")]
    Undefined {
        /// `o` or `lse`.
        tensor: &'static str,
        /// Which element.
        index: usize,
    },
    /// Memory outside the tensor was written.
    #[error("{tensor} was written outside its layout, {offset} elements after its first")]
    WrittenOutside {
        /// `o` or `lse`.
        tensor: &'static str,
        /// Elements after the tensor's first; negative before it.
        offset: isize,
    },
    /// An element is too far off.
    #[error("{tensor} is {actual} instead of {expected} at element {index}, off by more than {bound}")]
    Inaccurate {
        /// `o` or `lse`.
        tensor: &'static str,
        /// Which element: the one that is furthest off.
        index: usize,
        /// What it is.
        actual: f64,
        /// What it should be.
        expected: f64,
        /// How far off it may be.
        bound: f64,
    },
    /// The inputs or the outputs are not this case's.
    #[error("the {what} are not this case's")]
    Mismatch {
        /// Which.
        what: &'static str,
    },
    /// The reference refuses the case.
    #[error("the reference refuses the case: {0}")]
    Reference(#[from] reference::InputError),
}

impl Case {
    /// Memory for the outputs, all NaN.
    pub fn outputs(&self) -> Outputs {
        let rows = self.batch * self.heads_q * self.sq;
        Outputs {
            o: Buffer::poisoned(self.dtype, self.problem().o.layout, self.arrangement.offset()),
            lse: self.lse.then(|| vec![poison(); rows + 2 * GUARD]),
        }
    }

    /// Whether `outputs` is right. O may be off by twice the largest error of the plain
    /// low-precision computation, or by the rounding of the largest element of O and of a probability where
    /// that is more, and by what rounding the largest score to f32 may cost; rows that see no key must be
    /// exact. Rows of sequences that are not numbers ([`NanNeighbours`](super::Distribution::NanNeighbours))
    /// may be anything.
    ///
    /// # Errors
    /// [`Failure`] says what is wrong, and where.
    pub fn check(&self, inputs: &Inputs, outputs: &Outputs) -> Result<Report, Failure> {
        let checked = match self.dtype {
            DType::F16 => self.check_typed::<f16>(inputs, outputs),
            DType::Bf16 => self.check_typed::<bf16>(inputs, outputs),
            DType::F32 | DType::I32 => self.check_typed::<f32>(inputs, outputs),
        };
        checked.map_err(|kind| Failure { kind, case: Box::new(self.clone()) })
    }

    fn check_typed<T: Element>(&self, inputs: &Inputs, outputs: &Outputs) -> Result<Report, FailureKind> {
        let problem = self.problem();
        let typed = inputs.as_reference::<T>().ok_or(FailureKind::Mismatch { what: "inputs" })?;
        if outputs.o.spec() != problem.o || outputs.lse.is_some() != self.lse {
            return Err(FailureKind::Mismatch { what: "outputs" });
        }
        let mut exact = reference::forward(&problem, &typed)?;
        let undefined = self.forget_undefined(&mut exact);
        let plain = reference::low_precision(&problem, &typed)?;
        outputs.check_outside()?;
        let values = outputs.o.values();
        let errors =
            |tensor, actual: &[f64], expected: &[f64]| Errors::of(tensor, actual, expected, undefined);
        let o = errors("o", &values, &exact.o)?;
        let plain_o = errors("o", &plain.o, &exact.o)?;
        // Scores are rounded to f32, whatever is done to them. Where their products are exact, the plain
        // computation does not show what that costs.
        let of_scores = largest(&exact.lse) * F32_ROUNDING;
        let most = largest(&exact.o);
        // The plain computation has the largest probability of a row exact, for it is relative to
        // the row's maximum; a kernel whose maximum may lag behind rounds that one too.
        let least = rounding(self.dtype, most) + rounding(self.dtype, 1.0) * most;
        let bound = (2.0 * plain_o.max).max(least) + of_scores * most;
        o.within("o", bound, &values, &exact.o)?;
        zero_rows(&values, &exact.o, self.dv)?;
        let (mut lse_error, mut lse_bound) = (0.0, 0.0);
        if let Some(lse) = &outputs.lse {
            let rows = exact.lse.len();
            let lse: Vec<f64> = lse[GUARD..GUARD + rows].iter().map(|&value| f64::from(value)).collect();
            let off = errors("lse", &lse, &exact.lse)?;
            let plain_lse = errors("lse", &plain.lse, &exact.lse)?;
            lse_bound = (2.0 * plain_lse.max).max(1e-5 * (1.0 + largest(&exact.lse)));
            off.within("lse", lse_bound, &lse, &exact.lse)?;
            lse_error = off.max;
        }
        Ok(Report {
            max_error: o.max,
            rmse: o.rmse,
            plain_max_error: plain_o.max,
            bound,
            lse_error,
            lse_bound,
        })
    }

    /// Expects NaN of the rows of sequences that hold NaN; whether there are any.
    fn forget_undefined(&self, exact: &mut reference::Output) -> bool {
        let lengths = self.lengths_of_sequences();
        let undefined = |batch, query| {
            let sequence = self.sequence_of(true, batch, query);
            self.is_nan(sequence) && lengths.get(sequence).is_some_and(|&(_, keys)| keys > 0)
        };
        let mut any = false;
        for batch in 0..self.batch {
            for query in (0..self.sq).filter(|&query| undefined(batch, query)) {
                any = true;
                let row = (batch * self.sq + query) * self.heads_q * self.dv;
                exact.o[row..row + self.heads_q * self.dv].fill(f64::NAN);
                for head in 0..self.heads_q {
                    exact.lse[(batch * self.heads_q + head) * self.sq + query] = f64::NAN;
                }
            }
        }
        any
    }
}

/// Rows of exact zeros are those that see no key: they must be exact.
fn zero_rows(actual: &[f64], expected: &[f64], dv: usize) -> Result<(), FailureKind> {
    let rows = actual.chunks(dv).zip(expected.chunks(dv)).enumerate();
    for (row, (actual, expected)) in rows.filter(|(_, (_, expected))| expected.iter().all(|&e| e == 0.0)) {
        if let Some(column) = actual.iter().position(|&a| a != 0.0) {
            let (actual, expected) = (actual[column], expected[column]);
            return Err(FailureKind::Inaccurate {
                tensor: "o",
                index: row * dv + column,
                actual,
                expected,
                bound: 0.0,
            });
        }
    }
    Ok(())
}

fn poison() -> f32 {
    f32::from_bits(0x7fda_5a5a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Arrangement, Distribution, Elements, Lengths};

    fn case() -> Case {
        Case {
            sq: 20,
            sk: 150,
            heads_q: 2,
            d: 16,
            dv: 16,
            options: crate::Options { causal: true, ..Default::default() },
            arrangement: Arrangement::Padded,
            ..Case::default()
        }
    }

    /// Outputs as the plain low-precision computation gives them.
    fn plain(case: &Case) -> (Inputs, Outputs) {
        let inputs = case.inputs();
        let computed =
            reference::low_precision::<bf16>(&case.problem(), &inputs.as_reference().unwrap()).unwrap();
        let mut outputs = case.outputs();
        let mut values = computed.o.into_iter();
        outputs.o.fill(|_, _| true, |_| values.next().unwrap() as f32);
        if let Some(lse) = &mut outputs.lse {
            for (lse, value) in lse[GUARD..].iter_mut().zip(computed.lse) {
                *lse = value as f32;
            }
        }
        (inputs, outputs)
    }

    fn data(outputs: &mut Outputs) -> &mut [bf16] {
        match &mut outputs.o.elements {
            Elements::Bf16(data) => data,
            _ => &mut [],
        }
    }

    #[test]
    fn the_plain_computation_passes() {
        let (inputs, outputs) = plain(&case());
        let report = case().check(&inputs, &outputs).unwrap();
        assert_eq!(report.max_error, report.plain_max_error);
        assert!(report.rmse > 0.0 && report.rmse < report.max_error && report.max_error < 0.02, "{report:?}");
    }

    #[test]
    fn what_was_not_written_is_found() {
        let (inputs, mut outputs) = plain(&case());
        let last = data(&mut outputs).iter().rposition(|value| !value.is_nan()).unwrap();
        data(&mut outputs)[last] = bf16::NAN;
        let failure = case().check(&inputs, &outputs).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotANumber { tensor: "o", index: 20 * 2 * 16 - 1 });
        assert!(failure.to_string().ends_with(&case().to_string()));
        let (inputs, mut outputs) = plain(&case());
        outputs.lse.as_mut().unwrap()[GUARD + 3] = f32::NAN;
        let failure = case().check(&inputs, &outputs).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotANumber { tensor: "lse", index: 3 });
    }

    #[test]
    fn writes_outside_the_layout_are_found() {
        let dim = case().d;
        for (index, offset) in [(Buffer::GUARD - 1, -1), (Buffer::GUARD + dim, dim as isize)] {
            let (inputs, mut outputs) = plain(&case());
            data(&mut outputs)[index] = bf16::ZERO;
            let failure = case().check(&inputs, &outputs).unwrap_err();
            assert_eq!(failure.kind, FailureKind::WrittenOutside { tensor: "o", offset });
        }
        let (inputs, mut outputs) = plain(&case());
        outputs.lse.as_mut().unwrap()[GUARD + 40] = 0.0;
        let failure = case().check(&inputs, &outputs).unwrap_err();
        assert_eq!(failure.kind, FailureKind::WrittenOutside { tensor: "lse", offset: 40 });
    }

    #[test]
    fn errors_beyond_the_bound_are_found() {
        let (inputs, mut outputs) = plain(&case());
        let report = case().check(&inputs, &outputs).unwrap();
        let before = data(&mut outputs)[Buffer::GUARD];
        data(&mut outputs)[Buffer::GUARD] = bf16::from_f64(before.to_f64() + 2.0 * report.bound);
        let failure = case().check(&inputs, &outputs).unwrap_err();
        assert!(matches!(failure.kind, FailureKind::Inaccurate { tensor: "o", index: 0, .. }), "{failure}");
        let (inputs, mut outputs) = plain(&case());
        outputs.lse.as_mut().unwrap()[GUARD] += 1e-3;
        let failure = case().check(&inputs, &outputs).unwrap_err();
        assert!(matches!(failure.kind, FailureKind::Inaccurate { tensor: "lse", index: 0, .. }), "{failure}");
    }

    #[test]
    fn rows_of_sequences_that_are_nan_may_be_anything() {
        let distribution = Distribution::NanNeighbours;
        let lengths = Lengths::Packed { cu_q: vec![0, 5, 13, 20], cu_k: vec![0, 50, 100, 150] };
        let case = Case { distribution, lengths, ..case() };
        let (inputs, mut outputs) = plain(&case);
        case.check(&inputs, &outputs).unwrap();
        let row = 2 * (case.dv + 8) + 16;
        for query in 5..13 {
            data(&mut outputs)[Buffer::GUARD + query * row] = bf16::from_f32(7.0 * query as f32);
        }
        case.check(&inputs, &outputs).unwrap();
        for query in [4, 13] {
            let mut outputs = outputs.clone();
            data(&mut outputs)[Buffer::GUARD + query * row] = bf16::NAN;
            case.check(&inputs, &outputs).unwrap_err();
        }
    }

    #[test]
    fn inputs_that_give_no_number_are_no_test() {
        let (mut inputs, outputs) = plain(&case());
        inputs.v.fill(|_, _| true, |_| f32::NAN);
        let failure = case().check(&inputs, &outputs).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Undefined { tensor: "o", index: 0 });
    }

    #[test]
    fn a_row_without_keys_is_exactly_zero() {
        let case = Case { lengths: Lengths::UsedKeys(vec![10]), ..case() };
        let (inputs, mut outputs) = plain(&case);
        case.check(&inputs, &outputs).unwrap();
        data(&mut outputs)[Buffer::GUARD] = bf16::from_f32(1e-6);
        let failure = case.check(&inputs, &outputs).unwrap_err();
        assert!(matches!(failure.kind, FailureKind::Inaccurate { bound: 0.0, .. }), "{failure}");
    }
}
