//! The registers of a warp: for each register, a value for each lane.

use super::fault::{FaultKind, NotUniform};
use super::lanes::{Lanes, WARP, lanes_of, write};
use crate::ir::{self, Class, PredReg, Reg, Src};

/// The registers of a warp, by width. Zero at first, though PTX leaves them undefined.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    b16: Vec<Lanes<u16>>,
    b32: Vec<Lanes<u32>>,
    b64: Vec<Lanes<u64>>,
    /// A bit a lane.
    predicates: Vec<u32>,
}

impl Registers {
    pub(crate) fn new(counts: ir::Registers) -> Self {
        Self {
            b16: vec![[0; WARP]; counts.b16 as usize],
            b32: vec![[0; WARP]; counts.b32 as usize],
            b64: vec![[0; WARP]; counts.b64 as usize],
            predicates: vec![0; counts.pred as usize],
        }
    }

    #[inline(always)]
    pub(crate) fn b16(&self, src: Src) -> Lanes<u16> {
        match src {
            Src::Reg(reg) => self.b16[reg.index as usize],
            Src::Imm(bits) => [bits as u16; WARP],
        }
    }

    #[inline(always)]
    pub(crate) fn b32(&self, src: Src) -> Lanes<u32> {
        match src {
            Src::Reg(reg) => self.b32[reg.index as usize],
            Src::Imm(bits) => [bits as u32; WARP],
        }
    }

    #[inline(always)]
    pub(crate) fn b64(&self, src: Src) -> Lanes<u64> {
        match src {
            Src::Reg(reg) => self.b64[reg.index as usize],
            Src::Imm(bits) => [bits; WARP],
        }
    }

    /// A source of any width, zero-extended.
    pub(crate) fn wide(&self, src: Src) -> Lanes<u64> {
        match src {
            Src::Imm(bits) => [bits; WARP],
            Src::Reg(reg) => match reg.class {
                Class::B16 => self.b16[reg.index as usize].map(u64::from),
                Class::B32 => self.b32[reg.index as usize].map(u64::from),
                Class::B64 => self.b64[reg.index as usize],
            },
        }
    }

    /// One lane of [`wide`](Self::wide).
    pub(crate) fn lane(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Imm(bits) => bits,
            Src::Reg(reg) => match reg.class {
                Class::B16 => self.b16[reg.index as usize][lane].into(),
                Class::B32 => self.b32[reg.index as usize][lane].into(),
                Class::B64 => self.b64[reg.index as usize][lane],
            },
        }
    }

    /// The value of a source in the lanes of `mask`, which must agree on it.
    pub(crate) fn agreed(&self, operand: &'static str, src: Src, mask: u32) -> Result<u64, FaultKind> {
        let first = mask.trailing_zeros() as usize % WARP;
        let value = self.lane(src, first);
        let other = match src {
            Src::Imm(_) => None,
            Src::Reg(_) => lanes_of(mask).find(|&lane| self.lane(src, lane) != value),
        };
        match other {
            None => Ok(value),
            Some(other) => {
                let values = [value, self.lane(src, other)];
                Err(Box::new(NotUniform { operand, who: "lanes", at: [first, other], values }).into())
            }
        }
    }

    /// A predicate in the lanes of `mask`, which must agree on it.
    pub(crate) fn agreed_predicate(
        &self,
        operand: &'static str,
        predicate: PredReg,
        mask: u32,
    ) -> Result<bool, FaultKind> {
        let (on, off) = (self.predicate(predicate) & mask, !self.predicate(predicate) & mask);
        if on != 0 && off != 0 {
            let at = [on, off].map(|lanes| lanes.trailing_zeros() as usize);
            return Err(Box::new(NotUniform { operand, who: "lanes", at, values: [1, 0] }).into());
        }
        Ok(on != 0)
    }

    #[inline(always)]
    pub(crate) fn predicate(&self, predicate: PredReg) -> u32 {
        self.predicates[predicate.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn set_b16(&mut self, reg: Reg, values: &Lanes<u16>, mask: u32) {
        write(&mut self.b16[reg.index as usize], values, mask);
    }

    #[inline(always)]
    pub(crate) fn set_b32(&mut self, reg: Reg, values: &Lanes<u32>, mask: u32) {
        write(&mut self.b32[reg.index as usize], values, mask);
    }

    #[inline(always)]
    pub(crate) fn set_b64(&mut self, reg: Reg, values: &Lanes<u64>, mask: u32) {
        write(&mut self.b64[reg.index as usize], values, mask);
    }

    /// Writes a register of any width, cutting the values off.
    pub(crate) fn set_wide(&mut self, reg: Reg, values: &Lanes<u64>, mask: u32) {
        match reg.class {
            Class::B16 => self.set_b16(reg, &values.map(|value| value as u16), mask),
            Class::B32 => self.set_b32(reg, &values.map(|value| value as u32), mask),
            Class::B64 => self.set_b64(reg, values, mask),
        }
    }

    /// Writes one lane of a register of any width.
    pub(crate) fn set_lane(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg.class {
            Class::B16 => self.b16[reg.index as usize][lane] = value as u16,
            Class::B32 => self.b32[reg.index as usize][lane] = value as u32,
            Class::B64 => self.b64[reg.index as usize][lane] = value,
        }
    }

    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, predicate: PredReg, values: u32, mask: u32) {
        let slot = &mut self.predicates[predicate.0 as usize];
        *slot = *slot & !mask | values & mask;
    }

    /// A 32-bit register, all lanes.
    #[inline(always)]
    pub(crate) fn word(&self, reg: Reg) -> &Lanes<u32> {
        &self.b32[reg.index as usize]
    }

    /// A 32-bit register, all lanes, to be written.
    #[inline(always)]
    pub(crate) fn word_mut(&mut self, reg: Reg) -> &mut Lanes<u32> {
        &mut self.b32[reg.index as usize]
    }
}
