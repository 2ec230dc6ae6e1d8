//! How far two outputs are apart.

use std::fmt;
use std::ops::AddAssign;

use fa3::DType;

/// A format of floating-point numbers.
#[derive(Clone, Copy)]
pub struct Format {
    /// Bits of the significand that are stored.
    stored: i32,
    /// The exponent of the least normal number.
    least: i32,
}

/// binary32.
pub const F32: Format = Format { stored: 23, least: -126 };

impl Format {
    /// Of an element type.
    pub const fn of(dtype: DType) -> Self {
        match dtype {
            DType::F16 => Self { stored: 10, least: -14 },
            DType::Bf16 => Self { stored: 7, least: -126 },
            _ => F32,
        }
    }

    /// The unit in the last place of a number of this magnitude.
    pub fn unit(self, magnitude: f64) -> f64 {
        let exponent = if magnitude > 0.0 { magnitude.log2().floor() } else { f64::NEG_INFINITY };
        (exponent.max(self.least.into()) - f64::from(self.stored)).exp2()
    }

    /// The unit relative to the least number that has it.
    pub fn relative_unit(self) -> f64 {
        f64::from(-self.stored).exp2()
    }

    /// The least number above zero.
    pub fn least(self) -> f64 {
        self.unit(0.0)
    }
}

/// The differences of one kind of output.
#[derive(Clone, Copy)]
pub struct Differences {
    elements: usize,
    equal: usize,
    /// The largest, in units of the last place.
    units: f64,
    /// The largest.
    absolute: f64,
    /// The largest part of what was allowed.
    part: f64,
}

impl Differences {
    const NOTHING: Self = Self { elements: 0, equal: 0, units: 0.0, absolute: 0.0, part: 0.0 };

    /// The part that is bitwise equal.
    pub fn equal(&self) -> f64 {
        self.equal as f64 / self.elements.max(1) as f64
    }

    /// Adds the differences of two outputs, the card's first. The error is the first that is not allowed.
    pub fn compare(
        &mut self,
        format: Format,
        card: &[f64],
        emulated: &[f64],
        allowed: impl Fn(usize) -> f64,
    ) -> Result<(), String> {
        let mut found = Ok(());
        for (at, (&one, &other)) in card.iter().zip(emulated).enumerate() {
            self.elements += 1;
            if one.to_bits() == other.to_bits() {
                self.equal += 1;
                continue;
            }
            let unit = format.unit(one.abs().max(other.abs()));
            let (difference, allowed) = ((one - other).abs(), allowed(at) + unit);
            // Not of a NaN either.
            let within = difference <= allowed;
            if found.is_ok() && !within {
                found = Err(format!(
                    "element {at} is {one:e} on the card and {other:e} emulated, more than {allowed:e} apart"
                ));
            }
            self.units = self.units.max(difference / unit);
            self.absolute = self.absolute.max(difference);
            self.part = self.part.max(difference / allowed);
        }
        found
    }
}

impl AddAssign for Differences {
    fn add_assign(&mut self, other: Self) {
        self.elements += other.elements;
        self.equal += other.equal;
        self.units = self.units.max(other.units);
        self.absolute = self.absolute.max(other.absolute);
        self.part = self.part.max(other.part);
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements, {:.3} % bitwise equal", self.elements, 100.0 * self.equal())?;
        write!(f, ", largest difference {:.0} units in the last place", self.units)?;
        write!(f, ", {:.2e} absolute, {:.1} % of what is allowed", self.absolute, 100.0 * self.part)
    }
}

/// What was compared.
#[derive(Clone, Copy)]
pub struct Tally {
    /// How many cases.
    pub cases: usize,
    /// Their O.
    pub o: Differences,
    /// Their LSE.
    pub lse: Differences,
}

impl Tally {
    /// No case.
    pub const NOTHING: Self = Self { cases: 0, o: Differences::NOTHING, lse: Differences::NOTHING };
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cases += other.cases;
        self.o += other.o;
        self.lse += other.lse;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cases; O: {}; LSE: {}", self.cases, self.o, self.lse)
    }
}
