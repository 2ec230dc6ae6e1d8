//! Moves, comparison, selection. PTX ISA, "mov", "setp", "selp", "Special Registers".

use super::alu::INTEGERS;
use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::alu::Compare;
use crate::ir::{AluOp, Class, Special, Ty};
use crate::ptx::{Fault, Operand};

pub(super) fn mov(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
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

pub(super) fn setp(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
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

pub(super) fn selp(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let ty = opcode.take_ty().filter(|ty| ty.bits() > 8 && !matches!(ty, Ty::F16 | Ty::Bf16));
    let ty = ty.ok_or_else(|| opcode.unknown())?;
    let dst = operands.dst(ty.class())?;
    let (a, b) = (operands.src(ty)?, operands.src(ty)?);
    Ok(AluOp::Selp { dst, a, b, pred: operands.pred()? })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{alu, d, h, r, unknown};
    use super::*;
    use crate::ir::{PredReg, Src};

    #[test]
    fn moves() {
        let tid = AluOp::ReadSpecial { dst: r(0), special: Special::Tid(1) };
        assert_eq!(alu("mov.u32 %r1, %tid.y;"), Ok(tid));
        let rank = AluOp::ReadSpecial { dst: r(0), special: Special::ClusterCtarank };
        assert_eq!(alu("mov.u32 %r1, %cluster_ctarank;"), Ok(rank));
        let pack = AluOp::Pack { dst: d(0), parts: Box::new([Src::Reg(r(0)), Src::Imm(7)]) };
        assert_eq!(alu("mov.b64 %d1, {%r1, 7};"), Ok(pack));
        let unpack = AluOp::Unpack { parts: Box::new([Some(h(0)), None]), a: r(0) };
        assert_eq!(alu("mov.b32 {%h1, _}, %r1;"), Ok(unpack));
        assert_eq!(alu("mov.pred %p1, -1;"), Ok(AluOp::PredSet { dst: PredReg(0), value: true }));
        assert_eq!(alu("mov.u64 %d1, %clock64;"), Err(Fault::Undeclared("%clock64".into())));
        assert_eq!(alu("mov.b32 {%h1, %h2, %h3}, %r1;"), Err(unknown("mov.b32")));
    }

    #[test]
    fn comparisons_fit_their_type() {
        let (dst, a, b) = (PredReg(0), Src::Reg(r(0)), Src::Imm(0));
        let setp = |cmp, ty| AluOp::Setp { cmp, ty, ftz: false, dst, a, b };
        assert_eq!(alu("setp.ne.b32 %p1, %r1, 0;"), Ok(setp(Compare::Ne, Ty::B32)));
        assert_eq!(alu("setp.leu.f32 %p1, %r1, 0f00000000;"), Ok(setp(Compare::Leu, Ty::F32)));
        assert_eq!(alu("setp.lt.s32 %p1, %r1, 0;"), Ok(setp(Compare::Lt, Ty::S32)));
        for unknown_form in ["setp.lt.b32", "setp.leu.s32", "setp.lt.and.s32", "setp.lt.ftz.s32"] {
            assert_eq!(alu(&format!("{unknown_form} %p1, %r1, 0;")), Err(unknown(unknown_form)));
        }
        assert!(matches!(alu("setp.lt.s32 %p1|%p2, %r1, 0;"), Err(Fault::Operand { number: 1, .. })));
    }

    #[test]
    fn selection() {
        let selp = AluOp::Selp { dst: r(0), a: Src::Imm(1), b: Src::Imm(0), pred: PredReg(0) };
        assert_eq!(alu("selp.u32 %r1, 1, 0, %p1;"), Ok(selp));
    }
}
