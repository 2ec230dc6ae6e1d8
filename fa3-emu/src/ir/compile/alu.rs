//! Arithmetic, logic and shifts.

use super::moves;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::alu::{FloatBinary, FloatUnary, IntBinary, IntUnary, Logic, Part};
use crate::ir::{AluOp, Class, Ty};
use crate::ptx::Fault;

/// Integers that have a sign or lack one.
pub(super) const INTEGERS: [Ty; 6] = [Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64];
const SIGNED: [Ty; 3] = [Ty::S16, Ty::S32, Ty::S64];
const BITS: [Ty; 3] = [Ty::B16, Ty::B32, Ty::B64];
const WIDE_BITS: [Ty; 2] = [Ty::B32, Ty::B64];

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    match opcode.root() {
        "mov" => moves::mov(opcode, operands),
        "add" => sum(opcode, operands, IntBinary::Add, FloatBinary::Add),
        "sub" => sum(opcode, operands, IntBinary::Sub, FloatBinary::Sub),
        "min" => sum(opcode, operands, IntBinary::Min, FloatBinary::Min),
        "max" => sum(opcode, operands, IntBinary::Max, FloatBinary::Max),
        "mul" => mul(opcode, operands),
        "mad" => mad(opcode, operands),
        "fma" => {
            opcode.all(&["rn"])?;
            let ftz = opcode.take("ftz");
            opcode.ty(&[Ty::F32])?;
            let dst = operands.dst(Class::B32)?;
            let (a, b) = (operands.src(Ty::F32)?, operands.src(Ty::F32)?);
            Ok(AluOp::Fma { ftz, dst, a, b, c: operands.src(Ty::F32)? })
        }
        "div" => div(opcode, operands),
        "rem" => int2(opcode, operands, IntBinary::Rem, &INTEGERS),
        "and" => logic(opcode, operands, IntBinary::And, Logic::And),
        "or" => logic(opcode, operands, IntBinary::Or, Logic::Or),
        "xor" => logic(opcode, operands, IntBinary::Xor, Logic::Xor),
        "not" => not(opcode, operands),
        "shl" => shift(opcode, operands, IntBinary::Shl, &BITS),
        "shr" => {
            let all = [BITS.as_slice(), &INTEGERS].concat();
            shift(opcode, operands, IntBinary::Shr, &all)
        }
        "popc" => int1(opcode, operands, IntUnary::Popc, &WIDE_BITS, Some(Class::B32)),
        "clz" => int1(opcode, operands, IntUnary::Clz, &WIDE_BITS, Some(Class::B32)),
        "brev" => int1(opcode, operands, IntUnary::Brev, &WIDE_BITS, None),
        "neg" => sign(opcode, operands, IntUnary::Neg, FloatUnary::Neg),
        "abs" => sign(opcode, operands, IntUnary::Abs, FloatUnary::Abs),
        "rcp" => {
            let f = opcode.one_of(&[("rn", FloatUnary::Rcp), ("approx", FloatUnary::RcpApprox)])?;
            float1(opcode, operands, f)
        }
        "sqrt" => {
            let f = opcode.one_of(&[("rn", FloatUnary::Sqrt), ("approx", FloatUnary::SqrtApprox)])?;
            float1(opcode, operands, f)
        }
        "rsqrt" => approximate(opcode, operands, FloatUnary::RsqrtApprox),
        "ex2" => approximate(opcode, operands, FloatUnary::Ex2Approx),
        "lg2" => approximate(opcode, operands, FloatUnary::Lg2Approx),
        "tanh" => approximate(opcode, operands, FloatUnary::TanhApprox),
        "setp" => moves::setp(opcode, operands),
        "selp" => moves::selp(opcode, operands),
        "bfe" | "bfi" => field(opcode, operands),
        "shf" => funnel(opcode, operands),
        "prmt" => {
            opcode.ty(&[Ty::B32])?;
            let dst = operands.dst(Class::B32)?;
            let (a, b) = (operands.src(Ty::B32)?, operands.src(Ty::B32)?);
            Ok(AluOp::Permute { dst, a, b, selector: operands.src(Ty::B32)? })
        }
        "lop3" => {
            opcode.ty(&[Ty::B32])?;
            let dst = operands.dst(Class::B32)?;
            let (a, b, c) = (operands.src(Ty::B32)?, operands.src(Ty::B32)?, operands.src(Ty::B32)?);
            Ok(AluOp::Lop3 { dst, a, b, c, table: operands.constant(255, "a constant up to 255")? as u8 })
        }
        "createpolicy" => {
            opcode.all(&["fractional"])?;
            let policies = ["L2::evict_last", "L2::evict_first", "L2::evict_normal", "L2::evict_unchanged"];
            if !policies.iter().any(|policy| opcode.take(policy)) {
                return Err(opcode.unknown());
            }
            opcode.ty(&[Ty::B64])?;
            let dst = operands.dst(Class::B64)?;
            operands.any_constant()?;
            Ok(AluOp::CreatePolicy { dst })
        }
        _ => Err(opcode.unknown()),
    }
}

fn int1(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    f: IntUnary,
    allowed: &[Ty],
    class: Option<Class>,
) -> Result<AluOp, Fault> {
    let ty = opcode.ty(allowed)?;
    let dst = operands.dst(class.unwrap_or(ty.class()))?;
    Ok(AluOp::Int1 { f, ty, dst, a: operands.src(ty)? })
}

fn int2(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    f: IntBinary,
    allowed: &[Ty],
) -> Result<AluOp, Fault> {
    let ty = opcode.ty(allowed)?;
    let (dst, a) = (operands.dst(ty.class())?, operands.src(ty)?);
    Ok(AluOp::Int2 { f, ty, dst, a, b: operands.src(ty)? })
}

fn shift(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    f: IntBinary,
    allowed: &[Ty],
) -> Result<AluOp, Fault> {
    let ty = opcode.ty(allowed)?;
    let (dst, a) = (operands.dst(ty.class())?, operands.src(ty)?);
    Ok(AluOp::Int2 { f, ty, dst, a, b: operands.src(Ty::U32)? })
}

/// `f.approx[.ftz].f32`.
fn approximate(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    f: FloatUnary,
) -> Result<AluOp, Fault> {
    opcode.all(&["approx"])?;
    float1(opcode, operands, f)
}

/// The rest of a function, `[.ftz].f32`.
fn float1(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>, f: FloatUnary) -> Result<AluOp, Fault> {
    let ftz = opcode.take("ftz");
    opcode.ty(&[Ty::F32])?;
    Ok(AluOp::Float1 { f, ftz, dst: operands.dst(Class::B32)?, a: operands.src(Ty::F32)? })
}

fn float2(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>, f: FloatBinary) -> Result<AluOp, Fault> {
    let ftz = opcode.take("ftz");
    let f = match f {
        FloatBinary::Min if opcode.take("NaN") => FloatBinary::MinNan,
        FloatBinary::Max if opcode.take("NaN") => FloatBinary::MaxNan,
        other => other,
    };
    opcode.ty(&[Ty::F32])?;
    let (dst, a) = (operands.dst(Class::B32)?, operands.src(Ty::F32)?);
    Ok(AluOp::Float2 { f, ftz, dst, a, b: operands.src(Ty::F32)? })
}

/// `f.int`, or `f[.rn][.ftz].f32`.
fn sum(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    integer: IntBinary,
    float: FloatBinary,
) -> Result<AluOp, Fault> {
    if !opcode.has("f32") {
        return int2(opcode, operands, integer, &INTEGERS);
    }
    if matches!(float, FloatBinary::Add | FloatBinary::Sub) {
        opcode.take("rn");
    }
    float2(opcode, operands, float)
}

fn mul(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    match opcode.take_any(&[("lo", Part::Lo), ("hi", Part::Hi), ("wide", Part::Wide)]) {
        Some(Part::Lo) => int2(opcode, operands, IntBinary::MulLo, &INTEGERS),
        Some(Part::Hi) => int2(opcode, operands, IntBinary::MulHi, &INTEGERS),
        Some(Part::Wide) => {
            let (ty, class) = doubled(opcode)?;
            let (dst, a) = (operands.dst(class)?, operands.src(ty)?);
            Ok(AluOp::MulWide { ty, dst, a, b: operands.src(ty)? })
        }
        None => {
            opcode.take("rn");
            float2(opcode, operands, FloatBinary::Mul)
        }
    }
}

fn mad(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let part = opcode.one_of(&[("lo", Part::Lo), ("hi", Part::Hi), ("wide", Part::Wide)])?;
    let (ty, class) = if part == Part::Wide {
        doubled(opcode)?
    } else {
        let ty = opcode.ty(&INTEGERS)?;
        (ty, ty.class())
    };
    let summand = if class == Class::B64 { Ty::B64 } else { Ty::B32 };
    let summand = if part == Part::Wide { summand } else { ty };
    let dst = operands.dst(class)?;
    let (a, b) = (operands.src(ty)?, operands.src(ty)?);
    Ok(AluOp::Mad { part, ty, dst, a, b, c: operands.src(summand)? })
}

/// The type of factors and the class of their whole product.
fn doubled(opcode: &mut Opcode<'_>) -> Result<(Ty, Class), Fault> {
    let ty = opcode.ty(&[Ty::U16, Ty::S16, Ty::U32, Ty::S32])?;
    Ok((ty, if ty.bits() == 16 { Class::B32 } else { Class::B64 }))
}

fn div(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let float = opcode.take_any(&[
        ("rn", FloatBinary::Div),
        ("approx", FloatBinary::DivApprox),
        ("full", FloatBinary::DivApprox),
    ]);
    match float {
        Some(f) => float2(opcode, operands, f),
        None => int2(opcode, operands, IntBinary::Div, &INTEGERS),
    }
}

fn sign(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    integer: IntUnary,
    float: FloatUnary,
) -> Result<AluOp, Fault> {
    if opcode.has("f32") {
        return float1(opcode, operands, float);
    }
    int1(opcode, operands, integer, &SIGNED, None)
}

fn logic(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    bits: IntBinary,
    pred: Logic,
) -> Result<AluOp, Fault> {
    if opcode.take("pred") {
        let (dst, a) = (operands.pred()?, operands.pred()?);
        return Ok(AluOp::Pred2 { f: pred, dst, a, b: operands.pred()? });
    }
    int2(opcode, operands, bits, &BITS)
}

fn not(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    if opcode.take("pred") {
        return Ok(AluOp::PredNot { dst: operands.pred()?, a: operands.pred()? });
    }
    int1(opcode, operands, IntUnary::Not, &BITS, None)
}

fn field(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    if opcode.root() == "bfe" {
        let ty = opcode.ty(&[Ty::U32, Ty::S32, Ty::U64, Ty::S64])?;
        let (dst, a) = (operands.dst(ty.class())?, operands.src(ty)?);
        let (position, length) = (operands.src(Ty::U32)?, operands.src(Ty::U32)?);
        return Ok(AluOp::BitFieldExtract { ty, dst, a, position, length });
    }
    let ty = opcode.ty(&WIDE_BITS)?;
    let dst = operands.dst(ty.class())?;
    let (a, b) = (operands.src(ty)?, operands.src(ty)?);
    let (position, length) = (operands.src(Ty::U32)?, operands.src(Ty::U32)?);
    Ok(AluOp::BitFieldInsert { ty, dst, a, b, position, length })
}

fn funnel(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let left = opcode.one_of(&[("l", true), ("r", false)])?;
    let wrap = opcode.one_of(&[("wrap", true), ("clamp", false)])?;
    opcode.ty(&[Ty::B32])?;
    let dst = operands.dst(Class::B32)?;
    let (low, high) = (operands.src(Ty::B32)?, operands.src(Ty::B32)?);
    Ok(AluOp::FunnelShift { left, wrap, dst, low, high, amount: operands.src(Ty::U32)? })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{alu, d, r, unknown};
    use super::*;
    use crate::ir::{PredReg, Src};

    #[test]
    fn products_have_the_width_they_say() {
        let (a, b) = (Src::Reg(r(0)), Src::Imm(9));
        let wide = AluOp::MulWide { ty: Ty::S32, dst: d(0), a, b };
        assert_eq!(alu("mul.wide.s32 %d1, %r1, 9;"), Ok(wide));
        let c = Src::Reg(d(1));
        let mad = AluOp::Mad { part: Part::Wide, ty: Ty::U32, dst: d(0), a, b, c };
        assert_eq!(alu("mad.wide.u32 %d1, %r1, 9, %d2;"), Ok(mad));
        let low = AluOp::Int2 { f: IntBinary::MulLo, ty: Ty::S32, dst: r(0), a: Src::Reg(r(1)), b };
        assert_eq!(alu("mul.lo.s32 %r1, %r2, 9;"), Ok(low));
        assert_eq!(alu("mul.s32 %r1, %r2, 9;"), Err(unknown("mul.s32")));
        assert_eq!(alu("mul.wide.u64 %d1, %d2, %d3;"), Err(unknown("mul.wide.u64")));
    }

    #[test]
    fn floats_round_to_nearest_or_say_what_they_do() {
        let (a, b) = (Src::Reg(r(1)), Src::Imm(0x4000_0000));
        let float = |f, ftz| AluOp::Float2 { f, ftz, dst: r(0), a, b };
        assert_eq!(alu("add.f32 %r1, %r2, 0f40000000;"), Ok(float(FloatBinary::Add, false)));
        assert_eq!(alu("add.rn.ftz.f32 %r1, %r2, 0f40000000;"), Ok(float(FloatBinary::Add, true)));
        assert_eq!(alu("max.f32 %r1, %r2, 0f40000000;"), Ok(float(FloatBinary::Max, false)));
        assert_eq!(alu("min.ftz.NaN.f32 %r1, %r2, 0f40000000;"), Ok(float(FloatBinary::MinNan, true)));
        assert_eq!(alu("div.full.f32 %r1, %r2, 0f40000000;"), Ok(float(FloatBinary::DivApprox, false)));
        let ex2 = AluOp::Float1 { f: FloatUnary::Ex2Approx, ftz: true, dst: r(0), a };
        assert_eq!(alu("ex2.approx.ftz.f32 %r1, %r2;"), Ok(ex2));
        for unknown_form in ["add.rz.f32", "add.sat.f32", "max.rn.f32", "add.rn.f32x2"] {
            assert_eq!(alu(&format!("{unknown_form} %r1, %r2, %r3;")), Err(unknown(unknown_form)));
        }
    }

    #[test]
    fn shifts_take_32_bits() {
        let shr = |ty, dst, a, b| AluOp::Int2 { f: IntBinary::Shr, ty, dst, a: Src::Reg(a), b };
        assert_eq!(alu("shr.s64 %d1, %d2, %r1;"), Ok(shr(Ty::S64, d(0), d(1), Src::Reg(r(0)))));
        assert_eq!(alu("shr.u32 %r1, %r2, 3;"), Ok(shr(Ty::U32, r(0), r(1), Src::Imm(3))));
        assert!(alu("shl.b64 %d1, %d2, %d3;").is_err());
        assert_eq!(alu("shl.s32 %r1, %r2, 3;"), Err(unknown("shl.s32")));
    }

    #[test]
    fn fields_and_bytes() {
        let (a, b) = (Src::Reg(r(1)), Src::Reg(r(2)));
        let (position, length) = (Src::Imm(4), Src::Imm(3));
        let insert = AluOp::BitFieldInsert { ty: Ty::B32, dst: r(0), a, b, position, length };
        assert_eq!(alu("bfi.b32 %r1, %r2, %r3, 4, 3;"), Ok(insert));
        let permute = AluOp::Permute { dst: r(0), a, b, selector: Src::Imm(0x5410) };
        assert_eq!(alu("prmt.b32 %r1, %r2, %r3, 0x5410;"), Ok(permute));
        let lop3 = AluOp::Lop3 { dst: r(0), a, b, c: Src::Imm(1), table: 0x96 };
        assert_eq!(alu("lop3.b32 %r1, %r2, %r3, 1, 0x96;"), Ok(lop3));
        let amount = Src::Imm(7);
        let shift = AluOp::FunnelShift { left: true, wrap: true, dst: r(0), low: a, high: b, amount };
        assert_eq!(alu("shf.l.wrap.b32 %r1, %r2, %r3, 7;"), Ok(shift));
    }

    #[test]
    fn predicates_combine() {
        let and = AluOp::Pred2 { f: Logic::And, dst: PredReg(0), a: PredReg(1), b: PredReg(2) };
        assert_eq!(alu("and.pred %p1, %p2, %p3;"), Ok(and));
        assert_eq!(alu("not.pred %p1, %p2;"), Ok(AluOp::PredNot { dst: PredReg(0), a: PredReg(1) }));
    }
}
