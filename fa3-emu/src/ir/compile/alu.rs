//! Arithmetic, comparison, selection, moves.

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::alu::{Compare, FloatBinary, FloatUnary, IntBinary, IntUnary, Logic, Part};
use crate::ir::{AluOp, Class, Special, Src, Ty};
use crate::ptx::{Fault, Operand};

/// Integers that have a sign or lack one.
const INTEGERS: [Ty; 6] = [Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64];
const SIGNED: [Ty; 3] = [Ty::S16, Ty::S32, Ty::S64];
const BITS: [Ty; 3] = [Ty::B16, Ty::B32, Ty::B64];
const WIDE_BITS: [Ty; 2] = [Ty::B32, Ty::B64];

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    match opcode.root() {
        "mov" => mov(opcode, operands),
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
        "setp" => setp(opcode, operands),
        "selp" => selp(opcode, operands),
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

fn mov(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    if opcode.take("pred") {
        let dst = operands.pred()?;
        if let Some(Operand::Integer(value)) = operands.peek() {
            operands.any_constant()?;
            return Ok(AluOp::PredSet { dst, value: *value != 0 });
        }
        return Ok(AluOp::PredMov { dst, a: operands.pred()? });
    }
    let ty = opcode.take_ty().filter(|ty| ty.bits() > 8).ok_or_else(|| opcode.unknown())?;
    if let Some(Operand::Vector(elements)) = operands.peek() {
        let (count, part) = parts(opcode, ty, elements.len())?;
        let parts = operands.dsts(count, part.class())?;
        return Ok(AluOp::Unpack { parts, a: operands.dst(ty.class())? });
    }
    let dst = operands.dst(ty.class())?;
    match operands.peek() {
        Some(Operand::Vector(elements)) => {
            let (count, part) = parts(opcode, ty, elements.len())?;
            Ok(AluOp::Pack { dst, parts: operands.srcs(count, part)? })
        }
        Some(Operand::Name(name)) if special(name).is_some() && dst.class != Class::B16 => {
            let special = operands.special(special)?;
            Ok(AluOp::ReadSpecial { dst, special })
        }
        _ => Ok(AluOp::Mov { dst, a: operands.src(ty)? }),
    }
}

/// The number and the type of the parts of an untyped value.
fn parts(opcode: &Opcode<'_>, whole: Ty, count: usize) -> Result<(usize, Ty), Fault> {
    match (whole, count) {
        (Ty::B32, 2) | (Ty::B64, 4) => Ok((count, Ty::B16)),
        (Ty::B64, 2) => Ok((count, Ty::B32)),
        _ => Err(opcode.unknown()),
    }
}

fn special(name: &str) -> Option<Special> {
    if let Some((vector, axis)) = name.split_once('.') {
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return None,
        };
        return Some(match vector {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            "%clusterid" => Special::Clusterid(axis),
            "%nclusterid" => Special::Nclusterid(axis),
            "%cluster_ctaid" => Special::ClusterCtaid(axis),
            "%cluster_nctaid" => Special::ClusterNctaid(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        "%laneid" => Special::Laneid,
        "%warpid" => Special::Warpid,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%smid" => Special::Smid,
        "%nsmid" => Special::Nsmid,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%total_smem_size" => Special::TotalSmemSize,
        _ => return None,
    })
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

fn setp(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let cmp = opcode.one_of(&[
        ("eq", Compare::Eq),
        ("ne", Compare::Ne),
        ("lt", Compare::Lt),
        ("le", Compare::Le),
        ("gt", Compare::Gt),
        ("ge", Compare::Ge),
        ("equ", Compare::Equ),
        ("neu", Compare::Neu),
        ("ltu", Compare::Ltu),
        ("leu", Compare::Leu),
        ("gtu", Compare::Gtu),
        ("geu", Compare::Geu),
        ("num", Compare::Num),
        ("nan", Compare::Nan),
    ])?;
    let ftz = opcode.take("ftz");
    let equality = matches!(cmp, Compare::Eq | Compare::Ne);
    let order = equality || matches!(cmp, Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge);
    let ty = opcode.take_ty().filter(|ty| match ty {
        Ty::F32 => true,
        Ty::B16 | Ty::B32 | Ty::B64 => equality && !ftz,
        ty => INTEGERS.contains(ty) && order && !ftz,
    });
    let ty = ty.ok_or_else(|| opcode.unknown())?;
    let (dst, a) = (operands.pred()?, operands.src(ty)?);
    Ok(AluOp::Setp { cmp, ty, ftz, dst, a, b: operands.src(ty)? })
}

fn selp(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let ty = opcode.take_ty().filter(|ty| ty.bits() > 8 && !matches!(ty, Ty::F16 | Ty::Bf16));
    let ty = ty.ok_or_else(|| opcode.unknown())?;
    let dst = operands.dst(ty.class())?;
    let (a, b): (Src, Src) = (operands.src(ty)?, operands.src(ty)?);
    Ok(AluOp::Selp { dst, a, b, pred: operands.pred()? })
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
