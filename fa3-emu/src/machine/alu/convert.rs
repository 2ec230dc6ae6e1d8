//! Conversions of one value. PTX ISA, "Data Movement and Conversion Instructions: cvt".

use half::{bf16, f16};

use super::float::flush;
use crate::ir::Ty;
use crate::ir::alu::{Convert, Rounding};

/// The bits of a value after conversion, extended to 64 by the type of the result.
pub(super) fn convert(kind: Convert, bits: u64) -> u64 {
    match kind {
        Convert::IntToInt { to, from, saturate } => {
            let value = integer(from, bits);
            let value = if saturate { clamp(to, value) } else { value };
            integer(to, value as u64) as u64
        }
        Convert::IntToFloat { from, rounding } => to_float(integer(from, bits), rounding).to_bits().into(),
        Convert::FloatToInt { to, rounding, ftz } => {
            let value = f32::from_bits(bits as u32);
            to_integer(to, rounding, if ftz { flush(value) } else { value })
        }
        Convert::HalfToFloat { from } => {
            let bits = bits as u16;
            let value =
                if from == Ty::Bf16 { bf16::from_bits(bits).to_f32() } else { f16::from_bits(bits).to_f32() };
            value.to_bits().into()
        }
        Convert::FloatToHalf { to } => to_half(to, false, f32::from_bits(bits as u32)).into(),
    }
}

/// The bits of a value rounded to `f16` or `bf16`, to nearest even.
pub(super) fn to_half(ty: Ty, relu: bool, value: f32) -> u16 {
    if relu && (value.is_nan() || value < 0.0) {
        return 0;
    }
    if value.is_nan() {
        return 0x7fff;
    }
    if ty == Ty::Bf16 { bf16::from_f32(value).to_bits() } else { f16::from_f32(value).to_bits() }
}

/// The low bits of a register as an integer of `ty`.
const fn integer(ty: Ty, bits: u64) -> i128 {
    let unused = 64 - ty.bits();
    let bits = bits << unused;
    if ty.is_signed() { (bits as i64 >> unused) as i128 } else { (bits >> unused) as i128 }
}

/// The integer of `ty` nearest to a value.
fn clamp(ty: Ty, value: i128) -> i128 {
    let width = ty.bits();
    let (least, most) =
        if ty.is_signed() { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
    value.clamp(least, most)
}

fn to_float(value: i128, rounding: Rounding) -> f32 {
    let nearest = value as f32;
    // An integer of 64 bits is far from overflowing an f32, so this is exact.
    let error = nearest as i128 - value;
    match rounding {
        Rounding::Down if error > 0 => nearest.next_down(),
        Rounding::Up if error < 0 => nearest.next_up(),
        Rounding::Zero if error > 0 && value > 0 => nearest.next_down(),
        Rounding::Zero if error < 0 && value < 0 => nearest.next_up(),
        _ => nearest,
    }
}

fn to_integer(to: Ty, rounding: Rounding, value: f32) -> u64 {
    let whole = match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    };
    // The cast saturates far outside of 64 bits, and makes zero of NaN.
    clamp(to, whole as i128) as u64
}
