use super::*;
use crate::ir::alu::{Compare, FloatBinary, FloatUnary, IntBinary, IntUnary, Logic, Rounding};
use crate::ir::{self, PredReg, Ty};

const fn reg(class: Class, index: u32) -> Reg {
    Reg { class, index }
}

fn registers() -> Registers {
    Registers::new(ir::Registers { b16: 4, b32: 4, b64: 4, pred: 4 })
}

/// What `op` leaves in register 0 of a class, in lane 5.
fn result(class: Class, op: impl Fn(Reg) -> AluOp) -> u64 {
    let mut registers = registers();
    execute(&op(reg(class, 0)), &mut registers, &[0; 32], 1 << 5);
    assert_eq!(registers.lane(Src::Reg(reg(class, 0)), 4), 0, "only lanes of the mask are written");
    registers.lane(Src::Reg(reg(class, 0)), 5)
}

fn int2(f: IntBinary, ty: Ty, a: u64, b: u64) -> u64 {
    result(ty.class(), |dst| AluOp::Int2 { f, ty, dst, a: Src::Imm(a), b: Src::Imm(b) })
}

#[test]
fn integers_wrap_and_keep_their_sign() {
    let minus = |value: u32| u64::from(value.wrapping_neg());
    let cases = [
        (IntBinary::Add, Ty::U32, 0xffff_ffff, 2, 1),
        (IntBinary::Sub, Ty::S32, 1, 2, minus(1)),
        (IntBinary::MulLo, Ty::S32, minus(3), 5, minus(15)),
        (IntBinary::MulHi, Ty::S32, minus(1), 5, minus(1)),
        (IntBinary::MulHi, Ty::U32, 0x8000_0000, 4, 2),
        (IntBinary::Div, Ty::S32, minus(7), 2, minus(3)),
        (IntBinary::Div, Ty::U32, 7, 0, 0xffff_ffff),
        (IntBinary::Div, Ty::S32, 0x8000_0000, minus(1), 0x8000_0000),
        (IntBinary::Rem, Ty::S32, minus(7), 2, minus(1)),
        (IntBinary::Min, Ty::S32, minus(1), 1, minus(1)),
        (IntBinary::Min, Ty::U32, minus(1), 1, 1),
        (IntBinary::Max, Ty::S32, minus(1), 1, 1),
        (IntBinary::Shl, Ty::B32, 3, 31, 0x8000_0000),
        (IntBinary::Shl, Ty::B32, 3, 32, 0),
        (IntBinary::Shr, Ty::S32, minus(8), 99, minus(1)),
        (IntBinary::Shr, Ty::U32, minus(8), 99, 0),
        (IntBinary::Xor, Ty::B32, 6, 3, 5),
        (IntBinary::Sub, Ty::U16, 1, 2, 0xffff),
        (IntBinary::MulHi, Ty::U64, 1 << 63, 6, 3),
    ];
    for (f, ty, a, b, expected) in cases {
        assert_eq!(int2(f, ty, a, b), expected, "{f:?} {ty:?} {a:#x} {b:#x}");
    }
    let int1 = |f, ty: Ty, a| result(Class::B32, |dst| AluOp::Int1 { f, ty, dst, a: Src::Imm(a) });
    assert_eq!(int1(IntUnary::Neg, Ty::S32, 5), minus(5));
    assert_eq!(int1(IntUnary::Abs, Ty::S32, minus(5)), 5);
    assert_eq!((int1(IntUnary::Clz, Ty::B64, 1), int1(IntUnary::Popc, Ty::B64, 7)), (63, 3));
    assert_eq!(int1(IntUnary::Brev, Ty::B32, 1), 0x8000_0000);
}

#[test]
fn wide_products_take_the_sign_of_their_factors() {
    let wide =
        |ty, a, b| result(Class::B64, |dst| AluOp::MulWide { ty, dst, a: Src::Imm(a), b: Src::Imm(b) });
    assert_eq!(wide(Ty::U32, 0xffff_ffff, 2), 0x1_ffff_fffe);
    assert_eq!(wide(Ty::S32, 0xffff_ffff, 2), (-2_i64) as u64);
    let mad = |part, ty: Ty, class, [a, b, c]: [u64; 3]| {
        result(class, |dst| AluOp::Mad { part, ty, dst, a: Src::Imm(a), b: Src::Imm(b), c: Src::Imm(c) })
    };
    assert_eq!(mad(Part::Lo, Ty::S32, Class::B32, [3, 0xffff_ffff, 5]), 2);
    assert_eq!(mad(Part::Hi, Ty::U32, Class::B32, [1 << 31, 4, 5]), 7);
    assert_eq!(mad(Part::Wide, Ty::S32, Class::B64, [3, 0xffff_ffff, 5]), 2);
    assert_eq!(mad(Part::Lo, Ty::S64, Class::B64, [1 << 40, 1 << 20, 7]), (1 << 60) + 7);
}

#[test]
fn bits_are_moved_as_the_isa_says() {
    let fields = |ty, a, position, length| {
        result(Class::B32, |dst| AluOp::BitFieldExtract {
            ty,
            dst,
            a: Src::Imm(a),
            position: Src::Imm(position),
            length: Src::Imm(length),
        })
    };
    assert_eq!(fields(Ty::U32, 0xabcd, 4, 8), 0xbc);
    assert_eq!(fields(Ty::S32, 0xabcd, 4, 8), 0xffff_ffbc);
    assert_eq!((fields(Ty::S32, 0xabcd, 4, 0), fields(Ty::S32, 0x8000_0000, 40, 8)), (0, 0xffff_ffff));
    let inserted = result(Class::B32, |dst| AluOp::BitFieldInsert {
        ty: Ty::B32,
        dst,
        a: Src::Imm(0xff),
        b: Src::Imm(0x1234_5678),
        position: Src::Imm(8),
        length: Src::Imm(4),
    });
    assert_eq!(inserted, 0x1234_5f78);
    assert_eq!(integer::permute(0x8766_5544_3322_1100, 0x7410), 0x8744_1100);
    assert_eq!(integer::permute(0x8766_5544_3322_1100, 0xff8c), 0xffff_0000);
    assert_eq!(integer::lop3(0xf0, 0xcc, 0xaa, 0x96) & 0xff, 0x96);
    let funnel = |left, wrap, amount| {
        result(Class::B32, |dst| AluOp::FunnelShift {
            left,
            wrap,
            dst,
            low: Src::Imm(0x0000_00ff),
            high: Src::Imm(0xff00_0000),
            amount: Src::Imm(amount),
        })
    };
    assert_eq!((funnel(true, true, 4), funnel(false, true, 4)), (0xf000_0000, 0x0000_000f));
    assert_eq!((funnel(true, false, 99), funnel(true, true, 32)), (0xff, 0xff00_0000));
}

#[test]
fn vectors_are_packed_lowest_first() {
    let mut registers = registers();
    let parts = [Src::Imm(0x1111), Src::Imm(0x2222)];
    execute(&AluOp::Pack { dst: reg(Class::B32, 1), parts: parts.into() }, &mut registers, &[0; 32], 1);
    assert_eq!(registers.lane(Src::Reg(reg(Class::B32, 1)), 0), 0x2222_1111);
    let parts = [None, Some(reg(Class::B16, 2))];
    let op = AluOp::Unpack { parts: parts.into(), a: reg(Class::B32, 1) };
    execute(&op, &mut registers, &[0; 32], 1);
    assert_eq!(registers.lane(Src::Reg(reg(Class::B16, 2)), 0), 0x2222);
}

fn float2(f: FloatBinary, ftz: bool, a: f32, b: f32) -> f32 {
    let [a, b] = [a, b].map(|value| Src::Imm(value.to_bits().into()));
    f32::from_bits(result(Class::B32, |dst| AluOp::Float2 { f, ftz, dst, a, b }) as u32)
}

#[test]
fn floats_flush_and_lose_nan_as_ptx_says() {
    assert_eq!(float2(FloatBinary::Sub, false, 1.0, 3.5), -2.5);
    assert_eq!(float2(FloatBinary::Div, false, 1.0, 3.0), 1.0 / 3.0);
    let (zero, tiny) = (0.0_f32, f32::MIN_POSITIVE);
    assert_eq!(float2(FloatBinary::Max, false, -zero, zero).to_bits(), zero.to_bits());
    assert_eq!(float2(FloatBinary::Min, false, zero, -zero).to_bits(), (-zero).to_bits());
    assert_eq!(float2(FloatBinary::Max, false, f32::NAN, 1.0), 1.0);
    assert_eq!(float2(FloatBinary::Max, false, f32::NAN, f32::NAN).to_bits(), 0x7fff_ffff);
    assert_eq!(float2(FloatBinary::Max, false, -3.0, -2.0), -2.0);
    assert_eq!(float2(FloatBinary::MaxNan, false, 1.0, f32::NAN).to_bits(), 0x7fff_ffff);
    assert_eq!(float2(FloatBinary::MinNan, false, 3.0, 2.0), 2.0);
    assert_eq!(float2(FloatBinary::Mul, true, tiny, 0.5), 0.0);
    assert_eq!(float2(FloatBinary::Mul, false, tiny, 0.5), tiny * 0.5);
    let float1 = |f, ftz, a: f32| {
        let a = Src::Imm(a.to_bits().into());
        f32::from_bits(result(Class::B32, |dst| AluOp::Float1 { f, ftz, dst, a }) as u32)
    };
    assert_eq!(float1(FloatUnary::Ex2Approx, true, -3.0), 0.125);
    assert_eq!(
        (float1(FloatUnary::Ex2Approx, true, f32::NEG_INFINITY), float1(FloatUnary::Ex2Approx, true, -130.0)),
        (0.0, 0.0)
    );
    assert_eq!((float1(FloatUnary::Lg2Approx, true, 8.0), float1(FloatUnary::Rcp, false, 4.0)), (3.0, 0.25));
    let fma = |a: f32, b: f32, c: f32| {
        let [a, b, c] = [a, b, c].map(|value| Src::Imm(value.to_bits().into()));
        f32::from_bits(result(Class::B32, |dst| AluOp::Fma { ftz: false, dst, a, b, c }) as u32)
    };
    // The product is not rounded: 1 − (1 + ε)(1 − ε) = ε².
    let epsilon = f32::EPSILON;
    assert_eq!(fma(1.0 + epsilon, epsilon - 1.0, 1.0), epsilon * epsilon);
}

#[test]
fn comparisons_know_nan_and_signs() {
    let holds = |cmp, ty, a, b| {
        let mut registers = registers();
        let op = AluOp::Setp { cmp, ty, ftz: false, dst: PredReg(0), a: Src::Imm(a), b: Src::Imm(b) };
        execute(&op, &mut registers, &[0; 32], 3);
        let found = registers.predicate(PredReg(0));
        assert!(found == 0 || found == 3, "every lane of the mask, and no other");
        found == 3
    };
    let (minus_one, nan, one) = (0xffff_ffff, u64::from(f32::NAN.to_bits()), u64::from(1_f32.to_bits()));
    assert!(holds(Compare::Lt, Ty::S32, minus_one, 1) && !holds(Compare::Lt, Ty::U32, minus_one, 1));
    assert!(holds(Compare::Ne, Ty::B64, 1 << 40, 0) && holds(Compare::Ge, Ty::S16, 0, 0xffff));
    assert!(!holds(Compare::Ne, Ty::F32, nan, one) && holds(Compare::Neu, Ty::F32, nan, one));
    assert!(!holds(Compare::Leu, Ty::F32, one, 0) && holds(Compare::Leu, Ty::F32, nan, 0));
    assert!(holds(Compare::Nan, Ty::F32, one, nan) && !holds(Compare::Num, Ty::F32, one, nan));
    assert!(holds(Compare::Eq, Ty::F32, 0, 0x8000_0000));
    assert_eq!(predicate::combine(Logic::Xor, 0b0110, 0b0011), 0b0101);
}

#[test]
fn conversions_extend_clamp_and_round() {
    let integers = |to, from, saturate| Convert::IntToInt { to, from, saturate };
    let cases = [
        (integers(Ty::S64, Ty::S32, false), 0xffff_ffff, u64::MAX),
        (integers(Ty::U64, Ty::U32, false), 0xffff_ffff, 0xffff_ffff),
        (integers(Ty::U8, Ty::S32, false), 0x1ff, 0xff),
        (integers(Ty::U8, Ty::S32, true), 0xffff_ffff, 0),
        (integers(Ty::S8, Ty::S32, true), 0x1ff, 0x7f),
        (integers(Ty::S8, Ty::S32, false), 0x80, (-128_i64) as u64),
    ];
    for (kind, bits, expected) in cases {
        assert_eq!(convert::convert(kind, bits), expected, "{kind:?}");
    }
    let to_float = |rounding, value: i64| {
        f32::from_bits(convert::convert(Convert::IntToFloat { from: Ty::S64, rounding }, value as u64) as u32)
    };
    let odd = (1 << 24) + 1;
    assert_eq!((to_float(Rounding::Down, odd), to_float(Rounding::Up, odd)), (16_777_216.0, 16_777_218.0));
    assert_eq!(
        (to_float(Rounding::Zero, -odd), to_float(Rounding::Nearest, -odd)),
        (-16_777_216.0, -16_777_216.0)
    );
    let to_int = |to, rounding, value: f32| {
        convert::convert(Convert::FloatToInt { to, rounding, ftz: false }, value.to_bits().into())
    };
    assert_eq!((to_int(Ty::S32, Rounding::Nearest, 2.5), to_int(Ty::S32, Rounding::Up, 2.1)), (2, 3));
    assert_eq!(
        (to_int(Ty::U32, Rounding::Zero, -5.0), to_int(Ty::U32, Rounding::Zero, 1e20)),
        (0, 0xffff_ffff)
    );
    assert_eq!(to_int(Ty::S32, Rounding::Zero, f32::NAN), 0);
    assert_eq!(
        (convert::to_half(Ty::Bf16, false, 1.0), convert::to_half(Ty::F16, false, 1.0)),
        (0x3f80, 0x3c00)
    );
    assert_eq!(
        (convert::to_half(Ty::Bf16, true, -1.0), convert::to_half(Ty::F16, false, f32::NAN)),
        (0, 0x7fff)
    );
    let half = |from, bits| f32::from_bits(convert::convert(Convert::HalfToFloat { from }, bits) as u32);
    assert_eq!((half(Ty::Bf16, 0x3f80), half(Ty::F16, 0x3c00)), (1.0, 1.0));
    let packed = result(Class::B32, |dst| AluOp::CvtPack {
        ty: Ty::F16,
        relu: false,
        dst,
        high: Src::Imm(2_f32.to_bits().into()),
        low: Src::Imm(1_f32.to_bits().into()),
    });
    assert_eq!(packed, 0x4000_3c00);
}
