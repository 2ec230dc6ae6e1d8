//! An opcode, read from left to right: the grammar of PTX fixes the order of its modifiers.

use crate::ir::Ty;
use crate::ir::memory::Scope;
use crate::ptx::Fault;

/// An opcode and how far it has been read.
pub(super) struct Opcode<'a> {
    whole: &'a str,
    root: &'a str,
    /// Behind the root, `None` when all is read.
    rest: Option<&'a str>,
}

impl<'a> Opcode<'a> {
    pub(super) fn new(whole: &'a str) -> Self {
        match whole.split_once('.') {
            Some((root, rest)) => Self { whole, root, rest: Some(rest) },
            None => Self { whole, root: whole, rest: None },
        }
    }

    pub(super) fn root(&self) -> &'a str {
        self.root
    }

    /// The next modifier.
    fn peek(&self) -> Option<&'a str> {
        self.rest.map(|rest| rest.split_once('.').map_or(rest, |(first, _)| first))
    }

    fn advance(&mut self) {
        self.rest = self.rest.and_then(|rest| rest.split_once('.')).map(|(_, rest)| rest);
    }

    /// Whether a modifier is anywhere in what is left.
    pub(super) fn has(&self, modifier: &str) -> bool {
        self.rest.is_some_and(|rest| rest.split('.').any(|found| found == modifier))
    }

    /// Reads the modifier if it is next.
    pub(super) fn take(&mut self, modifier: &str) -> bool {
        let next = self.peek() == Some(modifier);
        if next {
            self.advance();
        }
        next
    }

    /// Reads one of several if it is next.
    pub(super) fn take_any<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let next = self.peek()?;
        let (_, choice) = choices.iter().find(|(modifier, _)| *modifier == next)?;
        self.advance();
        Some(*choice)
    }

    /// Reads one of several, which must be next.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[(&str, T)]) -> Result<T, Fault> {
        self.take_any(choices).ok_or_else(|| self.unknown())
    }

    /// Reads these, which must be next.
    pub(super) fn all(&mut self, modifiers: &[&str]) -> Result<(), Fault> {
        for modifier in modifiers {
            if !self.take(modifier) {
                return Err(self.unknown());
            }
        }
        Ok(())
    }

    /// Reads the next modifier, whatever it is.
    pub(super) fn next(&mut self) -> Result<&'a str, Fault> {
        let next = self.peek().ok_or_else(|| self.unknown())?;
        self.advance();
        Ok(next)
    }

    /// Reads a type, which must be next and one of those allowed.
    pub(super) fn ty(&mut self, allowed: &[Ty]) -> Result<Ty, Fault> {
        self.take_ty().filter(|ty| allowed.contains(ty)).ok_or_else(|| self.unknown())
    }

    /// Reads a type if it is next.
    pub(super) fn take_ty(&mut self) -> Option<Ty> {
        self.take_any(&[
            ("b8", Ty::B8),
            ("b16", Ty::B16),
            ("b32", Ty::B32),
            ("b64", Ty::B64),
            ("u8", Ty::U8),
            ("u16", Ty::U16),
            ("u32", Ty::U32),
            ("u64", Ty::U64),
            ("s8", Ty::S8),
            ("s16", Ty::S16),
            ("s32", Ty::S32),
            ("s64", Ty::S64),
            ("f16", Ty::F16),
            ("bf16", Ty::Bf16),
            ("f32", Ty::F32),
            ("f64", Ty::F64),
        ])
    }

    /// Reads a scope if it is next.
    pub(super) fn take_scope(&mut self) -> Option<Scope> {
        self.take_any(&[
            ("cta", Scope::Cta),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Gpu),
            ("sys", Scope::Sys),
        ])
    }

    /// Reads a scope, which must be next.
    pub(super) fn scope(&mut self) -> Result<Scope, Fault> {
        self.take_scope().ok_or_else(|| self.unknown())
    }

    /// All must have been read.
    pub(super) fn end(&self) -> Result<(), Fault> {
        if self.rest.is_none() { Ok(()) } else { Err(self.unknown()) }
    }

    /// The fault that this is no instruction that the emulator knows.
    pub(super) fn unknown(&self) -> Fault {
        Fault::Instruction(self.whole.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_read_in_order() {
        let mut opcode = Opcode::new("ld.shared::cta.v2.u32");
        assert_eq!(opcode.root(), "ld");
        assert!(!opcode.take("v2"), "it is not next");
        assert!(opcode.has("v2"));
        assert!(opcode.take("shared::cta") && opcode.take("v2"));
        assert_eq!(opcode.end(), Err(Fault::Instruction("ld.shared::cta.v2.u32".into())));
        assert_eq!(opcode.ty(&[Ty::U32]), Ok(Ty::U32));
        assert_eq!(opcode.end(), Ok(()));
    }

    #[test]
    fn a_type_that_is_not_allowed_makes_it_unknown() {
        let mut opcode = Opcode::new("add.f64");
        assert_eq!(opcode.ty(&[Ty::F32]), Err(Fault::Instruction("add.f64".into())));
    }
}
