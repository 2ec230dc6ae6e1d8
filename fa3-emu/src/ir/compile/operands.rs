//! The operands of an instruction, read from left to right.

use super::names::{LabelId, Named, Names};
use crate::ir::bulk::Tile;
use crate::ir::{Address, Class, PredReg, Reg, Special, Src, Ty};
use crate::ptx::{Fault, Instruction, Operand};

/// The operands of an instruction and how many have been read.
pub(super) struct Operands<'n, 'a> {
    names: &'n mut Names<'a>,
    opcode: &'a str,
    list: &'n [Operand<'a>],
    at: usize,
}

impl<'n, 'a> Operands<'n, 'a> {
    pub(super) fn new(names: &'n mut Names<'a>, instruction: &'n Instruction<'a>) -> Self {
        Self { names, opcode: instruction.opcode, list: &instruction.operands, at: 0 }
    }

    /// How many are left.
    pub(super) fn left(&self) -> usize {
        self.list.len().saturating_sub(self.at)
    }

    /// The next, which is left.
    pub(super) fn peek(&self) -> Option<&'n Operand<'a>> {
        self.list.get(self.at)
    }

    /// All must have been read.
    pub(super) fn end(&self) -> Result<(), Fault> {
        if self.left() == 0 { Ok(()) } else { Err(self.count(false)) }
    }

    /// A register of the class to write to.
    pub(super) fn dst(&mut self, class: Class) -> Result<Reg, Fault> {
        let operand = self.next()?;
        self.register(operand, |found| found == class, register_of(class))
    }

    /// A register of the class or wider to write to.
    pub(super) fn wide_dst(&mut self, class: Class) -> Result<Reg, Fault> {
        let operand = self.next()?;
        self.register(operand, |found| bits(found) >= bits(class), register_from(class))
    }

    /// A register of the class to write to, or `_`.
    pub(super) fn dst_or_sink(&mut self, class: Class) -> Result<Option<Reg>, Fault> {
        if self.peek() == Some(&Operand::Name("_")) {
            self.at += 1;
            return Ok(None);
        }
        self.dst(class).map(Some)
    }

    /// `_`, where nothing else is allowed.
    pub(super) fn sink(&mut self) -> Result<(), Fault> {
        match self.next()? {
            Operand::Name("_") => Ok(()),
            _ => Err(self.wrong("`_`")),
        }
    }

    /// A register of the type's class, or a constant.
    pub(super) fn src(&mut self, ty: Ty) -> Result<Src, Fault> {
        let operand = self.next()?;
        self.value(operand, ty, false)
    }

    /// A register of the type's class or wider, or a constant.
    pub(super) fn wide_src(&mut self, ty: Ty) -> Result<Src, Fault> {
        let operand = self.next()?;
        self.value(operand, ty, true)
    }

    /// A predicate.
    pub(super) fn pred(&mut self) -> Result<PredReg, Fault> {
        match self.next()? {
            Operand::Name(name) => self.predicate(name),
            _ => Err(self.wrong(PREDICATE)),
        }
    }

    /// A predicate or its opposite.
    pub(super) fn signed_pred(&mut self) -> Result<(PredReg, bool), Fault> {
        match self.next()? {
            Operand::Name(name) => Ok((self.predicate(name)?, false)),
            Operand::Not(name) => Ok((self.predicate(name)?, true)),
            _ => Err(self.wrong(PREDICATE)),
        }
    }

    /// A register and a predicate behind it, `d|p`; each may be `_`, and the predicate absent.
    pub(super) fn pair(&mut self, class: Class) -> Result<(Option<Reg>, Option<PredReg>), Fault> {
        let (first, second) = match self.next()? {
            Operand::Pair(first, second) => (*first, Some(*second)),
            Operand::Name(first) => (*first, None),
            _ => return Err(self.wrong("a register, or a register and a predicate")),
        };
        let reg = match first {
            "_" => None,
            name => Some(self.register(&Operand::Name(name), |found| found == class, register_of(class))?),
        };
        let pred = match second {
            None | Some("_") => None,
            Some(name) => Some(self.predicate(name)?),
        };
        Ok((reg, pred))
    }

    /// An integer constant from 0 to `limit`.
    pub(super) fn constant(&mut self, limit: u32, expected: &'static str) -> Result<u32, Fault> {
        let value = match self.next()? {
            Operand::Integer(value) => u32::try_from(*value).ok(),
            _ => None,
        };
        value.filter(|value| *value <= limit).ok_or_else(|| self.wrong(expected))
    }

    /// One of these integers.
    pub(super) fn integer(&mut self, allowed: &[i128], expected: &'static str) -> Result<i128, Fault> {
        match self.next()? {
            Operand::Integer(value) if allowed.contains(value) => Ok(*value),
            _ => Err(self.wrong(expected)),
        }
    }

    /// A number that is only advice.
    pub(super) fn any_constant(&mut self) -> Result<(), Fault> {
        match self.next()? {
            Operand::Decimal(_) | Operand::Single(_) | Operand::Integer(_) => Ok(()),
            _ => Err(self.wrong("a number")),
        }
    }

    /// A special register, as `of` tells it by its name.
    pub(super) fn special(&mut self, of: fn(&str) -> Option<Special>) -> Result<Special, Fault> {
        let special = match self.next()? {
            Operand::Name(name) => of(name),
            _ => None,
        };
        special.ok_or_else(|| self.wrong("a special register"))
    }

    /// The label of a branch.
    pub(super) fn label(&mut self) -> Result<LabelId, Fault> {
        match self.next()? {
            Operand::Name(name) => self.names.label(name),
            _ => Err(self.wrong("a label")),
        }
    }

    /// An address.
    pub(super) fn address(&mut self) -> Result<Address, Fault> {
        match self.next()? {
            Operand::Address { base, offset, coordinates: None } => self.place(*base, *offset),
            _ => Err(self.wrong("an address")),
        }
    }

    /// A tensor map and coordinates in it.
    pub(super) fn tile(&mut self, dimensions: usize) -> Result<Tile, Fault> {
        let Operand::Address { base, offset, coordinates: Some(coordinates) } = self.next()? else {
            return Err(self.wrong("a tensor map and coordinates"));
        };
        if coordinates.len() != dimensions {
            return Err(self.wrong("a tensor map and as many coordinates as the instruction says"));
        }
        let map = self.place(*base, *offset)?;
        let coordinates: Result<_, Fault> =
            coordinates.iter().map(|coordinate| self.value(coordinate, Ty::S32, false)).collect();
        Ok(Tile { map, coordinates: coordinates? })
    }

    /// A vector of so many registers of the class.
    pub(super) fn registers(&mut self, count: usize, class: Class) -> Result<Box<[Reg]>, Fault> {
        let elements = self.vector(count)?;
        elements
            .iter()
            .map(|element| self.register(element, |found| found == class, register_of(class)))
            .collect()
    }

    /// So many registers of the class or wider to write to, or `_`; one stands without braces.
    pub(super) fn wide_dsts(&mut self, count: usize, class: Class) -> Result<Box<[Option<Reg>]>, Fault> {
        if count == 1 {
            return Ok(Box::new([Some(self.wide_dst(class)?)]));
        }
        self.sinks(count, |found| bits(found) >= bits(class), register_from(class))
    }

    /// So many registers of the class to write to, or `_`.
    pub(super) fn dsts(&mut self, count: usize, class: Class) -> Result<Box<[Option<Reg>]>, Fault> {
        self.sinks(count, |found| found == class, register_of(class))
    }

    fn sinks(
        &mut self,
        count: usize,
        allowed: impl Fn(Class) -> bool + Copy,
        expected: &'static str,
    ) -> Result<Box<[Option<Reg>]>, Fault> {
        let elements = self.vector(count)?;
        let one = |element: &Operand<'a>| match element {
            Operand::Name("_") => Ok(None),
            element => self.register(element, allowed, expected).map(Some),
        };
        elements.iter().map(one).collect()
    }

    /// So many values of the type, or wider registers; one stands without braces.
    pub(super) fn wide_srcs(&mut self, count: usize, ty: Ty) -> Result<Box<[Src]>, Fault> {
        if count == 1 {
            return Ok(Box::new([self.wide_src(ty)?]));
        }
        let elements = self.vector(count)?;
        elements.iter().map(|element| self.value(element, ty, true)).collect()
    }

    /// So many values of the type.
    pub(super) fn srcs(&mut self, count: usize, ty: Ty) -> Result<Box<[Src]>, Fault> {
        let elements = self.vector(count)?;
        elements.iter().map(|element| self.value(element, ty, false)).collect()
    }

    /// A fault of the operand that was read last.
    pub(super) fn wrong(&self, expected: &'static str) -> Fault {
        Fault::Operand { opcode: self.opcode.to_owned(), number: self.at, expected }
    }

    fn next(&mut self) -> Result<&'n Operand<'a>, Fault> {
        let next = self.list.get(self.at).ok_or_else(|| self.count(true))?;
        self.at += 1;
        Ok(next)
    }

    fn count(&self, few: bool) -> Fault {
        Fault::OperandCount { opcode: self.opcode.to_owned(), found: self.list.len(), few }
    }

    fn vector(&mut self, count: usize) -> Result<&'n [Operand<'a>], Fault> {
        match self.next()? {
            Operand::Vector(elements) if elements.len() == count => Ok(elements),
            _ => Err(self.wrong("a vector of as many elements as the instruction says")),
        }
    }

    fn predicate(&mut self, name: &str) -> Result<PredReg, Fault> {
        match self.names.resolve(name)? {
            Named::Pred(pred) => Ok(pred),
            _ => Err(self.wrong(PREDICATE)),
        }
    }

    fn register(
        &mut self,
        operand: &Operand<'a>,
        allowed: impl Fn(Class) -> bool,
        expected: &'static str,
    ) -> Result<Reg, Fault> {
        let Operand::Name(name) = operand else {
            return Err(self.wrong(expected));
        };
        match self.names.resolve(name)? {
            Named::Reg(reg) if allowed(reg.class) => Ok(reg),
            _ => Err(self.wrong(expected)),
        }
    }

    fn place(&mut self, base: Option<&str>, offset: i64) -> Result<Address, Fault> {
        let Some(name) = base else {
            return Ok(Address { base: None, offset });
        };
        match self.names.resolve(name)? {
            Named::Reg(reg) if reg.class != Class::B16 => Ok(Address { base: Some(reg), offset }),
            Named::Constant(value) => {
                let offset = offset.checked_add(i64::from(value));
                let offset = offset.ok_or_else(|| self.wrong("an address below 2^63"))?;
                Ok(Address { base: None, offset })
            }
            _ => Err(self.wrong("an address in a register of 32 or 64 bits")),
        }
    }

    fn value(&mut self, operand: &Operand<'a>, ty: Ty, wider: bool) -> Result<Src, Fault> {
        let class = ty.class();
        match operand {
            Operand::Name(name) => match self.names.resolve(name)? {
                Named::Reg(reg) if reg.class == class || wider && bits(reg.class) > bits(class) => {
                    Ok(Src::Reg(reg))
                }
                Named::Constant(value) if takes_integers(ty) => self.fitting(i128::from(value), ty),
                _ => Err(self.wrong(value_of(ty))),
            },
            Operand::Sum(name, offset) => match self.names.resolve(name)? {
                Named::Constant(value) if takes_integers(ty) => {
                    self.fitting(i128::from(value) + i128::from(*offset), ty)
                }
                _ => Err(self.wrong(value_of(ty))),
            },
            Operand::Integer(value) if takes_integers(ty) => self.fitting(*value, ty),
            Operand::Single(value) if matches!(ty, Ty::F32 | Ty::B32) => Ok(Src::Imm(u64::from(*value))),
            Operand::Double(value) if matches!(ty, Ty::F64 | Ty::B64) => Ok(Src::Imm(*value)),
            _ => Err(self.wrong(value_of(ty))),
        }
    }

    /// The bits of an integer that fits the type as a signed or as an unsigned number.
    fn fitting(&self, value: i128, ty: Ty) -> Result<Src, Fault> {
        let bits = ty.bits();
        if value >= -(1 << (bits - 1)) && value < 1 << bits {
            return Ok(Src::Imm((value & ((1 << bits) - 1)) as u64));
        }
        Err(Fault::Constant { opcode: self.opcode.to_owned(), number: self.at, value, bits })
    }
}

const PREDICATE: &str = "a predicate";

const fn bits(class: Class) -> u32 {
    match class {
        Class::B16 => 16,
        Class::B32 => 32,
        Class::B64 => 64,
    }
}

const fn takes_integers(ty: Ty) -> bool {
    !ty.is_float()
}

const fn register_of(class: Class) -> &'static str {
    match class {
        Class::B16 => "a register of 16 bits",
        Class::B32 => "a register of 32 bits",
        Class::B64 => "a register of 64 bits",
    }
}

const fn register_from(class: Class) -> &'static str {
    match class {
        Class::B16 => "a register of at least 16 bits",
        Class::B32 => "a register of at least 32 bits",
        Class::B64 => "a register of 64 bits",
    }
}

const fn value_of(ty: Ty) -> &'static str {
    match (ty, ty.class()) {
        (Ty::F32, _) => "a register of 32 bits or a `0f` constant",
        (_, Class::B16) => "a register of 16 bits or a constant",
        (_, Class::B32) => "a register of 32 bits or a constant",
        (_, Class::B64) => "a register of 64 bits or a constant",
    }
}
