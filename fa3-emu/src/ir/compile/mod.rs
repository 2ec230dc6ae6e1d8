//! From a kernel as written to a [`Program`].

mod alu;
mod bulk;
mod convert;
mod flow;
mod layout;
mod memory;
mod mma;
mod names;
mod opcode;
mod operands;
mod sync;
mod warp;

use std::collections::HashMap;

use super::op::{Guard, Instr, Op};
use super::program::{Line, Location, Program};
use crate::ptx::{Fault, Instruction, Kernel, Module, PtxError, Statement};
use names::{LabelId, Names};
use opcode::Opcode;
use operands::Operands;

impl Program {
    /// Resolves a kernel of a module.
    ///
    /// # Errors
    /// [`PtxError::NoKernel`] if the module has no kernel of that name; [`PtxError::Text`] with the
    /// line of what cannot be resolved: an instruction or a form of one that the emulator does not
    /// know, an operand that does not fit its instruction, a name that nothing declares.
    ///
    /// ```
    /// use fa3_emu::ir::{Op, Program};
    /// let module = fa3_emu::ptx::parse(
    ///     ".version 9.0\n.target sm_90a\n.visible .entry spin(.param .u64 out) {\nL: bra L;\n}\n",
    /// )?;
    /// let program = Program::compile(&module, "spin")?;
    /// assert_eq!(program.param_bytes, 8);
    /// assert_eq!(program.instructions[0].op, Op::Branch { target: 0, uniform: false });
    /// # Ok::<(), fa3_emu::ptx::PtxError>(())
    /// ```
    pub fn compile(module: &Module<'_>, entry: &str) -> Result<Self, PtxError> {
        let kernel = module.kernels.iter().find(|kernel| kernel.name == entry).ok_or_else(|| {
            let found = module.kernels.iter().map(|kernel| kernel.name.to_owned()).collect();
            PtxError::NoKernel { entry: entry.to_owned(), found }
        })?;
        compile(module, kernel)
    }
}

fn compile(module: &Module<'_>, kernel: &Kernel<'_>) -> Result<Program, PtxError> {
    let (params, param_bytes) = layout::params(kernel)?;
    let shared = layout::shared(module, kernel)?;
    let mut names = Names::new(&kernel.body)?;
    for (param, written) in params.iter().zip(&kernel.params) {
        names.declare_constant(&param.name, param.offset, written.line)?;
    }
    for symbol in &shared.symbols {
        names.declare_constant(&symbol.name, symbol.offset, kernel.line)?;
    }
    let files: HashMap<u32, u32> =
        (0_u32..).zip(&module.files).map(|(index, (number, _))| (*number, index)).collect();
    let (mut instructions, mut lines, mut source) = (Vec::new(), Vec::new(), None);
    for statement in &kernel.body {
        match statement {
            Statement::Open => names.open(),
            Statement::Close => names.close(),
            Statement::Register { name, count, ty, line } => names.declare(name, *count, *ty, *line)?,
            Statement::Shared(_) => {}
            Statement::Label { name, .. } => names.place(name, index(instructions.len())),
            Statement::Location { file, line } => {
                source = files.get(file).map(|file| Location { file: *file, line: *line });
            }
            Statement::Instruction(instruction) => {
                instructions
                    .push(lower(&mut names, instruction).map_err(|fault| fault.at(instruction.line))?);
                lines.push(Line { ptx: instruction.line, source });
            }
        }
    }
    // Execution that reaches the end of a kernel ends there.
    instructions.push(Instr { guard: None, op: Op::Exit });
    lines.push(Line { ptx: kernel.end_line, source: None });
    for instruction in &mut instructions {
        if let Op::Branch { target, .. } = &mut instruction.op {
            *target = names.position(LabelId(*target));
        }
    }
    Ok(Program {
        entry: kernel.name.to_owned(),
        arch: module.arch,
        params,
        param_bytes,
        registers: names.registers(),
        shared,
        max_threads: kernel.max_threads,
        required_threads: kernel.required_threads,
        required_cluster: kernel.required_cluster,
        explicit_cluster: kernel.explicit_cluster,
        instructions,
        lines,
        files: module.files.iter().map(|(_, name)| (*name).to_owned()).collect(),
    })
}

/// The number of an instruction or of a label. A text has no more of them than bytes.
fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// One instruction. Branches get the number of their label, which may lie ahead.
fn lower<'a>(names: &mut Names<'a>, instruction: &Instruction<'a>) -> Result<Instr, Fault> {
    let guard = match instruction.guard {
        Some(guard) => Some(Guard { pred: names.pred(guard.name)?, negated: guard.negated }),
        None => None,
    };
    let mut opcode = Opcode::new(instruction.opcode);
    let mut operands = Operands::new(names, instruction);
    let op = match opcode.root() {
        "bra" | "exit" | "ret" | "trap" | "griddepcontrol" => flow::lower(&mut opcode, &mut operands)?,
        "ld" | "st" | "atom" | "red" | "cvta" | "mapa" => {
            Op::Memory(memory::lower(&mut opcode, &mut operands)?)
        }
        "prefetch" if opcode.has("tensormap") => Op::Bulk(bulk::lower(&mut opcode, &mut operands)?),
        "prefetch" => Op::Memory(memory::lower(&mut opcode, &mut operands)?),
        "shfl" | "vote" | "activemask" | "elect" | "redux" => {
            Op::Warp(warp::lower(&mut opcode, &mut operands)?)
        }
        "bar" | "barrier" | "fence" | "membar" | "mbarrier" | "setmaxnreg" | "nanosleep" => {
            Op::Sync(sync::lower(&mut opcode, &mut operands)?)
        }
        "cp" => Op::Bulk(bulk::lower(&mut opcode, &mut operands)?),
        "wgmma" | "stmatrix" | "ldmatrix" => Op::Mma(mma::lower(&mut opcode, &mut operands)?),
        "cvt" => Op::Alu(convert::lower(&mut opcode, &mut operands)?),
        _ => Op::Alu(alu::lower(&mut opcode, &mut operands)?),
    };
    opcode.end()?;
    operands.end()?;
    Ok(Instr { guard, op })
}
