//! Edits of PTX, by line.

use std::fmt;

/// A text whose lines are numbered from one. Edits leave the numbers of all other lines as they are.
pub struct Text {
    lines: Vec<String>,
}

impl Text {
    pub fn new(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    /// The lines that begin with `start`, but for blanks.
    pub fn all(&self, start: &str) -> Vec<usize> {
        let lines = self.lines.iter().zip(1..);
        lines.filter(|(line, _)| line.trim_start().starts_with(start)).map(|(_, number)| number).collect()
    }

    /// The first of them from `from` on.
    pub fn find(&self, from: usize, start: &str) -> Option<usize> {
        self.all(start).into_iter().find(|&number| number >= from)
    }

    /// The lines that flip a phase: `xor.b32 a, a, b`.
    pub fn flips(&self) -> Vec<usize> {
        let same = |number: &usize| {
            let operands = self.lines[number - 1].trim_start().trim_start_matches("xor.b32");
            let mut operands = operands.split(',').map(str::trim);
            operands.next() == operands.next()
        };
        self.all("xor.b32").into_iter().filter(same).collect()
    }

    pub fn remove(&mut self, number: usize) {
        self.lines[number - 1].clear();
    }

    /// Moves a line behind another, onto the same line.
    pub fn move_behind(&mut self, number: usize, other: usize) {
        let moved = std::mem::take(&mut self.lines[number - 1]);
        self.lines[other - 1] += &moved;
    }

    /// Replaces what a line contains.
    pub fn replace(&mut self, number: usize, from: &str, to: &str) {
        let line = &mut self.lines[number - 1];
        assert!(line.contains(from), "{line}");
        *line = line.replace(from, to);
    }

    /// Puts another last operand into the instruction on a line.
    pub fn replace_last_operand(&mut self, number: usize, operand: &str) {
        let line = &self.lines[number - 1];
        let comma = line.rfind(',').unwrap();
        self.lines[number - 1] = format!("{}, {operand};", &line[..comma]);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
