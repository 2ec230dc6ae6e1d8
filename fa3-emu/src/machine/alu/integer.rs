//! Integer and bit operations. PTX ISA, "Integer Arithmetic Instructions" and "Logic and Shift
//! Instructions".

use super::{each, zip};
use crate::ir::alu::{IntBinary, IntUnary, Part};
use crate::ir::{Class, Reg, Src, Ty};
use crate::machine::registers::Registers;

macro_rules! unary {
    ($registers:ident, $f:ident, $dst:ident, $a:ident, $mask:ident, $u:ty, $get:ident, $set:ident) => {{
        let a = $registers.$get($a);
        match $f {
            IntUnary::Neg => $registers.$set($dst, &each(&a, <$u>::wrapping_neg), $mask),
            IntUnary::Abs => {
                let magnitude = |a: $u| if a >> (<$u>::BITS - 1) == 0 { a } else { a.wrapping_neg() };
                $registers.$set($dst, &each(&a, magnitude), $mask);
            }
            IntUnary::Not => $registers.$set($dst, &each(&a, |a: $u| !a), $mask),
            IntUnary::Brev => $registers.$set($dst, &each(&a, <$u>::reverse_bits), $mask),
            IntUnary::Popc => $registers.set_b32($dst, &each(&a, <$u>::count_ones), $mask),
            IntUnary::Clz => $registers.set_b32($dst, &each(&a, <$u>::leading_zeros), $mask),
        }
    }};
}

pub(super) fn unary(registers: &mut Registers, f: IntUnary, ty: Ty, dst: Reg, a: Src, mask: u32) {
    match ty.class() {
        Class::B16 => unary!(registers, f, dst, a, mask, u16, b16, set_b16),
        Class::B32 => unary!(registers, f, dst, a, mask, u32, b32, set_b32),
        Class::B64 => unary!(registers, f, dst, a, mask, u64, b64, set_b64),
    }
}

macro_rules! binary {
    ($registers:ident, $f:ident, $signed:ident, $dst:ident, $a:ident, $b:ident, $mask:ident,
     $u:ty, $s:ty, $wide_u:ty, $wide_s:ty, $get:ident, $set:ident) => {{
        let a = $registers.$get($a);
        let result = if let IntBinary::Shl | IntBinary::Shr = $f {
            let by = $registers.b32($b);
            match ($f, $signed) {
                (IntBinary::Shl, _) => zip(&a, &by, |a, by| a.checked_shl(by).unwrap_or(0)),
                (_, true) => zip(&a, &by, |a, by| ((a as $s) >> by.min(<$u>::BITS - 1)) as $u),
                (_, false) => zip(&a, &by, |a, by| a.checked_shr(by).unwrap_or(0)),
            }
        } else {
            let b = $registers.$get($b);
            match ($f, $signed) {
                (IntBinary::Add, _) => zip(&a, &b, |a, b| a.wrapping_add(b)),
                (IntBinary::Sub, _) => zip(&a, &b, |a, b| a.wrapping_sub(b)),
                (IntBinary::MulLo, _) => zip(&a, &b, |a, b| a.wrapping_mul(b)),
                (IntBinary::MulHi, false) => {
                    zip(&a, &b, |a, b| ((<$wide_u>::from(a) * <$wide_u>::from(b)) >> <$u>::BITS) as $u)
                }
                (IntBinary::MulHi, true) => zip(&a, &b, |a, b| {
                    ((<$wide_s>::from(a as $s) * <$wide_s>::from(b as $s)) >> <$u>::BITS) as $u
                }),
                (IntBinary::Div, false) => zip(&a, &b, |a, b| a.checked_div(b).unwrap_or(<$u>::MAX)),
                (IntBinary::Div, true) => {
                    zip(&a, &b, |a, b| if b == 0 { <$u>::MAX } else { (a as $s).wrapping_div(b as $s) as $u })
                }
                (IntBinary::Rem, false) => zip(&a, &b, |a, b| a.checked_rem(b).unwrap_or(a)),
                (IntBinary::Rem, true) => {
                    zip(&a, &b, |a, b| if b == 0 { a } else { (a as $s).wrapping_rem(b as $s) as $u })
                }
                (IntBinary::Min, false) => zip(&a, &b, |a, b| a.min(b)),
                (IntBinary::Min, true) => zip(&a, &b, |a, b| (a as $s).min(b as $s) as $u),
                (IntBinary::Max, false) => zip(&a, &b, |a, b| a.max(b)),
                (IntBinary::Max, true) => zip(&a, &b, |a, b| (a as $s).max(b as $s) as $u),
                (IntBinary::And, _) => zip(&a, &b, |a, b| a & b),
                (IntBinary::Or, _) => zip(&a, &b, |a, b| a | b),
                (IntBinary::Xor | IntBinary::Shl | IntBinary::Shr, _) => zip(&a, &b, |a, b| a ^ b),
            }
        };
        $registers.$set($dst, &result, $mask);
    }};
}

pub(super) fn binary(registers: &mut Registers, f: IntBinary, ty: Ty, dst: Reg, a: Src, b: Src, mask: u32) {
    let signed = ty.is_signed();
    match ty.class() {
        Class::B16 => binary!(registers, f, signed, dst, a, b, mask, u16, i16, u32, i32, b16, set_b16),
        Class::B32 => binary!(registers, f, signed, dst, a, b, mask, u32, i32, u64, i64, b32, set_b32),
        Class::B64 => binary!(registers, f, signed, dst, a, b, mask, u64, i64, u128, i128, b64, set_b64),
    }
}

/// A value of `ty` with its sign, as far as it has one.
const fn extended(ty: Ty, value: u64) -> i128 {
    let unused = 64 - ty.bits();
    let value = value << unused;
    if ty.is_signed() { (value as i64 >> unused) as i128 } else { (value >> unused) as i128 }
}

/// `mul.wide` and `mad`: a part of the product of the first two sources, and the third.
pub(super) fn mad(registers: &mut Registers, part: Part, ty: Ty, dst: Reg, [a, b, c]: [Src; 3], mask: u32) {
    if matches!((part, ty.class()), (Part::Lo, Class::B32)) {
        let product = zip(&registers.b32(a), &registers.b32(b), u32::wrapping_mul);
        let result = zip(&product, &registers.b32(c), u32::wrapping_add);
        return registers.set_b32(dst, &result, mask);
    }
    let product = zip(&registers.wide(a), &registers.wide(b), |a, b| {
        let product = extended(ty, a).wrapping_mul(extended(ty, b));
        if part == Part::Hi { (product >> ty.bits()) as u64 } else { product as u64 }
    });
    let result = zip(&product, &registers.wide(c), u64::wrapping_add);
    registers.set_wide(dst, &result, mask);
}

/// `bfe`: of the sources the value, the position and the length.
pub(super) fn extract(registers: &mut Registers, ty: Ty, dst: Reg, sources: [Src; 3], mask: u32) {
    let [a, position, length] = sources.map(|src| registers.wide(src));
    let result = std::array::from_fn(|lane| {
        let (width, value) = (u64::from(ty.bits()), a[lane]);
        let (position, length) = (position[lane] & 0xff, length[lane] & 0xff);
        // The sign is the field's highest bit, or the value's where the field reaches beyond it.
        let top = (position + length).saturating_sub(1).min(width - 1);
        let negative = ty.is_signed() && length != 0 && value >> top & 1 != 0;
        let field = value.checked_shr(position as u32).unwrap_or(0);
        let kept = low_bits(length.min(width.saturating_sub(position)));
        if negative { field & kept | !kept } else { field & kept }
    });
    registers.set_wide(dst, &result, mask);
}

/// `bfi`: of the sources the field, the value around it, the position and the length.
pub(super) fn insert(registers: &mut Registers, ty: Ty, dst: Reg, sources: [Src; 4], mask: u32) {
    let [a, b, position, length] = sources.map(|src| registers.wide(src));
    let result = std::array::from_fn(|lane| {
        let (position, length) = (position[lane] & 0xff, length[lane] & 0xff);
        let kept = low_bits(length.min(ty.bits().into())).checked_shl(position as u32).unwrap_or(0);
        a[lane].checked_shl(position as u32).unwrap_or(0) & kept | b[lane] & !kept
    });
    registers.set_wide(dst, &result, mask);
}

/// A number with its `count` lowest bits set.
fn low_bits(count: u64) -> u64 {
    1_u64.checked_shl(count as u32).map_or(u64::MAX, |bit| bit - 1)
}

/// `prmt` of eight bytes.
pub(super) fn permute(bytes: u64, selector: u32) -> u32 {
    (0..4).fold(0, |result, place| {
        let choice = selector >> (4 * place) & 0xf;
        let byte = (bytes >> (8 * (choice & 7))) as u8;
        let byte = if choice & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        result | u32::from(byte) << (8 * place)
    })
}

/// `lop3`: the sum of the table's terms.
pub(super) fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    (0..8).filter(|term| table >> term & 1 != 0).fold(0, |result, term| {
        let chosen = |operand: u32, bit: u32| if term >> bit & 1 != 0 { operand } else { !operand };
        result | chosen(a, 2) & chosen(b, 1) & chosen(c, 0)
    })
}
