//! Matrices. PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group",
//! "stmatrix", "ldmatrix".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::mma::{OperandA, OperandTy, Wgmma};
use crate::ir::{Class, MmaOp, Ty};
use crate::ptx::{Fault, Operand};

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<MmaOp, Fault> {
    match opcode.root() {
        "wgmma" => wgmma(opcode, operands),
        "stmatrix" => {
            let (count, transpose) = matrices(opcode)?;
            let addr = operands.address()?;
            Ok(MmaOp::StoreMatrix { transpose, addr, src: operands.registers(count, Class::B32)? })
        }
        "ldmatrix" => {
            let (count, transpose) = matrices(opcode)?;
            let dst = operands.registers(count, Class::B32)?;
            Ok(MmaOp::LoadMatrix { transpose, dst, addr: operands.address()? })
        }
        _ => Err(opcode.unknown()),
    }
}

/// `.sync.aligned.m8n8.x4[.trans][.shared[::cta]].b16`.
fn matrices(opcode: &mut Opcode<'_>) -> Result<(usize, bool), Fault> {
    opcode.all(&["sync", "aligned", "m8n8"])?;
    let count = opcode.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
    let transpose = opcode.take("trans");
    opcode.one_of(&[("shared", ()), ("shared::cta", ())])?;
    opcode.ty(&[Ty::B16])?;
    Ok((count, transpose))
}

fn wgmma(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<MmaOp, Fault> {
    match opcode.next()? {
        "fence" => {
            opcode.all(&["sync", "aligned"])?;
            Ok(MmaOp::Fence)
        }
        "commit_group" => {
            opcode.all(&["sync", "aligned"])?;
            Ok(MmaOp::Commit)
        }
        "wait_group" => {
            opcode.all(&["sync", "aligned"])?;
            Ok(MmaOp::Wait { pending: operands.constant(u32::MAX, "a number of groups")? })
        }
        "mma_async" => multiply(opcode, operands).map(|wgmma| MmaOp::Wgmma(Box::new(wgmma))),
        _ => Err(opcode.unknown()),
    }
}

fn multiply(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<Wgmma, Fault> {
    opcode.all(&["sync", "aligned"])?;
    let shape = opcode.next()?;
    let n = shape.strip_prefix("m64n").and_then(|rest| rest.strip_suffix("k16"));
    let n = n.and_then(|digits| digits.parse().ok()).filter(|n| (8..=256).contains(n) && n % 8 == 0);
    let n: u32 = n.ok_or_else(|| opcode.unknown())?;
    opcode.all(&["f32"])?;
    let operand = opcode.one_of(&[("f16", OperandTy::F16), ("bf16", OperandTy::Bf16)])?;
    opcode.all(&[if operand == OperandTy::F16 { "f16" } else { "bf16" }])?;
    let d = operands.registers(n as usize / 2, Class::B32)?;
    let in_registers = matches!(operands.peek(), Some(Operand::Vector(_)));
    let (registers, descriptor) = if in_registers {
        let list = operands.registers(4, Class::B32)?;
        (<[_; 4]>::try_from(&*list).ok(), None)
    } else {
        (None, Some(operands.src(Ty::B64)?))
    };
    let b = operands.src(Ty::B64)?;
    let accumulate = operands.pred()?;
    let (negate_a, negate_b) = (negated(operands)?, negated(operands)?);
    let a = match (registers, descriptor) {
        (Some(registers), _) => OperandA::Registers(registers),
        (None, Some(descriptor)) => OperandA::Shared { descriptor, mn_major: transposed(operands)? },
        (None, None) => return Err(operands.wrong("four registers or a descriptor")),
    };
    let b_mn_major = transposed(operands)?;
    Ok(Wgmma { n, operand, d, a, b, accumulate, negate_a, negate_b, b_mn_major })
}

/// `imm-scale`: 1 or −1.
fn negated(operands: &mut Operands<'_, '_>) -> Result<bool, Fault> {
    operands.integer(&[1, -1], "1 or -1").map(|sign| sign < 0)
}

/// `imm-trans`: 0 or 1.
fn transposed(operands: &mut Operands<'_, '_>) -> Result<bool, Fault> {
    operands.integer(&[0, 1], "0 or 1").map(|trans| trans == 1)
}
