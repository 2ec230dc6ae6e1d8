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

#[cfg(test)]
mod tests {
    use super::super::testing::{d, instruction, r, unknown};
    use super::*;
    use crate::ir::{Address, Op, PredReg, Src};

    fn mma(text: &str) -> Result<MmaOp, Fault> {
        match instruction(text)?.op {
            Op::Mma(mma) => Ok(mma),
            _ => Err(Fault::Undeclared(text.to_owned())),
        }
    }

    #[test]
    fn both_operands_in_shared_memory() {
        let text = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1,%r2,%r3,%r4}, %d1, %d2, %p1, 1, -1, 0, 1;";
        let wgmma = Wgmma {
            n: 8,
            operand: OperandTy::Bf16,
            d: Box::new([r(0), r(1), r(2), r(3)]),
            a: OperandA::Shared { descriptor: Src::Reg(d(0)), mn_major: false },
            b: Src::Reg(d(1)),
            accumulate: PredReg(0),
            negate_a: false,
            negate_b: true,
            b_mn_major: true,
        };
        assert_eq!(mma(text), Ok(MmaOp::Wgmma(Box::new(wgmma))));
    }

    #[test]
    fn left_operand_in_registers() {
        let text = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, %d1, %p1, 1, 1, 1;";
        let Ok(MmaOp::Wgmma(wgmma)) = mma(text) else { panic!("{:?}", mma(text)) };
        assert_eq!(wgmma.a, OperandA::Registers([r(4), r(5), r(6), r(7)]));
        assert_eq!((wgmma.operand, wgmma.b_mn_major), (OperandTy::F16, true));
    }

    #[test]
    fn shapes_types_and_operands_there_are() {
        for form in [
            "m64n12k16.f32.f16.f16",
            "m64n264k16.f32.f16.f16",
            "m128n8k16.f32.f16.f16",
            "m64n8k16.f16.f16.f16",
            "m64n8k16.f32.f16.bf16",
            "m64n8k8.f32.tf32.tf32",
        ] {
            let opcode = format!("wgmma.mma_async.sync.aligned.{form}");
            assert_eq!(
                mma(&format!("{opcode} {{%r1,%r2,%r3,%r4}}, %d1, %d2, %p1, 1, 1, 0, 0;")),
                Err(unknown(&opcode))
            );
        }
        let text =
            |d: &str, rest: &str| format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {d}, {rest};");
        assert!(matches!(
            mma(&text("{%r1,%r2,%r3}", "%d1, %d2, %p1, 1, 1, 0, 0")),
            Err(Fault::Operand { number: 1, .. })
        ));
        assert!(matches!(
            mma(&text("{%r1,%r2,%r3,%r4}", "%d1, %d2, %p1, 2, 1, 0, 0")),
            Err(Fault::Operand { number: 5, .. })
        ));
        assert!(matches!(
            mma(&text("{%r1,%r2,%r3,%r4}", "%d1, %d2, %p1, 1, 1, 0")),
            Err(Fault::OperandCount { few: true, .. })
        ));
    }

    #[test]
    fn the_rest() {
        assert_eq!(mma("wgmma.fence.sync.aligned;"), Ok(MmaOp::Fence));
        assert_eq!(mma("wgmma.commit_group.sync.aligned;"), Ok(MmaOp::Commit));
        assert_eq!(mma("wgmma.wait_group.sync.aligned 1;"), Ok(MmaOp::Wait { pending: 1 }));
        let addr = Address { base: Some(r(0)), offset: 0 };
        let store = MmaOp::StoreMatrix { transpose: false, addr, src: Box::new([r(1), r(2)]) };
        assert_eq!(mma("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2, %r3};"), Ok(store));
        let load = mma("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%r2];");
        assert!(matches!(load, Ok(MmaOp::LoadMatrix { transpose: true, .. })));
    }
}
