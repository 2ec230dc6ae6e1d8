//! What is checked beside what always is.

use std::fmt;
use std::str::FromStr;

/// The checks that a launch may do without. Bounds, alignment, the rules of barriers and bulk copies,
/// deadlocks and diverged `.aligned` instructions are always checked.
///
/// ```
/// use fa3_emu::Checks;
/// assert_eq!("exit".parse(), Ok(Checks { exit: true, ..Checks::NONE }));
/// assert_eq!(Checks::ALL.to_string(), "all");
/// assert!("exits".parse::<Checks>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checks {
    /// `races`: accesses to shared memory are ordered, where one of them writes, and mbarriers are used
    /// after they were made.
    pub races: bool,
    /// `fences`: between what instructions write and what bulk copies and `wgmma` access is a proxy fence.
    pub fences: bool,
    /// `uninitialised`: shared memory is written before it is read.
    pub uninitialised: bool,
    /// `registers`: the registers of `wgmma` are not accessed before its wait, nor without its fence.
    pub registers: bool,
    /// `exit`: nothing is left behind or arrives when the last warp of a CTA has exited: no mbarrier in
    /// the middle of a phase, no half-full named barrier, no copy that nobody knows to have landed or read its
    /// source, no product that nobody waited for.
    pub exit: bool,
}

impl Checks {
    /// Every check.
    pub const ALL: Self =
        Self { races: true, fences: true, uninitialised: true, registers: true, exit: true };
    /// None of them.
    pub const NONE: Self =
        Self { races: false, fences: false, uninitialised: false, registers: false, exit: false };

    /// Each check by its name.
    fn switches(&mut self) -> [(&'static str, &mut bool); 5] {
        let Self { races, fences, uninitialised, registers, exit } = self;
        [
            ("races", races),
            ("fences", fences),
            ("uninitialised", uninitialised),
            ("registers", registers),
            ("exit", exit),
        ]
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::ALL
    }
}

/// A text that names no checks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("checks = {text:?}, but checks are `all`, `none`, or some of {names}, with commas between")]
pub struct ParseChecksError {
    /// The text.
    pub text: String,
    /// The names there are.
    names: String,
}

impl FromStr for Checks {
    type Err = ParseChecksError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => return Ok(Self::ALL),
            "none" => return Ok(Self::NONE),
            _ => {}
        }
        let mut checks = Self::NONE;
        for name in text.split(',') {
            let mut switches = checks.switches();
            match switches.iter_mut().find(|(known, _)| *known == name) {
                Some((_, switch)) => **switch = true,
                None => {
                    let names = switches.map(|(known, _)| format!("`{known}`")).join(", ");
                    return Err(ParseChecksError { text: text.to_owned(), names });
                }
            }
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE || *self == Self::ALL {
            return f.write_str(if *self == Self::ALL { "all" } else { "none" });
        }
        let mut copy = *self;
        let on = copy.switches().into_iter().filter(|(_, on)| **on);
        f.write_str(&on.map(|(name, _)| name).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_read_as_they_are_written() {
        for checks in [Checks::ALL, Checks::NONE] {
            assert_eq!(checks.to_string().parse(), Ok(checks));
        }
        let mut one = Checks::NONE;
        for index in 0..one.switches().len() {
            one = Checks::NONE;
            let name = one.switches()[index].0;
            *one.switches()[index].1 = true;
            assert_eq!(name.parse(), Ok(one));
            assert_eq!(one.to_string().parse(), Ok(one));
        }
        for text in ["", "all,exit", "exit,", "Exit", "none,none"] {
            let error = text.parse::<Checks>().unwrap_err();
            assert!(error.to_string().contains("`exit`"), "{error}");
        }
    }
}
