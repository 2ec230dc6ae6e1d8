//! Arithmetic: what an instruction does in the registers of each lane.

mod convert;
mod float;
mod integer;
mod predicate;

use super::lanes::{Lanes, mask_where};
use super::registers::Registers;
use crate::ir::alu::{Convert, Part};
use crate::ir::{AluOp, Class, Reg, Src};

/// The value of a function in each lane.
#[inline(always)]
fn each<A: Copy, R>(a: &Lanes<A>, f: impl Fn(A) -> R) -> Lanes<R> {
    std::array::from_fn(|lane| f(a[lane]))
}

/// The value of a function of two operands in each lane.
#[inline(always)]
fn zip<A: Copy, B: Copy, R>(a: &Lanes<A>, b: &Lanes<B>, f: impl Fn(A, B) -> R) -> Lanes<R> {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

/// Executes `op` in the lanes of `mask`. The special registers are read before: see
/// [`special`](super::special).
pub(super) fn execute(op: &AluOp, registers: &mut Registers, special: &Lanes<u32>, mask: u32) {
    match *op {
        AluOp::Mov { dst, a } => copy(registers, dst, a, mask),
        AluOp::ReadSpecial { dst, .. } => registers.set_wide(dst, &special.map(u64::from), mask),
        AluOp::Pack { dst, ref parts } => pack(registers, dst, parts, mask),
        AluOp::Unpack { ref parts, a } => unpack(registers, parts, a, mask),
        AluOp::Int1 { f, ty, dst, a } => integer::unary(registers, f, ty, dst, a, mask),
        AluOp::Int2 { f, ty, dst, a, b } => integer::binary(registers, f, ty, dst, a, b, mask),
        AluOp::MulWide { ty, dst, a, b } => {
            integer::mad(registers, Part::Wide, ty, dst, [a, b, Src::Imm(0)], mask);
        }
        AluOp::Mad { part, ty, dst, a, b, c } => integer::mad(registers, part, ty, dst, [a, b, c], mask),
        AluOp::BitFieldExtract { ty, dst, a, position, length } => {
            integer::extract(registers, ty, dst, [a, position, length], mask);
        }
        AluOp::BitFieldInsert { ty, dst, a, b, position, length } => {
            integer::insert(registers, ty, dst, [a, b, position, length], mask);
        }
        AluOp::FunnelShift { left, wrap, dst, low, high, amount } => {
            let amount = registers.b32(amount).map(|by| if wrap { by & 31 } else { by.min(32) });
            let value = zip(&registers.b32(low), &registers.b32(high), |low, high| {
                u64::from(high) << 32 | u64::from(low)
            });
            let result =
                zip(
                    &value,
                    &amount,
                    |value, by| {
                        if left { (value << by >> 32) as u32 } else { (value >> by) as u32 }
                    },
                );
            registers.set_b32(dst, &result, mask);
        }
        AluOp::Permute { dst, a, b, selector } => {
            let bytes = zip(&registers.b32(a), &registers.b32(b), |a, b| u64::from(b) << 32 | u64::from(a));
            let result = zip(&bytes, &registers.b32(selector), integer::permute);
            registers.set_b32(dst, &result, mask);
        }
        AluOp::Lop3 { dst, a, b, c, table } => {
            let (a, b, c) = (registers.b32(a), registers.b32(b), registers.b32(c));
            let result = std::array::from_fn(|lane| integer::lop3(a[lane], b[lane], c[lane], table));
            registers.set_b32(dst, &result, mask);
        }
        AluOp::Float1 { f, ftz, dst, a } => float::unary(registers, f, ftz, dst, a, mask),
        AluOp::Float2 { f, ftz, dst, a, b } => float::binary(registers, f, ftz, dst, a, b, mask),
        AluOp::Fma { ftz, dst, a, b, c } => float::fma(registers, ftz, dst, [a, b, c], mask),
        AluOp::Setp { cmp, ty, ftz, dst, a, b } => {
            let values = predicate::compare(registers, cmp, ty, ftz, a, b);
            registers.set_predicate(dst, values, mask);
        }
        AluOp::Selp { dst, a, b, pred } => select(registers, dst, a, b, registers.predicate(pred), mask),
        AluOp::PredMov { dst, a } => registers.set_predicate(dst, registers.predicate(a), mask),
        AluOp::PredSet { dst, value } => registers.set_predicate(dst, if value { u32::MAX } else { 0 }, mask),
        AluOp::PredNot { dst, a } => registers.set_predicate(dst, !registers.predicate(a), mask),
        AluOp::Pred2 { f, dst, a, b } => {
            let values = predicate::combine(f, registers.predicate(a), registers.predicate(b));
            registers.set_predicate(dst, values, mask);
        }
        AluOp::Cvt { kind, dst, a } => cvt(registers, kind, dst, a, mask),
        AluOp::CvtPack { ty, relu, dst, high, low } => {
            let halves =
                |src| each(&registers.b32(src), |bits| convert::to_half(ty, relu, f32::from_bits(bits)));
            let pairs = zip(&halves(low), &halves(high), |low, high| u32::from(high) << 16 | u32::from(low));
            registers.set_b32(dst, &pairs, mask);
        }
        AluOp::CreatePolicy { dst } => registers.set_b64(dst, &[0; 32], mask),
    }
}

fn copy(registers: &mut Registers, dst: Reg, a: Src, mask: u32) {
    match dst.class {
        Class::B16 => registers.set_b16(dst, &registers.b16(a), mask),
        Class::B32 => registers.set_b32(dst, &registers.b32(a), mask),
        Class::B64 => registers.set_b64(dst, &registers.b64(a), mask),
    }
}

fn select(registers: &mut Registers, dst: Reg, a: Src, b: Src, chosen: u32, mask: u32) {
    match dst.class {
        Class::B32 => {
            let (a, b) = (registers.b32(a), registers.b32(b));
            let values = std::array::from_fn(|lane| if chosen >> lane & 1 != 0 { a[lane] } else { b[lane] });
            registers.set_b32(dst, &values, mask);
        }
        Class::B16 | Class::B64 => {
            let (a, b) = (registers.wide(a), registers.wide(b));
            let values = std::array::from_fn(|lane| if chosen >> lane & 1 != 0 { a[lane] } else { b[lane] });
            registers.set_wide(dst, &values, mask);
        }
    }
}

const fn bits(class: Class) -> u32 {
    match class {
        Class::B16 => 16,
        Class::B32 => 32,
        Class::B64 => 64,
    }
}

fn pack(registers: &mut Registers, dst: Reg, parts: &[Src], mask: u32) {
    let width = bits(dst.class) / parts.len().max(1) as u32;
    let kept = (1_u64 << width) - 1;
    let packed = parts.iter().rev().fold([0; 32], |packed, &part| {
        zip(&packed, &registers.wide(part), |packed, part| packed << width | part & kept)
    });
    registers.set_wide(dst, &packed, mask);
}

fn unpack(registers: &mut Registers, parts: &[Option<Reg>], a: Reg, mask: u32) {
    let width = bits(a.class) / parts.len().max(1) as u32;
    let values = registers.wide(Src::Reg(a));
    for (shift, &part) in (0..).step_by(width as usize).zip(parts) {
        if let Some(part) = part {
            registers.set_wide(part, &each(&values, |value| value >> shift), mask);
        }
    }
}

fn cvt(registers: &mut Registers, kind: Convert, dst: Reg, a: Src, mask: u32) {
    let values = each(&registers.wide(a), |value| convert::convert(kind, value));
    registers.set_wide(dst, &values, mask);
}

#[cfg(test)]
mod tests;
