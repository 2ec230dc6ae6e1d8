//! Comparisons and predicates. PTX ISA, "Comparison and Selection Instructions".

use std::cmp::Ordering;

use super::float::flush;
use super::mask_where;
use crate::ir::alu::{Compare, Logic};
use crate::ir::{Class, Src, Ty};
use crate::machine::lanes::Lanes;
use crate::machine::registers::Registers;

/// The lanes in which the comparison holds.
pub(super) fn compare(registers: &Registers, cmp: Compare, ty: Ty, ftz: bool, a: Src, b: Src) -> u32 {
    if ty == Ty::F32 {
        let value = |bits| if ftz { flush(f32::from_bits(bits)) } else { f32::from_bits(bits) };
        return floats(cmp, &registers.b32(a).map(value), &registers.b32(b).map(value));
    }
    match (ty.class(), ty.is_signed()) {
        (Class::B32, false) => order(cmp, &registers.b32(a), &registers.b32(b)),
        (Class::B32, true) => {
            let signed = |src| registers.b32(src).map(|bits| bits as i32);
            order(cmp, &signed(a), &signed(b))
        }
        (Class::B16, false) => order(cmp, &registers.b16(a), &registers.b16(b)),
        (Class::B16, true) => {
            let signed = |src| registers.b16(src).map(|bits| bits as i16);
            order(cmp, &signed(a), &signed(b))
        }
        (Class::B64, false) => order(cmp, &registers.b64(a), &registers.b64(b)),
        (Class::B64, true) => {
            let signed = |src| registers.b64(src).map(|bits| bits as i64);
            order(cmp, &signed(a), &signed(b))
        }
    }
}

/// Of values that all compare; of floats, false where one is NaN.
#[inline(always)]
fn order<T: Copy + PartialOrd>(cmp: Compare, a: &Lanes<T>, b: &Lanes<T>) -> u32 {
    match cmp {
        Compare::Eq | Compare::Equ => mask_where(|lane| a[lane] == b[lane]),
        Compare::Ne | Compare::Neu => {
            mask_where(|lane| a[lane].partial_cmp(&b[lane]).is_some_and(Ordering::is_ne))
        }
        Compare::Lt | Compare::Ltu => mask_where(|lane| a[lane] < b[lane]),
        Compare::Le | Compare::Leu => mask_where(|lane| a[lane] <= b[lane]),
        Compare::Gt | Compare::Gtu => mask_where(|lane| a[lane] > b[lane]),
        Compare::Ge | Compare::Geu => mask_where(|lane| a[lane] >= b[lane]),
        Compare::Num => mask_where(|lane| a[lane].partial_cmp(&b[lane]).is_some()),
        Compare::Nan => mask_where(|lane| a[lane].partial_cmp(&b[lane]).is_none()),
    }
}

fn floats(cmp: Compare, a: &Lanes<f32>, b: &Lanes<f32>) -> u32 {
    let unordered = match cmp {
        Compare::Equ | Compare::Neu | Compare::Ltu | Compare::Leu | Compare::Gtu | Compare::Geu => {
            mask_where(|lane| a[lane].is_nan() || b[lane].is_nan())
        }
        _ => 0,
    };
    order(cmp, a, b) | unordered
}

/// Two predicates of every lane combined.
pub(super) const fn combine(f: Logic, a: u32, b: u32) -> u32 {
    match f {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}
