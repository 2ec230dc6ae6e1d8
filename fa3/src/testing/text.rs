//! A case as one line of text.

use core::fmt;
use core::str::FromStr;

use super::{Arrangement, Case, Distribution, Lengths};
use crate::DType;

/// A line that is no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not part of a case: {rule}")]
pub struct CaseError {
    /// The word.
    pub word: String,
    /// What it must be.
    pub rule: String,
}

const DTYPES: [(DType, &str); 3] = [(DType::F32, "f32"), (DType::F16, "f16"), (DType::Bf16, "bf16")];

fn name_of<T: PartialEq + Copy>(names: &[(T, &'static str)], value: T) -> &'static str {
    names.iter().find(|&&(known, _)| known == value).map_or("?", |&(_, name)| name)
}

fn named<T: Copy>(names: &[(T, &'static str)], word: &str) -> Option<T> {
    names.iter().find(|&&(_, name)| name == word).map(|&(value, _)| value)
}

/// Numbers with commas. `+STEP*COUNT` stands for numbers that each exceed the one before by `STEP`.
struct List<'a>(&'a [i32]);

/// As few equal steps are not written as such.
const FEWEST_STEPS: usize = 3;

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |n: usize| -> Option<i32> {
            let (before, here) = (self.0.get(n.checked_sub(1)?)?, self.0.get(n)?);
            here.checked_sub(*before).filter(|&step| step >= 0)
        };
        let mut n = 0;
        while let Some(value) = self.0.get(n) {
            let comma = if n == 0 { "" } else { "," };
            let equal = (n..).take_while(|&later| step(n).is_some() && step(later) == step(n)).count();
            match step(n) {
                Some(step) if equal >= FEWEST_STEPS => write!(f, "{comma}+{step}*{equal}")?,
                _ => write!(f, "{comma}{value}")?,
            }
            n += if equal >= FEWEST_STEPS { equal } else { 1 };
        }
        Ok(())
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} b={} sq={} sk={}", name_of(&DTYPES, self.dtype), self.batch, self.sq, self.sk)?;
        write!(f, " hq={} hk={} d={} dv={}", self.heads_q, self.heads_k, self.d, self.dv)?;
        let arrangement = name_of(&Arrangement::NAMES, self.arrangement);
        let distribution = name_of(&Distribution::NAMES, self.distribution);
        write!(f, " {arrangement} {distribution} seed={}", self.seed)?;
        let options = &self.options;
        for (flag, set) in [
            ("causal", options.causal),
            ("invariant", options.batch_invariant),
            ("sinks", self.sinks),
            ("alibi", self.alibi),
            ("nolse", !self.lse),
        ] {
            if set {
                write!(f, " {flag}")?;
            }
        }
        for (key, steps) in [("left", options.window.left), ("right", options.window.right)] {
            if let Some(steps) = steps {
                write!(f, " {key}={steps}")?;
            }
        }
        for (key, factor) in [("scale", options.scale), ("softcap", options.softcap)] {
            if let Some(factor) = factor {
                write!(f, " {key}={factor}")?;
            }
        }
        match &self.lengths {
            Lengths::Dense => {}
            Lengths::UsedKeys(used) => write!(f, " used={}", List(used))?,
            Lengths::Packed { cu_q, cu_k } => write!(f, " cu_q={} cu_k={}", List(cu_q), List(cu_k))?,
        }
        if !self.name.is_empty() {
            write!(f, " name={}", self.name)?;
        }
        Ok(())
    }
}

impl FromStr for Case {
    type Err = CaseError;

    /// Reads words in any order; what is not said is as in [`Case::default`].
    fn from_str(line: &str) -> Result<Self, CaseError> {
        let mut case = Self::default();
        let (mut cu_q, mut cu_k) = (None, None);
        for word in line.split_whitespace() {
            match word.split_once('=') {
                None => flag(&mut case, word)?,
                Some(("cu_q", list)) => cu_q = Some(numbers(word, list)?),
                Some(("cu_k", list)) => cu_k = Some(numbers(word, list)?),
                Some((key, value)) => setting(&mut case, word, key, value)?,
            }
        }
        match (cu_q, cu_k) {
            (Some(cu_q), Some(cu_k)) => case.lengths = Lengths::Packed { cu_q, cu_k },
            (None, None) => {}
            _ => return Err(error(line, "cu_q and cu_k come together")),
        }
        Ok(case)
    }
}

fn error(word: &str, rule: &str) -> CaseError {
    CaseError { word: word.to_owned(), rule: rule.to_owned() }
}

fn flag(case: &mut Case, word: &str) -> Result<(), CaseError> {
    if let Some(dtype) = named(&DTYPES, word) {
        case.dtype = dtype;
    } else if let Some(arrangement) = named(&Arrangement::NAMES, word) {
        case.arrangement = arrangement;
    } else if let Some(distribution) = named(&Distribution::NAMES, word) {
        case.distribution = distribution;
    } else {
        match word {
            "causal" => case.options.causal = true,
            "invariant" => case.options.batch_invariant = true,
            "sinks" => case.sinks = true,
            "alibi" => case.alibi = true,
            "nolse" => case.lse = false,
            _ => {
                return Err(error(word, "no type, arrangement, distribution or flag is called so"));
            }
        }
    }
    Ok(())
}

/// Larger extents are no test cases, and their products could overflow.
const LARGEST_EXTENT: usize = 1 << 20;

fn setting(case: &mut Case, word: &str, key: &str, value: &str) -> Result<(), CaseError> {
    let extent = || match value.parse() {
        Ok(n) if n <= LARGEST_EXTENT => Ok(n),
        _ => Err(error(word, "an extent is a number up to 2^20")),
    };
    let steps = || value.parse().map(Some).map_err(|_| error(word, "a window is a number of keys"));
    let factor = || value.parse().map(Some).map_err(|_| error(word, "a factor is a number"));
    match key {
        "b" => case.batch = extent()?,
        "sq" => case.sq = extent()?,
        "sk" => case.sk = extent()?,
        "hq" => case.heads_q = extent()?,
        "hk" => case.heads_k = extent()?,
        "d" => case.d = extent()?,
        "dv" => case.dv = extent()?,
        "left" => case.options.window.left = steps()?,
        "right" => case.options.window.right = steps()?,
        "scale" => case.options.scale = factor()?,
        "softcap" => case.options.softcap = factor()?,
        "seed" => case.seed = value.parse().map_err(|_| error(word, "a seed is a number"))?,
        "used" => case.lengths = Lengths::UsedKeys(numbers(word, value)?),
        "name" => case.name = value.to_owned(),
        _ => return Err(error(word, "no setting is called so")),
    }
    Ok(())
}

fn numbers(word: &str, list: &str) -> Result<Vec<i32>, CaseError> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = || error(word, "a list is of numbers, or of `+STEP*COUNT`, with commas");
    let mut numbers = Vec::new();
    for item in list.split(',') {
        let Some((step, count)) = item.strip_prefix('+').and_then(|steps| steps.split_once('*')) else {
            numbers.push(item.parse().map_err(|_| wrong())?);
            continue;
        };
        let (step, count): (i32, usize) =
            (step.parse().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
        if count > LARGEST_EXTENT {
            return Err(wrong());
        }
        for _ in 0..count {
            let next = numbers.last().and_then(|last: &i32| last.checked_add(step)).ok_or_else(wrong)?;
            numbers.push(next);
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Set, cases};

    #[test]
    fn every_case_survives_being_printed() {
        for set in [Set::Full, Set::Paper] {
            for case in cases(set) {
                assert_eq!(case.to_string().parse(), Ok(case));
            }
        }
    }

    #[test]
    fn equal_steps_are_written_once() {
        let case = |used: &[i32]| Case { lengths: Lengths::UsedKeys(used.to_vec()), ..Case::default() };
        for (used, text) in [
            (&[0, 0, 0, 0, 3, 6, 9, 9][..], "used=0,+0*3,+3*3,9"),
            (&[5, 4, 3, 2, 7, 7, 7], "used=5,4,3,2,7,7,7"),
            (&[i32::MIN, i32::MAX, -1], "used=-2147483648,2147483647,-1"),
            (&[], "used="),
        ] {
            let line = case(used).to_string();
            assert!(line.ends_with(text), "{line}");
            assert_eq!(line.parse(), Ok(case(used)));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "bf17",
            "sq=x",
            "sq=99999999999",
            "cu_q=0,1",
            "used=1,,2",
            "used=+1*3",
            "used=2147483647,+1*1",
            "used=1,+2*9999999",
            "size=3",
            "left=-1",
        ] {
            assert!(line.parse::<Case>().is_err(), "{line}");
        }
    }
}
