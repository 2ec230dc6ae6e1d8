//! A mutant: one edit of a text.

use std::fmt;
use std::ops::Range;

use super::Kind;

/// A kernel's text with one edit, at one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant<'a> {
    /// What it breaks.
    pub kind: Kind,
    /// How: `dropped`, `count + 1`.
    pub edit: String,
    /// The line of PTX, from 1.
    pub line: u32,
    /// The source line that it was compiled from, where the PTX says (`.loc`).
    pub source: Option<String>,
    /// What stands for the instruction; nothing where it is dropped.
    pub after: String,
    pub(super) text: &'a str,
    pub(super) span: Range<usize>,
}

impl<'a> Mutant<'a> {
    /// The instruction as it was.
    #[must_use]
    pub fn before(&self) -> &'a str {
        self.text.get(self.span.clone()).unwrap_or_default()
    }

    /// The whole text with the edit. Every other line keeps its number.
    #[must_use]
    pub fn ptx(&self) -> String {
        let head = self.text.get(..self.span.start).unwrap_or_default();
        let tail = self.text.get(self.span.end..).unwrap_or_default();
        let lines: String = self.before().chars().filter(|&c| c == '\n').collect();
        [head, &self.after, &lines, tail].concat()
    }
}

impl fmt::Display for Mutant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), PTX line {}", self.kind, self.edit, self.line)?;
        if let Some(source) = &self.source {
            write!(f, " ({source})")?;
        }
        let after = if self.after.is_empty() { "nothing".to_owned() } else { brief(&self.after) };
        write!(f, ": {} → {after}", brief(self.before()))
    }
}

/// A text whose long lists of registers show their first and last only.
fn brief(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        shown.push_str(before);
        shown.push('{');
        rest = after;
        let Some((inside, behind)) = after.split_once('}') else { break };
        let elements: Vec<&str> = inside.split(',').map(str::trim).collect();
        if let [first, _, _, _, _, .., last] = elements.as_slice()
            && !inside.contains([';', '{'])
        {
            shown.push_str(&format!("{first}, …, {last}}}"));
            rest = behind;
        }
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_shortened() {
        let text = "{ .reg .b64 m; add.s64 m, d, 2; wgmma {%f1,%f2,%f3,%f4,%f5,%f6}, {%r1,%r2,%r3,%r4}, m; }";
        let expected = "{ .reg .b64 m; add.s64 m, d, 2; wgmma {%f1, …, %f6}, {%r1,%r2,%r3,%r4}, m; }";
        assert_eq!(brief(text), expected);
    }

    #[test]
    fn an_edit_keeps_the_lines() {
        let text = "a;\nb\n x;\nc;\n";
        let mutant = Mutant {
            kind: Kind::Wait,
            edit: "dropped".to_owned(),
            line: 2,
            source: None,
            after: String::new(),
            text,
            span: 3..8,
        };
        assert_eq!(mutant.before(), "b\n x;");
        assert_eq!(mutant.ptx(), "a;\n\n\nc;\n");
    }
}
