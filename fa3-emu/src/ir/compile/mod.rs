//! From a kernel as written to a [`Program`].

mod alu;
mod bulk;
mod convert;
mod flow;
mod layout;
mod memory;
mod mma;
mod moves;
mod names;
mod opcode;
mod operands;
mod sync;
#[cfg(test)]
mod testing;
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

/// A fault, which says of a name that the module declares it where the emulator cannot.
fn named(module: &Module<'_>, fault: Fault) -> Fault {
    match fault {
        Fault::Undeclared(name) => match module.elsewhere.iter().find(|(other, _)| *other == name) {
            Some(&(_, space)) => Fault::Elsewhere { name, space: space.to_owned() },
            None => Fault::Undeclared(name),
        },
        other => other,
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
                instructions.push(
                    lower(&mut names, instruction)
                        .map_err(|fault| named(module, fault).at(instruction.line))?,
                );
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

#[cfg(test)]
mod tests {
    use super::testing::instruction;
    use super::*;
    use crate::ir::{AluOp, PredReg};
    use crate::ptx::parse;

    fn program(body: &str) -> Result<Program, PtxError> {
        let text = format!(
            ".version 9.0\n.target sm_90a\n.file 1 \"a.cu\"\n.file 7 \"b.cu\"\n.entry k() {{\n{body}\n}}"
        );
        Program::compile(&parse(&text)?, "k")
    }

    #[test]
    fn guards() {
        let guard = |text| instruction(text).expect("compiles").guard;
        assert_eq!(guard("@%p3 trap;"), Some(Guard { pred: PredReg(0), negated: false }));
        assert_eq!(guard("@!%p3 trap;"), Some(Guard { pred: PredReg(0), negated: true }));
        assert_eq!(guard("trap;"), None);
        assert!(instruction("@%r1 trap;").is_err());
    }

    /// The form of inline assembly: each block has a register and labels of the same name.
    #[test]
    fn braces_have_names_of_their_own() {
        let block = "{ .reg .pred p;\nL: setp.ne.b32 p, r, 0; @p bra D; bra L; D: }";
        let program = program(&format!(".reg .b32 r;\n{block}\n{block}")).expect("compiles");
        assert_eq!(program.registers.pred, 2);
        let targets: Vec<u32> = program
            .instructions
            .iter()
            .filter_map(|instruction| match instruction.op {
                Op::Branch { target, .. } => Some(target),
                _ => None,
            })
            .collect();
        assert_eq!(targets, [3, 0, 6, 3]);
        assert_eq!(program.instructions.get(6).map(|last| &last.op), Some(&Op::Exit));
    }

    #[test]
    fn lines_follow_loc() {
        let program =
            program("trap;\n.loc 7 30 5\ntrap;\n.loc 1 40 5, function_name $s, inlined_at 7 31 2\ntrap;");
        let program = program.expect("compiles");
        let source = |file, line| Some(Location { file, line });
        let lines: Vec<_> = program.lines.iter().map(|line| (line.ptx, line.source)).collect();
        assert_eq!(lines, [(6, None), (8, source(1, 30)), (10, source(0, 40)), (11, None)]);
        assert_eq!(program.files, ["a.cu", "b.cu"]);
    }

    #[test]
    fn the_kernel_asked_for_is_compiled() {
        let text = ".version 9.0\n.target sm_90a\n.entry a() { trap; }\n.entry b() {\n.maxntid 3;\n}";
        assert_eq!(parse(text).expect_err("a directive of the head").line(), Some(5));
        let text = ".version 9.0\n.target sm_90a\n.entry a() { unknown; }\n\
                    .entry b() .maxntid 96, 2 .explicitcluster .reqnctapercluster 2, 1, 1 { }";
        let module = parse(text).expect("well-formed");
        let program = Program::compile(&module, "b").expect("b is right");
        assert_eq!(program.max_threads, Some([96, 2, 1]));
        assert_eq!((program.explicit_cluster, program.required_cluster), (true, Some([2, 1, 1])));
        let error = Program::compile(&module, "c").expect_err("there is none");
        assert_eq!(error.to_string(), "the module has no kernel `c`; it has a, b");
    }

    #[test]
    fn a_constant_has_the_bits_of_its_type() {
        let constant = |text| match instruction(text)?.op {
            Op::Alu(AluOp::Mov { a: crate::ir::Src::Imm(bits), .. }) => Ok(bits),
            _ => Err(Fault::Undeclared("a constant".into())),
        };
        assert_eq!(constant("mov.u32 %r1, -1;"), Ok(0xffff_ffff));
        assert_eq!(constant("mov.u32 %r1, 4294967295;"), Ok(0xffff_ffff));
        assert_eq!(constant("mov.u16 %h1, -2;"), Ok(0xfffe));
        assert_eq!(constant("mov.b64 %d1, -1;"), Ok(u64::MAX));
        assert_eq!(constant("mov.f32 %r1, 0fBF800000;"), Ok(0xbf80_0000));
        assert_eq!(constant("mov.f64 %d1, 0d3FF0000000000000;"), Ok(0x3ff0_0000_0000_0000));
        assert_eq!(constant("mov.u32 %r1, tile+4;"), Ok(4));
        assert_eq!(constant("mov.b64 %d1, param;"), Ok(8));
        let too_large = Fault::Constant { opcode: "mov.u32".into(), number: 2, value: 1 << 32, bits: 32 };
        assert_eq!(constant("mov.u32 %r1, 4294967296;"), Err(too_large));
        for wrong in ["mov.f32 %r1, 1;", "mov.f32 %r1, tile;", "mov.u32 %r1, 0d3FF0000000000000;"] {
            assert!(matches!(constant(wrong), Err(Fault::Operand { number: 2, .. })), "{wrong}");
        }
    }

    #[test]
    fn operands_are_counted_and_checked() {
        let fault = |text| instruction(text).expect_err(text).to_string();
        assert_eq!(fault("add.s32 %r1, %r2;"), "`add.s32` has 2 operands, which are too few");
        assert_eq!(fault("add.s32 %r1, %r2, 1, 2;"), "`add.s32` has 4 operands, which are too many");
        assert_eq!(
            fault("add.s32 %r1, %d2, 1;"),
            "operand 2 of `add.s32` must be a register of 32 bits or a constant"
        );
        assert_eq!(fault("add.s32 1, %r2, 1;"), "operand 1 of `add.s32` must be a register of 32 bits");
        assert_eq!(fault("add.s32 %r1, %q2, 1;"), "`%q2` is not declared here");
        assert_eq!(fault("add.f64 %d1, %d2, %d3;"), "instruction `add.f64` is not known to the emulator");
        assert_eq!(fault("call.uni f;"), "instruction `call.uni` is not known to the emulator");
        assert_eq!(fault("bra elsewhere;"), "`elsewhere` is not declared here");
        assert_eq!(fault("bra.uni L, L;"), "`bra.uni` has 2 operands, which are too many");
    }
}
