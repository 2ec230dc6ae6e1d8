//! `cvt`. PTX ISA, "cvt".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::alu::{Convert, Rounding};
use crate::ir::{AluOp, Class, Ty};
use crate::ptx::Fault;

/// How the opcode says to round: to a float, or to an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Float(Rounding),
    Integer(Rounding),
}

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<AluOp, Fault> {
    let round = opcode.take_any(&[
        ("rn", Round::Float(Rounding::Nearest)),
        ("rz", Round::Float(Rounding::Zero)),
        ("rm", Round::Float(Rounding::Down)),
        ("rp", Round::Float(Rounding::Up)),
        ("rni", Round::Integer(Rounding::Nearest)),
        ("rzi", Round::Integer(Rounding::Zero)),
        ("rmi", Round::Integer(Rounding::Down)),
        ("rpi", Round::Integer(Rounding::Up)),
    ]);
    let nearest = round == Some(Round::Float(Rounding::Nearest));
    let relu = opcode.take("relu");
    if let Some(ty) = opcode.take_any(&[("f16x2", Ty::F16), ("bf16x2", Ty::Bf16)]) {
        opcode.ty(&[Ty::F32])?;
        if !nearest {
            return Err(opcode.unknown());
        }
        let (dst, high) = (operands.dst(Class::B32)?, operands.src(Ty::F32)?);
        return Ok(AluOp::CvtPack { ty, relu, dst, high, low: operands.src(Ty::F32)? });
    }
    let ftz = opcode.take("ftz");
    let saturate = opcode.take("sat");
    let types = opcode.take_ty().zip(opcode.take_ty());
    let (to, from) = types.ok_or_else(|| opcode.unknown())?;
    let kind = kind(to, from, round, ftz, saturate).filter(|_| !relu).ok_or_else(|| opcode.unknown())?;
    let (dst, a) = (operands.wide_dst(to.class())?, operands.wide_src(from)?);
    Ok(AluOp::Cvt { kind, dst, a })
}

/// The conversion, if it is one that the emulator knows.
fn kind(to: Ty, from: Ty, round: Option<Round>, ftz: bool, saturate: bool) -> Option<Convert> {
    let integer = |ty: Ty| !ty.is_float() && !matches!(ty, Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64);
    match (to, from, round) {
        (to, from, None) if integer(to) && integer(from) && !ftz => {
            Some(Convert::IntToInt { to, from, saturate })
        }
        (Ty::F32, from, Some(Round::Float(rounding))) if integer(from) && !ftz && !saturate => {
            Some(Convert::IntToFloat { from, rounding })
        }
        // Out of range is clamped without `.sat` too.
        (to, Ty::F32, Some(Round::Integer(rounding))) if integer(to) => {
            Some(Convert::FloatToInt { to, rounding, ftz })
        }
        (Ty::F32, Ty::F16 | Ty::Bf16, None) if !ftz && !saturate => Some(Convert::HalfToFloat { from }),
        (Ty::F16 | Ty::Bf16, Ty::F32, Some(Round::Float(Rounding::Nearest))) if !ftz && !saturate => {
            Some(Convert::FloatToHalf { to })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{d, instruction, r, unknown};
    use super::*;
    use crate::ir::{Op, Reg, Src};

    fn convert(text: &str) -> Result<(Convert, Reg, Src), Fault> {
        match instruction(text)?.op {
            Op::Alu(AluOp::Cvt { kind, dst, a }) => Ok((kind, dst, a)),
            _ => Err(Fault::Undeclared(text.to_owned())),
        }
    }

    #[test]
    fn pairs_keep_the_first_operand_high() {
        let (high, low) = (Src::Reg(r(1)), Src::Reg(r(2)));
        let pack = AluOp::CvtPack { ty: Ty::Bf16, relu: false, dst: r(0), high, low };
        let op = instruction("cvt.rn.bf16x2.f32 %r1, %r2, %r3;").map(|instruction| instruction.op);
        assert_eq!(op, Ok(Op::Alu(pack)));
        assert_eq!(convert("cvt.rz.bf16x2.f32 %r1, %r2, %r3;"), Err(unknown("cvt.rz.bf16x2.f32")));
    }

    #[test]
    fn single_values() {
        let integers = Convert::IntToInt { to: Ty::U64, from: Ty::U32, saturate: false };
        assert_eq!(convert("cvt.u64.u32 %d1, %r1;"), Ok((integers, d(0), Src::Reg(r(0)))));
        // A wider register may hold either.
        let narrow = Convert::IntToInt { to: Ty::S32, from: Ty::S8, saturate: false };
        assert_eq!(convert("cvt.s32.s8 %r1, %r2;"), Ok((narrow, r(0), Src::Reg(r(1)))));
        let float = Convert::IntToFloat { from: Ty::S32, rounding: Rounding::Nearest };
        assert_eq!(convert("cvt.rn.f32.s32 %r1, %r2;"), Ok((float, r(0), Src::Reg(r(1)))));
        let integer = Convert::FloatToInt { to: Ty::S32, rounding: Rounding::Zero, ftz: true };
        assert_eq!(convert("cvt.rzi.ftz.s32.f32 %r1, %r2;"), Ok((integer, r(0), Src::Reg(r(1)))));
        assert_eq!(
            convert("cvt.f32.bf16 %r1, %h1;").map(|(kind, ..)| kind),
            Ok(Convert::HalfToFloat { from: Ty::Bf16 })
        );
        assert_eq!(
            convert("cvt.rn.f16.f32 %h1, %r1;").map(|(kind, ..)| kind),
            Ok(Convert::FloatToHalf { to: Ty::F16 })
        );
    }

    #[test]
    fn a_rounding_that_is_missing_or_has_no_sense() {
        for form in [
            "cvt.f32.s32",
            "cvt.rn.s32.f32",
            "cvt.rni.f32.s32",
            "cvt.rn.u32.s32",
            "cvt.rn.e4m3x2.f32",
            "cvt.f32.f32",
        ] {
            assert_eq!(convert(&format!("{form} %r1, %r2;")), Err(unknown(form)));
        }
    }
}
