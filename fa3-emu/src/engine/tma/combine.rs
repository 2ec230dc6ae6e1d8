//! What a reduction does to one row of elements.

use half::{bf16, f16};

use crate::ir::bulk::{BulkReduce, ElementTy};

use super::TmaError;

/// Combines a row of elements, the first argument, with another that is as long.
pub(super) type Combine = fn(&mut [u8], &[u8]);

/// The operation on the type, where it is one of the pairs that the ISA lists (PTX ISA,
/// "cp.reduce.async.bulk").
pub(super) fn combination(reduction: BulkReduce, element: ElementTy) -> Result<Combine, TmaError> {
    use BulkReduce::{Add, And, Dec, Inc, Max, Min, Or, Xor};
    use ElementTy::{B32, B64, Bf16, F16, F32, S32, S64, U32, U64};
    // Sums modulo 2ⁿ are the same, signed or not.
    Ok(match (reduction, element) {
        (Add, U32 | S32) => |to, from| u32s(to, from, u32::wrapping_add),
        (Add, U64) => |to, from| u64s(to, from, u64::wrapping_add),
        (Add, F32) => |to, from| each(to, from, add_f32),
        (Add, F16) => |to, from| f16s(to, from, |a, b| f16::from_f32(a.to_f32() + b.to_f32())),
        (Add, Bf16) => |to, from| bf16s(to, from, |a, b| bf16::from_f32(a.to_f32() + b.to_f32())),
        (Min, U32) => |to, from| u32s(to, from, u32::min),
        (Max, U32) => |to, from| u32s(to, from, u32::max),
        (Min, S32) => |to, from| u32s(to, from, |a, b| (a as i32).min(b as i32) as u32),
        (Max, S32) => |to, from| u32s(to, from, |a, b| (a as i32).max(b as i32) as u32),
        (Min, U64) => |to, from| u64s(to, from, u64::min),
        (Max, U64) => |to, from| u64s(to, from, u64::max),
        (Min, S64) => |to, from| u64s(to, from, |a, b| (a as i64).min(b as i64) as u64),
        (Max, S64) => |to, from| u64s(to, from, |a, b| (a as i64).max(b as i64) as u64),
        (Min, F16) => |to, from| f16s(to, from, |a, b| number_where(a, b, a.total_cmp(&b).is_le())),
        (Max, F16) => |to, from| f16s(to, from, |a, b| number_where(a, b, a.total_cmp(&b).is_ge())),
        (Inc, U32) => |to, from| u32s(to, from, |a, b| if a >= b { 0 } else { a + 1 }),
        (Dec, U32) => |to, from| u32s(to, from, |a, b| if a == 0 || a > b { b } else { a - 1 }),
        (And, B32) => |to, from| u32s(to, from, |a, b| a & b),
        (Or, B32) => |to, from| u32s(to, from, |a, b| a | b),
        (Xor, B32) => |to, from| u32s(to, from, |a, b| a ^ b),
        (And, B64) => |to, from| u64s(to, from, |a, b| a & b),
        (Or, B64) => |to, from| u64s(to, from, |a, b| a | b),
        (Xor, B64) => |to, from| u64s(to, from, |a, b| a ^ b),
        _ => return Err(TmaError::Reduction { reduction, element }),
    })
}

fn each<const N: usize>(to: &mut [u8], from: &[u8], combine: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0) {
        *to = combine(*to, *from);
    }
}

fn u32s(to: &mut [u8], from: &[u8], combine: impl Fn(u32, u32) -> u32) {
    each(to, from, |a, b| combine(u32::from_le_bytes(a), u32::from_le_bytes(b)).to_le_bytes());
}

fn u64s(to: &mut [u8], from: &[u8], combine: impl Fn(u64, u64) -> u64) {
    each(to, from, |a, b| combine(u64::from_le_bytes(a), u64::from_le_bytes(b)).to_le_bytes());
}

// The sum of two 16-bit floats, rounded to f32 and then to 16 bits, is the sum rounded once: f32 has
// more than twice their precision and two bits.
fn f16s(to: &mut [u8], from: &[u8], combine: impl Fn(f16, f16) -> f16) {
    each(to, from, |a, b| combine(f16::from_le_bytes(a), f16::from_le_bytes(b)).to_le_bytes());
}

fn bf16s(to: &mut [u8], from: &[u8], combine: impl Fn(bf16, bf16) -> bf16) {
    each(to, from, |a, b| combine(bf16::from_le_bytes(a), bf16::from_le_bytes(b)).to_le_bytes());
}

/// The number, where one is NaN; else the first if `first` says so.
fn number_where(a: f16, b: f16, first: bool) -> f16 {
    if b.is_nan() || first && !a.is_nan() { a } else { b }
}

fn add_f32(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
    let flush = |x: f32| if x.is_subnormal() { x * 0.0 } else { x };
    flush(flush(f32::from_le_bytes(a)) + flush(f32::from_le_bytes(b))).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(reduction: BulkReduce, element: ElementTy, a: u32, b: u32) -> u32 {
        let mut to = a.to_le_bytes();
        combination(reduction, element).unwrap()(&mut to, &b.to_le_bytes());
        u32::from_le_bytes(to)
    }

    fn floats(a: f32, b: f32) -> f32 {
        f32::from_bits(words(BulkReduce::Add, ElementTy::F32, a.to_bits(), b.to_bits()))
    }

    #[test]
    fn integers_combine_as_their_type_says() {
        use BulkReduce::{Add, And, Dec, Inc, Max, Min, Or, Xor};
        use ElementTy::{B32, S32, U32};
        let minus_one = u32::MAX;
        assert_eq!(words(Add, U32, minus_one, 3), 2);
        assert_eq!(words(Add, S32, minus_one, 3), 2);
        assert_eq!((words(Min, U32, minus_one, 3), words(Min, S32, minus_one, 3)), (3, minus_one));
        assert_eq!((words(Max, U32, minus_one, 3), words(Max, S32, minus_one, 3)), (minus_one, 3));
        assert_eq!([6, 7, 8].map(|old| words(Inc, U32, old, 7)), [7, 0, 0]);
        assert_eq!([0, 1, 7, 8].map(|old| words(Dec, U32, old, 7)), [7, 0, 6, 7]);
        assert_eq!([And, Or, Xor].map(|f| words(f, B32, 0b1100, 0b1010)), [0b1000, 0b1110, 0b0110]);
    }

    #[test]
    fn wide_integers_carry_across_both_words() {
        let apply = |reduction, element, a: u64, b: u64| {
            let mut to = a.to_le_bytes();
            combination(reduction, element).unwrap()(&mut to, &b.to_le_bytes());
            u64::from_le_bytes(to)
        };
        assert_eq!(apply(BulkReduce::Add, ElementTy::U64, u64::from(u32::MAX), 1), 1 << 32);
        assert_eq!(apply(BulkReduce::Min, ElementTy::S64, u64::MAX, 1), u64::MAX);
        assert_eq!(apply(BulkReduce::Max, ElementTy::S64, u64::MAX, 1), 1);
        assert_eq!(apply(BulkReduce::Min, ElementTy::U64, u64::MAX, 1), 1);
        assert_eq!(apply(BulkReduce::Max, ElementTy::U64, 5, 1), 5);
        assert_eq!(apply(BulkReduce::Xor, ElementTy::B64, 3 << 40, 1 << 40), 2 << 40);
        assert_eq!(apply(BulkReduce::And, ElementTy::B64, 3 << 40, 1 << 40), 1 << 40);
        assert_eq!(apply(BulkReduce::Or, ElementTy::B64, 1 << 63, 1), 1 << 63 | 1);
    }

    #[test]
    fn subnormal_words_are_flushed() {
        assert_eq!(floats(1.5, -0.25), 1.25);
        let tiny = f32::MIN_POSITIVE / 2.0;
        assert_eq!(floats(tiny, f32::MIN_POSITIVE), f32::MIN_POSITIVE);
        assert_eq!(floats(-tiny, -0.0).to_bits(), (-0.0_f32).to_bits(), "the sign stays");
        assert_eq!(floats(1.5 * f32::MIN_POSITIVE, -f32::MIN_POSITIVE), 0.0, "a subnormal result");
        assert!(floats(f32::INFINITY, f32::NEG_INFINITY).is_nan());
    }

    #[test]
    fn halves_are_rounded_to_nearest_even() {
        let apply = |reduction, element, a: u16, b: u16| {
            let mut to = a.to_le_bytes();
            combination(reduction, element).unwrap()(&mut to, &b.to_le_bytes());
            u16::from_le_bytes(to)
        };
        let (one, half_ulp) = (f16::from_f32(1.0), f16::from_f32(2.0_f32.powi(-11)));
        let add =
            |a: f16, b: f16| f16::from_bits(apply(BulkReduce::Add, ElementTy::F16, a.to_bits(), b.to_bits()));
        assert_eq!(add(one, half_ulp), one, "the tie goes to the even one");
        assert_eq!(add(f16::from_bits(0x3c01), half_ulp).to_bits(), 0x3c02);
        assert_eq!(add(f16::from_bits(1), f16::from_bits(1)).to_bits(), 2, "subnormal numbers count");
        assert_eq!(apply(BulkReduce::Add, ElementTy::Bf16, 0x3f80, 0x3f80), 0x4000);
        let min = |a, b| apply(BulkReduce::Min, ElementTy::F16, a, b);
        let max = |a, b| apply(BulkReduce::Max, ElementTy::F16, a, b);
        let (nan, minus_one) = (0x7e00, 0xbc00);
        assert_eq!((min(0x3c00, minus_one), max(0x3c00, minus_one)), (minus_one, 0x3c00));
        assert_eq!((min(nan, minus_one), min(minus_one, nan)), (minus_one, minus_one));
        assert_eq!((max(nan, minus_one), max(minus_one, nan)), (minus_one, minus_one));
    }

    #[test]
    fn pairs_that_the_isa_does_not_list_are_refused() {
        for (reduction, element) in [
            (BulkReduce::Min, ElementTy::F32),
            (BulkReduce::Add, ElementTy::S64),
            (BulkReduce::Inc, ElementTy::S32),
            (BulkReduce::And, ElementTy::U32),
            (BulkReduce::Max, ElementTy::B64),
        ] {
            assert_eq!(
                combination(reduction, element).err(),
                Some(TmaError::Reduction { reduction, element })
            );
        }
    }
}
