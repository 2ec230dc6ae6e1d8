//! Where the driver's verdicts and ours differ, as tables that show which rule is to blame.

use std::collections::BTreeMap;
use std::fmt::Write;

use fa3_sys::Arch;
use fa3_sys::tensormap::Rule;

use super::aim::Side;
use super::args::{Args, Verdict};
use super::near::{needs_blackwell, side_counted};
use super::rules;
use super::traits::traits;

/// How many descriptions of a kind are printed.
const SHOWN: usize = 10;
/// The driver's `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: u32 = 1;

/// A description, our verdict, and the driver's error code, 0 where it accepted.
pub(crate) struct Answer {
    pub(crate) args: Args,
    pub(crate) ours: Verdict,
    pub(crate) code: u32,
}

impl Answer {
    pub(crate) fn agrees(&self) -> bool {
        self.ours.is_legal() == (self.code == 0)
    }
}

/// Everything that one run can tell.
pub(crate) fn report(answers: &[Answer], arch: Arch) -> String {
    let mut text = String::new();
    let count = |wanted: fn(&Answer) -> bool| answers.iter().filter(|answer| wanted(answer)).count();
    let _ = writeln!(
        text,
        "{} descriptions on {arch}: we accept {}, the driver accepts {}, {} verdicts differ",
        answers.len(),
        count(|answer| answer.ours.is_legal()),
        count(|answer| answer.code == 0),
        count(|answer| !answer.agrees()),
    );
    codes(&mut text, answers);
    rules_alone(&mut text, answers);
    differences(&mut text, answers);
    shared_traits(&mut text, answers);
    text
}

/// One line a description, for programs: code, rules that are broken, rule aimed at, description.
pub(crate) fn lines(answers: &[Answer]) -> String {
    answers.iter().fold(String::new(), |mut text, answer| {
        let broken: Vec<_> = answer.ours.broken.iter().map(|check| format!("{:?}", check.rule)).collect();
        let target = answer.args.target.map_or_else(String::new, |rule| format!("{rule:?}"));
        let _ = writeln!(text, "{}\t{}\t{target}\t{}", answer.code, broken.join(","), answer.args);
        text
    })
}

/// Codes other than success and `CUDA_ERROR_INVALID_VALUE`, which would not be verdicts.
fn codes(text: &mut String, answers: &[Answer]) {
    let mut codes: BTreeMap<u32, usize> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| ![0, INVALID_VALUE].contains(&answer.code)) {
        *codes.entry(answer.code).or_default() += 1;
    }
    for (code, count) in codes {
        let _ = writeln!(text, "CODE {code}, which is no verdict: {count} descriptions");
    }
}

/// For each rule, the driver's verdicts on descriptions at its limit that break no other rule. For
/// rules about types that the architecture lacks, what it lacks is overlooked.
fn rules_alone(text: &mut String, answers: &[Answer]) {
    let _ = writeln!(text, "\nAt each rule's limit, no other rule broken (types' rules: but Architecture):");
    let _ = writeln!(text, "{:<28} {:>16} {:>16}", "rule", "legal, accepted", "illegal, refused");
    for rule in rules() {
        let (mut legal, mut accepted, mut illegal, mut refused) = (0, 0, 0, 0);
        for answer in answers {
            match side_counted(&answer.args, rule) {
                Some(Side::Legal) => {
                    legal += 1;
                    accepted += usize::from(answer.code == 0);
                }
                Some(Side::Illegal) => {
                    illegal += 1;
                    refused += usize::from(answer.code != 0);
                }
                None => {}
            }
        }
        let note = match (accepted, refused) {
            _ if accepted == legal && refused == illegal => "",
            (0, _) if needs_blackwell(rule) => "  (refused with the types)",
            // Illegal ones are refused hardly more often than legal ones.
            _ if refused * legal <= 2 * (legal - accepted) * illegal => "  <- the driver does not know it",
            (0, _) => "  <- the driver refuses both sides",
            _ if refused < illegal => "  <- the driver knows it in part",
            _ => "  <- the driver refuses some for other reasons",
        };
        let name = format!("{rule:?}{}", if needs_blackwell(rule) { " (types)" } else { "" });
        let _ = writeln!(text, "{name:<28} {accepted:>7} of {legal:>5} {refused:>7} of {illegal:>5}{note}");
    }
}

/// The first differences of each kind.
fn differences(text: &mut String, answers: &[Answer]) {
    let mut kinds: BTreeMap<String, Vec<&Answer>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| !answer.agrees()) {
        let kind = match (answer.ours.rule(), answer.args.target) {
            (Some(rule), _) => format!("we refuse for {rule:?}, the driver accepts"),
            (None, Some(rule)) => format!("we accept at the limit of {rule:?}, the driver refuses"),
            (None, None) => "we accept, at no limit in particular, the driver refuses".to_owned(),
        };
        kinds.entry(kind).or_default().push(answer);
    }
    for (kind, answers) in kinds {
        let _ = writeln!(text, "\n{kind}: {}", answers.len());
        for answer in answers.iter().take(SHOWN) {
            let broken: Vec<_> = answer.ours.broken.iter().map(ToString::to_string).collect();
            let _ =
                writeln!(text, "  {} | ours: [{}] | code {}", answer.args, broken.join("; "), answer.code);
        }
    }
}

/// Of the descriptions that we accept: for each trait, how many the driver accepts and refuses,
/// those first that it always refuses, then those whose presence makes most difference.
fn shared_traits(text: &mut String, answers: &[Answer]) {
    let accepted: Vec<_> = answers.iter().filter(|answer| answer.ours.is_legal()).collect();
    if accepted.iter().all(|answer| answer.agrees()) {
        return;
    }
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for answer in &accepted {
        for name in traits(&answer.args) {
            counts.entry(name).or_default()[usize::from(answer.code != 0)] += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(_, [_, refused])| *refused > 0).collect();
    counts.sort_by(|(_, a), (_, b)| share(b).total_cmp(&share(a)).then(b[1].cmp(&a[1])));
    let _ = writeln!(text, "\nTraits of the descriptions that we accept and the driver refuses:");
    let _ = writeln!(text, "{:>7} {:>8}  trait", "refused", "accepted");
    for (name, [accepted, refused]) in counts {
        let _ = writeln!(text, "{refused:>7} {accepted:>8}  {name}");
    }
}

fn share([accepted, refused]: &[usize; 2]) -> f64 {
    *refused as f64 / (accepted + refused) as f64
}
