//! Exchange between lanes. PTX ISA, "shfl.sync", "vote.sync", "activemask", "elect.sync",
//! "redux.sync".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::warp::{ReduceFunction, ShuffleMode, VoteMode};
use crate::ir::{Class, Ty, WarpOp};
use crate::ptx::Fault;

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<WarpOp, Fault> {
    match opcode.root() {
        "shfl" => {
            opcode.all(&["sync"])?;
            let mode = opcode.one_of(&[
                ("up", ShuffleMode::Up),
                ("down", ShuffleMode::Down),
                ("bfly", ShuffleMode::Butterfly),
                ("idx", ShuffleMode::Index),
            ])?;
            opcode.ty(&[Ty::B32])?;
            let (dst, in_range) = operands.pair(Class::B32)?;
            let dst = dst.ok_or_else(|| operands.wrong("a register of 32 bits"))?;
            let a = operands.src(Ty::B32)?;
            let (b, c) = (operands.src(Ty::U32)?, operands.src(Ty::U32)?);
            Ok(WarpOp::Shuffle { mode, dst, in_range, a, b, c, members: operands.src(Ty::B32)? })
        }
        "vote" => vote(opcode, operands),
        "activemask" => {
            opcode.ty(&[Ty::B32])?;
            Ok(WarpOp::ActiveMask { dst: operands.dst(Class::B32)? })
        }
        "elect" => {
            opcode.all(&["sync"])?;
            let (lane, dst) = operands.pair(Class::B32)?;
            let dst = dst.ok_or_else(|| operands.wrong("a register or `_`, `|`, and a predicate"))?;
            Ok(WarpOp::Elect { lane, dst, members: operands.src(Ty::B32)? })
        }
        "redux" => {
            opcode.all(&["sync"])?;
            let f = opcode.one_of(&[
                ("add", ReduceFunction::Add),
                ("min", ReduceFunction::Min),
                ("max", ReduceFunction::Max),
                ("and", ReduceFunction::And),
                ("or", ReduceFunction::Or),
                ("xor", ReduceFunction::Xor),
            ])?;
            let arithmetic = matches!(f, ReduceFunction::Add | ReduceFunction::Min | ReduceFunction::Max);
            let ty = opcode.ty(if arithmetic { &[Ty::U32, Ty::S32] } else { &[Ty::B32] })?;
            let (dst, a) = (operands.dst(Class::B32)?, operands.src(ty)?);
            Ok(WarpOp::Reduce { f, signed: ty.is_signed(), dst, a, members: operands.src(Ty::B32)? })
        }
        _ => Err(opcode.unknown()),
    }
}

fn vote(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<WarpOp, Fault> {
    opcode.all(&["sync"])?;
    if opcode.take("ballot") {
        opcode.ty(&[Ty::B32])?;
        let dst = operands.dst(Class::B32)?;
        let (a, negated) = operands.signed_pred()?;
        return Ok(WarpOp::Ballot { dst, a, negated, members: operands.src(Ty::B32)? });
    }
    let modes = [("all", VoteMode::All), ("any", VoteMode::Any), ("uni", VoteMode::Uniform)];
    let mode = opcode.one_of(&modes)?;
    opcode.all(&["pred"])?;
    let dst = operands.pred()?;
    let (a, negated) = operands.signed_pred()?;
    Ok(WarpOp::Vote { mode, dst, a, negated, members: operands.src(Ty::B32)? })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{instruction, r, unknown};
    use super::*;
    use crate::ir::{Op, PredReg, Src};

    fn warp(text: &str) -> Result<WarpOp, Fault> {
        match instruction(text)?.op {
            Op::Warp(warp) => Ok(warp),
            _ => Err(Fault::Undeclared(text.to_owned())),
        }
    }

    #[test]
    fn shuffles() {
        let shuffle = |in_range| WarpOp::Shuffle {
            mode: ShuffleMode::Butterfly,
            dst: r(0),
            in_range,
            a: Src::Reg(r(1)),
            b: Src::Imm(1),
            c: Src::Imm(31),
            members: Src::Imm(0xffff_ffff),
        };
        assert_eq!(warp("shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;"), Ok(shuffle(Some(PredReg(0)))));
        assert_eq!(warp("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;"), Ok(shuffle(None)));
        assert_eq!(warp("shfl.bfly.b32 %r1, %r2, 1, 31;"), Err(unknown("shfl.bfly.b32")));
    }

    #[test]
    fn votes() {
        let (dst, a, members) = (PredReg(0), PredReg(1), Src::Imm(0xffff_ffff));
        let any = WarpOp::Vote { mode: VoteMode::Any, dst, a, negated: true, members };
        assert_eq!(warp("vote.sync.any.pred %p1, !%p2, 0xffffffff;"), Ok(any));
        let ballot = WarpOp::Ballot { dst: r(0), a: PredReg(0), negated: false, members };
        assert_eq!(warp("vote.sync.ballot.b32 %r1, %p2, 0xffffffff;"), Ok(ballot));
        let elect = WarpOp::Elect { lane: None, dst, members };
        assert_eq!(warp("elect.sync _|%p1, 0xffffffff;"), Ok(elect));
        assert!(warp("elect.sync %r1, 0xffffffff;").is_err(), "without a predicate");
    }

    #[test]
    fn reductions_fit_their_type() {
        assert!(matches!(warp("redux.sync.max.s32 %r1, %r2, -1;"), Ok(WarpOp::Reduce { signed: true, .. })));
        assert_eq!(warp("redux.sync.and.s32 %r1, %r2, -1;"), Err(unknown("redux.sync.and.s32")));
        assert_eq!(warp("redux.sync.max.f32 %r1, %r2, -1;"), Err(unknown("redux.sync.max.f32")));
    }
}
