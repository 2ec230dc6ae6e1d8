//! Which check notices how many mutants of each kind.

use std::collections::BTreeMap;
use std::fmt;

use fa3_emu::mutation::Kind;

use super::harness::{CHECKS, Outcome};

/// The columns behind the checks.
const EQUIVALENT: &str = "equivalent";
const FAILED: &str = "not caught";

/// Counts of mutants by kind and by what became of them.
#[derive(Default)]
pub struct Table {
    counts: BTreeMap<(Kind, &'static str), usize>,
    /// Of the equivalent ones, by why they are.
    reasons: BTreeMap<&'static str, usize>,
}

impl Table {
    pub fn add(&mut self, kind: Kind, outcome: &Outcome) {
        let column = match outcome {
            Outcome::Caught { by, .. } => by,
            Outcome::Equivalent { .. } => EQUIVALENT,
            Outcome::Survived | Outcome::Listed { .. } | Outcome::Crashed { .. } => FAILED,
        };
        *self.counts.entry((kind, column)).or_default() += 1;
        if let Outcome::Equivalent { why } = outcome {
            *self.reasons.entry(why).or_default() += 1;
        }
    }

    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// The share of mutants that change nothing.
    pub fn equivalent(&self) -> f64 {
        self.sum(|_, column| column == EQUIVALENT) as f64 / self.total().max(1) as f64
    }

    fn sum(&self, which: impl Fn(Kind, &str) -> bool) -> usize {
        self.counts.iter().filter(|((kind, column), _)| which(*kind, column)).map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = CHECKS
            .iter()
            .copied()
            .chain([EQUIVALENT, FAILED])
            .filter(|column| self.sum(|_, other| other == *column) > 0)
            .collect();
        writeln!(f, "| kind | {} | all |", columns.join(" | "))?;
        writeln!(f, "|---|{}", "--:|".repeat(columns.len() + 1))?;
        let cell = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        let mut row = |name: &str, which: &dyn Fn(Kind) -> bool| {
            let cells =
                columns.iter().map(|column| cell(self.sum(|kind, other| which(kind) && other == *column)));
            let cells: Vec<String> = cells.chain([cell(self.sum(|kind, _| which(kind)))]).collect();
            writeln!(f, "| {name} | {} |", cells.join(" | "))
        };
        for kind in Kind::ALL {
            row(kind.name(), &|other| other == kind)?;
        }
        row("**all**", &|_| true)?;
        self.reasons.iter().try_for_each(|(why, count)| write!(f, "\n{count} equivalent: {why}"))
    }
}
