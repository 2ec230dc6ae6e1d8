//! Operations on `f32`. PTX ISA, "Floating Point Instructions".
//!
//! The approximate functions give the host's value, which is nearer than PTX asks for: a card's
//! bits may differ within the bounds of the ISA.

use super::{each, zip};
use crate::ir::alu::{FloatBinary, FloatUnary};
use crate::ir::{Reg, Src};
use crate::machine::registers::Registers;

/// A denormal as the zero of its sign.
#[inline(always)]
pub(super) fn flush(value: f32) -> f32 {
    let denormal = value.abs() < f32::MIN_POSITIVE;
    if denormal { f32::from_bits(value.to_bits() & 0x8000_0000) } else { value }
}

#[inline(always)]
fn map(registers: &mut Registers, ftz: bool, dst: Reg, a: Src, mask: u32, f: impl Fn(f32) -> f32) {
    let a = registers.b32(a);
    let result = if ftz {
        each(&a, |a| flush(f(flush(f32::from_bits(a)))).to_bits())
    } else {
        each(&a, |a| f(f32::from_bits(a)).to_bits())
    };
    registers.set_b32(dst, &result, mask);
}

#[inline(always)]
fn map2(
    registers: &mut Registers,
    ftz: bool,
    dst: Reg,
    [a, b]: [Src; 2],
    mask: u32,
    f: impl Fn(f32, f32) -> f32,
) {
    let (a, b) = (registers.b32(a), registers.b32(b));
    let result = if ftz {
        zip(&a, &b, |a, b| flush(f(flush(f32::from_bits(a)), flush(f32::from_bits(b)))).to_bits())
    } else {
        zip(&a, &b, |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits())
    };
    registers.set_b32(dst, &result, mask);
}

pub(super) fn unary(registers: &mut Registers, f: FloatUnary, ftz: bool, dst: Reg, a: Src, mask: u32) {
    match f {
        FloatUnary::Neg => map(registers, ftz, dst, a, mask, |a| -a),
        FloatUnary::Abs => map(registers, ftz, dst, a, mask, f32::abs),
        FloatUnary::Rcp | FloatUnary::RcpApprox => map(registers, ftz, dst, a, mask, |a| 1.0 / a),
        FloatUnary::Sqrt | FloatUnary::SqrtApprox => map(registers, ftz, dst, a, mask, f32::sqrt),
        FloatUnary::RsqrtApprox => {
            map(registers, ftz, dst, a, mask, |a| (1.0 / f64::from(a).sqrt()) as f32);
        }
        FloatUnary::Ex2Approx => map(registers, ftz, dst, a, mask, f32::exp2),
        FloatUnary::Lg2Approx => map(registers, ftz, dst, a, mask, f32::log2),
        FloatUnary::TanhApprox => map(registers, ftz, dst, a, mask, f32::tanh),
    }
}

pub(super) fn binary(
    registers: &mut Registers,
    f: FloatBinary,
    ftz: bool,
    dst: Reg,
    a: Src,
    b: Src,
    mask: u32,
) {
    match f {
        FloatBinary::Add => map2(registers, ftz, dst, [a, b], mask, |a, b| a + b),
        FloatBinary::Sub => map2(registers, ftz, dst, [a, b], mask, |a, b| a - b),
        FloatBinary::Mul => map2(registers, ftz, dst, [a, b], mask, |a, b| a * b),
        FloatBinary::Div | FloatBinary::DivApprox => map2(registers, ftz, dst, [a, b], mask, |a, b| a / b),
        FloatBinary::Min => map2(registers, ftz, dst, [a, b], mask, minimum),
        FloatBinary::Max => map2(registers, ftz, dst, [a, b], mask, maximum),
        FloatBinary::MinNan => map2(registers, ftz, dst, [a, b], mask, |a, b| or_nan(a, b, minimum)),
        FloatBinary::MaxNan => map2(registers, ftz, dst, [a, b], mask, |a, b| or_nan(a, b, maximum)),
    }
}

/// `min.f32`: of −0 and +0 it is −0, and a NaN loses.
#[inline(always)]
fn minimum(a: f32, b: f32) -> f32 {
    if a == b { f32::from_bits(a.to_bits() | b.to_bits()) } else { canonical(a.min(b)) }
}

/// `max.f32`: of −0 and +0 it is +0, and a NaN loses.
#[inline(always)]
fn maximum(a: f32, b: f32) -> f32 {
    if a == b { f32::from_bits(a.to_bits() & b.to_bits()) } else { canonical(a.max(b)) }
}

/// `f`, but a NaN wins.
#[inline(always)]
fn or_nan(a: f32, b: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    if a.is_nan() || b.is_nan() { canonical(f32::NAN) } else { f(a, b) }
}

/// A NaN as the one that PTX gives (PTX ISA, "Floating Point Instructions": `0x7fffffff`).
#[inline(always)]
fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(0x7fff_ffff) } else { value }
}

/// `fma.rn.f32`.
pub(super) fn fma(registers: &mut Registers, ftz: bool, dst: Reg, [a, b, c]: [Src; 3], mask: u32) {
    let (a, b, c) = (registers.b32(a), registers.b32(b), registers.b32(c));
    let value = |bits| if ftz { flush(f32::from_bits(bits)) } else { f32::from_bits(bits) };
    let result = std::array::from_fn(|lane| {
        let sum = value(a[lane]).mul_add(value(b[lane]), value(c[lane]));
        if ftz { flush(sum).to_bits() } else { sum.to_bits() }
    });
    registers.set_b32(dst, &result, mask);
}
