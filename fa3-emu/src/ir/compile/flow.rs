//! Where execution goes on. PTX ISA, "Control Flow Instructions" and "griddepcontrol".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::Op;
use crate::ptx::Fault;

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<Op, Fault> {
    match opcode.root() {
        "bra" => {
            let uniform = opcode.take("uni");
            Ok(Op::Branch { target: operands.label()?.0, uniform })
        }
        // A kernel has no caller to return to.
        "ret" => {
            opcode.take("uni");
            Ok(Op::Exit)
        }
        "exit" => Ok(Op::Exit),
        "trap" => Ok(Op::Trap),
        "griddepcontrol" => opcode
            .one_of(&[("wait", false), ("launch_dependents", true)])
            .map(|launches| if launches { Op::LaunchDependents } else { Op::WaitForGrids }),
        _ => Err(opcode.unknown()),
    }
}
