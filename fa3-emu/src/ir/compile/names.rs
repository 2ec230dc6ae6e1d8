//! What names mean where. Registers and labels belong to the innermost braces around their
//! declaration and hide those of the same name outside; a register is declared before its use, a
//! label may be placed behind it. PTX ISA, "Identifiers" and "Parameterized Variable Names".

use std::collections::HashMap;

use super::super::program::Registers;
use crate::ir::{Class, PredReg, Reg};
use crate::ptx::{Fault, PtxError, RegisterTy, Statement};

/// A label, by the order of the labels in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelId(pub(super) u32);

/// Bits or a predicate, with its number among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A register.
    Reg(Reg),
    /// A predicate register.
    Pred(PredReg),
    /// The address of a variable or parameter.
    Constant(u32),
}

/// One declaration of `.reg`, of one or of many registers. Those that are used get numbers when
/// they are first met, so that a thread has no more registers than the kernel uses.
struct Declaration {
    ty: RegisterTy,
    count: Option<u32>,
    numbers: HashMap<u32, u32>,
}

#[derive(Default)]
struct Scope<'a> {
    parent: usize,
    registers: HashMap<&'a str, Declaration>,
    labels: HashMap<&'a str, LabelId>,
}

/// The names of a kernel.
pub(super) struct Names<'a> {
    /// In the order in which they open; the first is the kernel.
    scopes: Vec<Scope<'a>>,
    current: usize,
    opened: usize,
    constants: HashMap<String, u32>,
    /// Of each label.
    positions: Vec<u32>,
    used: Registers,
}

impl<'a> Names<'a> {
    /// The labels of a body, in their scopes.
    pub(super) fn new(body: &[Statement<'a>]) -> Result<Self, PtxError> {
        let mut scopes = vec![Scope::default()];
        let (mut current, mut labels) = (0, 0_u32);
        for statement in body {
            match statement {
                Statement::Open => {
                    scopes.push(Scope { parent: current, ..Scope::default() });
                    current = scopes.len() - 1;
                }
                Statement::Close => current = scopes.get(current).map_or(0, |scope| scope.parent),
                Statement::Label { name, line } => {
                    let Some(scope) = scopes.get_mut(current) else { continue };
                    if scope.labels.insert(*name, LabelId(labels)).is_some() {
                        return Err(Fault::Redeclared((*name).to_owned()).at(*line));
                    }
                    labels = labels.saturating_add(1);
                }
                _ => {}
            }
        }
        let positions = vec![0; labels as usize];
        Ok(Self {
            scopes,
            current: 0,
            opened: 0,
            constants: HashMap::new(),
            positions,
            used: Registers::default(),
        })
    }

    /// Goes into the next scope of the text.
    pub(super) fn open(&mut self) {
        self.opened += 1;
        self.current = self.opened;
    }

    /// Leaves the scope.
    pub(super) fn close(&mut self) {
        self.current = self.scopes.get(self.current).map_or(0, |scope| scope.parent);
    }

    /// Declares registers in the current scope.
    pub(super) fn declare(
        &mut self,
        name: &'a str,
        count: Option<u32>,
        ty: RegisterTy,
        line: u32,
    ) -> Result<(), PtxError> {
        let declaration = Declaration { ty, count, numbers: HashMap::new() };
        let Some(scope) = self.scopes.get_mut(self.current) else { return Ok(()) };
        match scope.registers.insert(name, declaration) {
            None => Ok(()),
            Some(_) => Err(Fault::Redeclared(name.to_owned()).at(line)),
        }
    }

    /// Declares the address of a variable or parameter.
    pub(super) fn declare_constant(&mut self, name: &str, value: u32, line: u32) -> Result<(), PtxError> {
        match self.constants.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(Fault::Redeclared(name.to_owned()).at(line)),
        }
    }

    /// A label of the current scope stands before the instruction of that number.
    pub(super) fn place(&mut self, name: &str, position: u32) {
        let id = self.scopes.get(self.current).and_then(|scope| scope.labels.get(name));
        if let Some(place) = id.and_then(|id| self.positions.get_mut(id.0 as usize)) {
            *place = position;
        }
    }

    /// The instruction before which a label stands.
    pub(super) fn position(&self, label: LabelId) -> u32 {
        self.positions.get(label.0 as usize).copied().unwrap_or(0)
    }

    /// The label that a branch means.
    pub(super) fn label(&self, name: &str) -> Result<LabelId, Fault> {
        let mut at = self.current;
        loop {
            let scope = self.scopes.get(at).ok_or_else(|| undeclared(name))?;
            match scope.labels.get(name) {
                Some(label) => return Ok(*label),
                None if at == 0 => return Err(undeclared(name)),
                None => at = scope.parent,
            }
        }
    }

    /// What an operand's name means.
    pub(super) fn resolve(&mut self, name: &str) -> Result<Named, Fault> {
        let numbered = numbered(name);
        let mut at = self.current;
        while let Some(scope) = self.scopes.get_mut(at) {
            if let Some(declaration) = scope.registers.get_mut(name).filter(|found| found.count.is_none()) {
                return Ok(declaration.number(0, &mut self.used));
            }
            if let Some((prefix, number)) = numbered {
                let in_range = |found: &&mut Declaration| found.count.is_some_and(|count| number < count);
                if let Some(declaration) = scope.registers.get_mut(prefix).filter(in_range) {
                    return Ok(declaration.number(number, &mut self.used));
                }
            }
            if at == 0 {
                break;
            }
            at = scope.parent;
        }
        self.constants.get(name).map(|value| Named::Constant(*value)).ok_or_else(|| undeclared(name))
    }

    /// The predicate of that name.
    pub(super) fn pred(&mut self, name: &str) -> Result<PredReg, Fault> {
        match self.resolve(name)? {
            Named::Pred(pred) => Ok(pred),
            _ => Err(Fault::Expected { expected: "a predicate", found: format!("`{name}`") }),
        }
    }

    /// How many registers have been used.
    pub(super) fn registers(&self) -> Registers {
        self.used
    }
}

impl Declaration {
    fn number(&mut self, member: u32, used: &mut Registers) -> Named {
        let counter = match self.ty {
            RegisterTy::Pred => &mut used.pred,
            RegisterTy::Bits(Class::B16) => &mut used.b16,
            RegisterTy::Bits(Class::B32) => &mut used.b32,
            RegisterTy::Bits(Class::B64) => &mut used.b64,
        };
        let number = *self.numbers.entry(member).or_insert_with(|| {
            let number = *counter;
            *counter = counter.saturating_add(1);
            number
        });
        match self.ty {
            RegisterTy::Pred => Named::Pred(PredReg(number)),
            RegisterTy::Bits(class) => Named::Reg(Reg { class, index: number }),
        }
    }
}

fn undeclared(name: &str) -> Fault {
    Fault::Undeclared(name.to_owned())
}

/// `%r12` as `%r` and 12.
fn numbered(name: &str) -> Option<(&str, u32)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = name.get(prefix.len()..)?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let number = digits.parse().ok().filter(|_| canonical)?;
    Some((prefix, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_names_hide_outer_ones() {
        let body = [Statement::Open, Statement::Close];
        let mut names = Names::new(&body).expect("no labels");
        names.declare("p", None, RegisterTy::Pred, 1).expect("first");
        let outer = names.resolve("p");
        names.open();
        names.declare("p", None, RegisterTy::Pred, 2).expect("another scope");
        assert_ne!(names.resolve("p"), outer);
        names.close();
        assert_eq!(names.resolve("p"), outer);
        assert_eq!(names.registers().pred, 2);
    }

    #[test]
    fn only_used_registers_count() {
        let mut names = Names::new(&[]).expect("no labels");
        names.declare("%r", Some(u32::MAX), RegisterTy::Bits(Class::B32), 1).expect("first");
        assert_eq!(names.resolve("%r4000000000"), Ok(Named::Reg(Reg { class: Class::B32, index: 0 })));
        assert_eq!(names.resolve("%r7"), Ok(Named::Reg(Reg { class: Class::B32, index: 1 })));
        assert_eq!(names.registers().b32, 2);
        for absent in ["%r", "%r4294967295", "%r07", "%q1"] {
            assert_eq!(names.resolve(absent), Err(Fault::Undeclared(absent.into())));
        }
    }

    #[test]
    fn numbers_have_no_leading_zeros() {
        assert_eq!(numbered("%r0"), Some(("%r", 0)));
        assert_eq!(numbered("%r12"), Some(("%r", 12)));
        assert_eq!(numbered("%r012"), None);
        assert_eq!(numbered("%r"), None);
    }

    #[test]
    fn a_label_ahead_is_found_outward_only() {
        let label = |name, line| Statement::Label { name, line };
        let body = [Statement::Open, label("inner", 1), Statement::Close, label("outer", 2)];
        let mut names = Names::new(&body).expect("two labels");
        assert_eq!(names.label("inner"), Err(Fault::Undeclared("inner".into())));
        names.open();
        assert_eq!(names.label("inner"), Ok(LabelId(0)));
        assert_eq!(names.label("outer"), Ok(LabelId(1)));
        assert!(Names::new(&[label("twice", 1), label("twice", 2)]).is_err_and(|e| e.line() == Some(2)));
    }
}
