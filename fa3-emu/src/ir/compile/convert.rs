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
