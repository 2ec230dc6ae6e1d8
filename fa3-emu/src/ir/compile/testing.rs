//! One instruction at a time.

use crate::ir::{AluOp, Class, Instr, Op, Program, Reg};
use crate::ptx::{Fault, PtxError, parse};

/// The line of [`instruction`]'s text.
const LINE: u32 = 10;

/// The instruction in a kernel with registers `%p`, `%h` (16 bits), `%r` and `%d` (64 bits), a
/// shared array `tile`, a parameter `param` at 8 and a label `L` before it. Registers have numbers
/// in the order in which the text names them.
pub(super) fn instruction(text: &str) -> Result<Instr, Fault> {
    let module = format!(
        ".version 9.0\n.target sm_90a\n.shared .align 16 .b8 tile[64];\n\
         .entry k(.param .u64 first, .param .b8 param[8]) {{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<200>;\n.reg .b64 %d<9>;\nL:\n{text}\n}}"
    );
    match parse(&module).and_then(|module| Program::compile(&module, "k")) {
        Ok(mut program) => Ok(program.instructions.swap_remove(0)),
        Err(PtxError::Text { line, fault }) => {
            assert_eq!(line, LINE, "{fault}");
            Err(fault)
        }
        Err(error) => Err(Fault::Undeclared(error.to_string())),
    }
}

/// The operation of an instruction that computes in the registers of a lane.
pub(super) fn alu(text: &str) -> Result<AluOp, Fault> {
    match instruction(text)?.op {
        Op::Alu(alu) => Ok(alu),
        _ => Err(Fault::Undeclared(text.to_owned())),
    }
}

/// The fault that the instruction is not known.
pub(super) fn unknown(opcode: &str) -> Fault {
    Fault::Instruction(opcode.to_owned())
}

/// A register of 16 bits.
pub(super) const fn h(index: u32) -> Reg {
    Reg { class: Class::B16, index }
}

/// A register of 32 bits.
pub(super) const fn r(index: u32) -> Reg {
    Reg { class: Class::B32, index }
}

/// A register of 64 bits.
pub(super) const fn d(index: u32) -> Reg {
    Reg { class: Class::B64, index }
}
