//! Counting what passed and what failed.

use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Tally {
    pub(crate) fn passed(passed: usize) -> Self {
        Self { passed, failed: 0 }
    }

    pub(crate) fn failed(failed: usize) -> Self {
        Self { passed: 0, failed }
    }

    /// One check.
    pub(crate) fn of(success: bool) -> Self {
        if success { Self::passed(1) } else { Self::failed(1) }
    }

    /// Whether something was checked and nothing failed.
    pub(crate) fn is_success(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }

    /// Sums the result lines of test programs. A run that failed without saying which test did
    /// (it did not compile, or it crashed), or that gave no result, counts as one failure.
    pub(crate) fn of_tests(success: bool, output: &str) -> Self {
        let mut tally = Self::default();
        let mut results = 0;
        for line in output.lines().filter_map(|line| line.trim().strip_prefix("test result: ")) {
            let count = |what: &str| {
                let (before, _) = line.split_once(what)?;
                before.rsplit(' ').next()?.parse::<usize>().ok()
            };
            results += 1;
            tally.passed += count(" passed").unwrap_or(0);
            tally.failed += count(" failed").unwrap_or(0);
        }
        if (!success && tally.failed == 0) || results == 0 {
            tally.failed = 1;
        }
        tally
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str =
        "test result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.04s";

    #[test]
    fn result_lines_are_summed() {
        let failed =
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(Tally::of_tests(true, &format!("x\n{OK}\n{OK}\n")), Tally::passed(18));
        assert_eq!(Tally::of_tests(false, &format!("{OK}\n{failed}")), Tally { passed: 12, failed: 2 });
    }

    #[test]
    fn a_crash_is_a_failure_and_nothing_is_no_success() {
        assert_eq!(Tally::of_tests(false, OK), Tally { passed: 9, failed: 1 });
        assert_eq!(Tally::of_tests(true, "no tests"), Tally::failed(1));
        assert!(!Tally::failed(1).is_success());
        assert!(Tally::of(true).is_success());
    }
}
