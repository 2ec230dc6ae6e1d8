//! The registers of `wgmma`'s fragments: who may access them, and when (PTX ISA, "wgmma.fence",
//! "wgmma.mma_async", "wgmma.wait_group").

use super::finding::{Actor, Finding, Fragment, Role};
use super::{Checked, Checker};
use crate::ir::mma::{MmaOp, OperandA, Wgmma};
use crate::ir::uses::{Mode, registers};
use crate::ir::{Class, Op, Program, Reg};

/// No register of a fragment.
const NONE: u32 = u32::MAX;

/// Which instructions of a kernel access registers that are in fragments of its `wgmma`. Fragments
/// of `wgmma` are 32-bit registers, here numbered apart from all others.
#[derive(Clone, Debug, Default)]
pub struct FragmentTable {
    /// How many there are.
    count: u32,
    /// For each instruction, where its accesses end in `accesses`; they begin where the last one's end.
    ends: Vec<u32>,
    accesses: Vec<(u32, Mode)>,
    /// The `wgmma`, by instruction.
    products: Vec<(u32, Product)>,
}

#[derive(Clone, Debug)]
struct Product {
    /// Columns of the accumulator: the shape's only variable.
    n: u32,
    d: Vec<u32>,
    a: Vec<u32>,
}

impl FragmentTable {
    /// The table of a kernel.
    pub fn new(program: &Program) -> Self {
        let mut numbers = vec![NONE; program.registers.b32 as usize];
        let mut table = Self::default();
        for (pc, instr) in (0_u32..).zip(&program.instructions) {
            if let Op::Mma(MmaOp::Wgmma(wgmma)) = &instr.op {
                let product = Product::new(wgmma, &mut numbers, &mut table.count);
                table.products.push((pc, product));
            }
        }
        if table.products.is_empty() {
            return table;
        }
        for instr in &program.instructions {
            registers(&instr.op, &mut |reg, mode| {
                let number = numbers.get(reg.index as usize).copied().unwrap_or(NONE);
                if reg.class == Class::B32 && number != NONE {
                    table.accesses.push((number, mode));
                }
            });
            table.ends.push(u32::try_from(table.accesses.len()).unwrap_or(u32::MAX));
        }
        table
    }

    /// Whether the kernel has no `wgmma`.
    pub fn is_empty(&self) -> bool {
        self.products.is_empty()
    }

    /// The accesses of an instruction.
    #[inline]
    fn of(&self, pc: u32) -> &[(u32, Mode)] {
        let pc = pc as usize;
        let start = pc.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(pc).copied().unwrap_or(start);
        self.accesses.get(start as usize..end as usize).unwrap_or_default()
    }

    fn product(&self, pc: u32) -> Option<&Product> {
        let place = self.products.binary_search_by_key(&pc, |(at, _)| *at).ok()?;
        self.products.get(place).map(|(_, product)| product)
    }

    /// What a register is in the `wgmma` at `pc`.
    fn fragment(&self, pc: u32, role: Role, number: u32) -> Fragment {
        let list = self.product(pc).map(|product| match role {
            Role::D => &product.d,
            Role::A => &product.a,
        });
        let place = list.and_then(|list| list.iter().position(|&one| one == number));
        Fragment { role, index: place.and_then(|place| u32::try_from(place).ok()).unwrap_or(NONE) }
    }
}

impl Product {
    fn new(wgmma: &Wgmma, numbers: &mut [u32], count: &mut u32) -> Self {
        let mut number = |reg: &Reg| {
            let Some(slot) = numbers.get_mut(reg.index as usize) else { return NONE };
            if *slot == NONE {
                *slot = *count;
                *count += 1;
            }
            *slot
        };
        let a = match &wgmma.a {
            OperandA::Registers(registers) => registers.iter().map(&mut number).collect(),
            OperandA::Shared { .. } => Vec::new(),
        };
        Self { n: wgmma.n, d: wgmma.d.iter().map(number).collect(), a }
    }
}

/// A register of a warp. Products are counted from one.
#[derive(Clone, Copy, Debug)]
struct State {
    /// How many fences the warp had executed when an instruction last accessed the register.
    accessed: u32,
    accessed_by: Actor,
    /// The last product with the register in its accumulator: number, fences before it, columns.
    d: u32,
    d_fences: u32,
    d_columns: u32,
    d_pc: u32,
    /// The last product with the register in its A operand.
    a: u32,
    a_pc: u32,
}

const UNTOUCHED: State = State {
    accessed: NONE,
    accessed_by: Actor { warp: 0, pc: 0, lanes: 0 },
    d: 0,
    d_fences: 0,
    d_columns: 0,
    d_pc: 0,
    a: 0,
    a_pc: 0,
};

/// A warp.
#[derive(Debug)]
struct Registers {
    states: Vec<State>,
    fences: u32,
    /// Products in groups that have been closed.
    committed: u32,
    /// Products that have been waited for.
    done: u32,
}

/// The registers of all warps.
#[derive(Debug)]
pub(super) struct Fragments<'a> {
    table: &'a FragmentTable,
    warps: Vec<Registers>,
}

impl<'a> Fragments<'a> {
    pub(super) fn new(table: &'a FragmentTable, warps: u32) -> Self {
        let warp =
            |_| Registers { states: vec![UNTOUCHED; table.count as usize], fences: 0, committed: 0, done: 0 };
        Self { table, warps: (0..warps).map(warp).collect() }
    }

    #[inline]
    fn access(&mut self, actor: Actor) -> Checked {
        let accesses = self.table.of(actor.pc);
        if accesses.is_empty() {
            return Ok(());
        }
        let Some(warp) = self.warps.get_mut(actor.warp as usize) else { return Ok(()) };
        for &(number, mode) in accesses {
            let Some(state) = warp.states.get_mut(number as usize) else { continue };
            let written = mode == Mode::Write;
            let pending = if state.d > warp.done {
                Some((Role::D, state.d, state.d_pc))
            } else if written && state.a > warp.done {
                Some((Role::A, state.a, state.a_pc))
            } else {
                None
            };
            if let Some((role, product, pc)) = pending {
                return Err(Finding::PendingRegister {
                    register: self.table.fragment(pc, role, number),
                    written,
                    committed: product <= warp.committed,
                    other: Actor { pc, lanes: u32::MAX, ..actor },
                });
            }
            state.accessed = warp.fences;
            state.accessed_by = actor;
        }
        Ok(())
    }

    /// A warp issues its part of product `number`.
    pub(super) fn product(&mut self, actor: Actor, number: u32) -> Checked {
        let (Some(product), Some(warp)) =
            (self.table.product(actor.pc), self.warps.get_mut(actor.warp as usize))
        else {
            return Ok(());
        };
        if warp.fences == 0 {
            return Err(Finding::NoFence);
        }
        let &mut Registers { fences, committed, done, .. } = warp;
        for (role, list) in [(Role::D, &product.d), (Role::A, &product.a)] {
            for &register in list {
                let Some(state) = warp.states.get_mut(register as usize) else { continue };
                if state.accessed == fences {
                    let register = self.table.fragment(actor.pc, role, register);
                    return Err(Finding::MissingFence { register, other: state.accessed_by });
                }
                let chained = role == Role::D && (state.d_columns == product.n || state.d_fences < fences);
                let pending = if state.d > done && !chained {
                    Some((Role::D, state.d, state.d_pc))
                } else if role == Role::D && state.a > done {
                    Some((Role::A, state.a, state.a_pc))
                } else {
                    None
                };
                if let Some((of, other, pc)) = pending {
                    return Err(Finding::PendingRegister {
                        register: self.table.fragment(pc, of, register),
                        written: role == Role::D,
                        committed: other <= committed,
                        other: Actor { pc, ..actor },
                    });
                }
                match role {
                    Role::D => {
                        state.d = number;
                        state.d_fences = fences;
                        state.d_columns = product.n;
                        state.d_pc = actor.pc;
                    }
                    Role::A => {
                        state.a = number;
                        state.a_pc = actor.pc;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn fence(&mut self, warp: u32) {
        if let Some(warp) = self.warps.get_mut(warp as usize) {
            warp.fences = warp.fences.saturating_add(1);
        }
    }

    pub(super) fn commit(&mut self, warp: u32, issued: u32) {
        if let Some(warp) = self.warps.get_mut(warp as usize) {
            warp.committed = issued;
        }
    }

    pub(super) fn wait(&mut self, warp: u32, done: u32) {
        if let Some(warp) = self.warps.get_mut(warp as usize) {
            warp.done = done;
        }
    }
}

impl Checker<'_> {
    /// A warp executes an instruction, whose registers it accesses.
    ///
    /// # Errors
    /// [`Finding::PendingRegister`].
    #[inline]
    pub fn instruction(&mut self, actor: Actor) -> Checked {
        match &mut self.fragments {
            Some(fragments) => fragments.access(actor),
            None => Ok(()),
        }
    }
}
