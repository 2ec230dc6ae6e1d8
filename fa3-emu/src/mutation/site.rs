//! An instruction to edit, and the text of what it becomes.

use std::collections::HashMap;
use std::fmt::Write;

use super::Kind;
use crate::ptx::{Instruction, Operand};

/// An instruction to edit.
pub(super) struct Site<'a, 's> {
    pub(super) instruction: &'s Instruction<'a>,
    /// The name of a register that an edit may declare.
    pub(super) scratch: &'s str,
    /// Bits known to be set in a register, by the nearest instruction above that wrote it.
    pub(super) constants: &'s HashMap<&'a str, u64>,
}

/// One edit of an instruction.
pub(super) struct Edit {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) after: String,
}

/// What becomes of a number.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Add(i64),
    Flip(u64),
    Halve,
    Double,
}

/// The width of an operand.
#[derive(Clone, Copy)]
pub(super) enum Width {
    Bits32,
    Bits64,
}

impl Change {
    fn of(self, value: i128) -> i128 {
        match self {
            Self::Add(by) => value.saturating_add(by.into()),
            Self::Flip(bits) => value ^ i128::from(bits),
            Self::Halve => value / 2,
            Self::Double => value.saturating_mul(2),
        }
    }

    /// The opcode, and the second operand.
    fn instruction(self, width: Width) -> (&'static str, i128) {
        match (self, width) {
            (Self::Add(by), Width::Bits32) => ("add.s32", by.into()),
            (Self::Add(by), Width::Bits64) => ("add.s64", by.into()),
            (Self::Flip(bits), Width::Bits32) => ("xor.b32", bits.into()),
            (Self::Flip(bits), Width::Bits64) => ("xor.b64", bits.into()),
            (Self::Halve, Width::Bits32) => ("shr.u32", 1),
            (Self::Halve, Width::Bits64) => ("shr.u64", 1),
            (Self::Double, Width::Bits32) => ("shl.b32", 1),
            (Self::Double, Width::Bits64) => ("shl.b64", 1),
        }
    }
}

impl<'a> Site<'a, '_> {
    pub(super) fn operand(&self, index: usize) -> Option<&Operand<'a>> {
        self.instruction.operands.get(index)
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.instruction.opcode.split('.').any(|word| word == modifier)
    }

    /// Nothing in its place.
    pub(super) fn dropped(&self, kind: Kind) -> Edit {
        self.replaced(kind, "dropped", String::new())
    }

    /// The instruction twice.
    pub(super) fn doubled(&self, kind: Kind) -> Edit {
        let once = render(self.instruction, self.instruction.opcode);
        self.replaced(kind, "doubled", format!("{once} {once}"))
    }

    /// Any text in its place.
    pub(super) fn replaced(&self, kind: Kind, name: impl Into<String>, after: String) -> Edit {
        Edit { kind, name: name.into(), after }
    }

    /// Another opcode with the same operands.
    pub(super) fn with_opcode(&self, kind: Kind, name: impl Into<String>, opcode: &str) -> Edit {
        self.replaced(kind, name, render(self.instruction, opcode))
    }

    /// The instruction after `change` to a copy of it, with `setup` before it in braces around both.
    pub(super) fn with<'b>(
        &'b self,
        kind: Kind,
        name: impl Into<String>,
        setup: &str,
        change: impl FnOnce(&mut Vec<Operand<'b>>),
    ) -> Edit {
        let mut instruction: Instruction<'b> = self.instruction.clone();
        change(&mut instruction.operands);
        let edited = render(&instruction, instruction.opcode);
        let after = if setup.is_empty() { edited } else { format!("{{ {setup} {edited} }}") };
        self.replaced(kind, name, after)
    }

    /// The instruction with one operand, a number, changed.
    pub(super) fn changed(
        &self,
        kind: Kind,
        name: impl Into<String>,
        (index, width): (usize, Width),
        change: Change,
    ) -> Option<Edit> {
        let (setup, new) = self.number(self.operand(index)?, width, change)?;
        Some(self.with(kind, name, &setup, |operands| {
            if let Some(operand) = operands.get_mut(index) {
                *operand = new;
            }
        }))
    }

    /// A number changed: the operand for it, and the instructions that compute it.
    pub(super) fn number<'b>(
        &'b self,
        operand: &Operand<'b>,
        width: Width,
        change: Change,
    ) -> Option<(String, Operand<'b>)> {
        match operand {
            Operand::Integer(value) => Some((String::new(), Operand::Integer(change.of(*value)))),
            Operand::Name(name) => {
                let (function, by) = change.instruction(width);
                let scratch = self.scratch;
                let ty = match width {
                    Width::Bits32 => ".b32",
                    Width::Bits64 => ".b64",
                };
                let setup = format!(".reg {ty} {scratch}; {function} {scratch}, {name}, {by};");
                Some((setup, Operand::Name(scratch)))
            }
            _ => None,
        }
    }
}

/// An instruction as text, with that opcode.
pub(super) fn render(instruction: &Instruction<'_>, opcode: &str) -> String {
    let mut text = String::new();
    if let Some(guard) = instruction.guard {
        let _ = write!(text, "@{}{} ", if guard.negated { "!" } else { "" }, guard.name);
    }
    text.push_str(opcode);
    for (index, one) in instruction.operands.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        operand(&mut text, one);
    }
    text.push(';');
    text
}

fn operand(text: &mut String, one: &Operand<'_>) {
    // Writing to a string cannot fail.
    let _ = match one {
        Operand::Name(name) | Operand::Decimal(name) => write!(text, "{name}"),
        Operand::Not(name) => write!(text, "!{name}"),
        Operand::Sum(name, by) => write!(text, "{name}+{by}"),
        Operand::Pair(first, second) => write!(text, "{first}|{second}"),
        Operand::Integer(value) => write!(text, "{value}"),
        Operand::Single(bits) => write!(text, "0f{bits:08X}"),
        Operand::Double(bits) => write!(text, "0d{bits:016X}"),
        Operand::Vector(elements) => {
            list(text, elements);
            Ok(())
        }
        Operand::Address { base, offset, coordinates } => {
            text.push('[');
            let _ = match (base, offset) {
                (Some(base), 0) => write!(text, "{base}"),
                (Some(base), offset) => write!(text, "{base}+{offset}"),
                (None, offset) => write!(text, "{offset}"),
            };
            if let Some(coordinates) = coordinates {
                text.push_str(", ");
                list(text, coordinates);
            }
            text.push(']');
            Ok(())
        }
    };
}

fn list(text: &mut String, elements: &[Operand<'_>]) {
    text.push('{');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        operand(text, element);
    }
    text.push('}');
}
