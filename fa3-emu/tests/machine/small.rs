//! Small kernels and their launches.

use fa3_emu::ir::Program;
use fa3_emu::{Checks, FaultKind, Launch, Memory, Options, Report, RunError, ptx, run};

/// A kernel `test` with one parameter, an address in `%rd0`; `%r0` is the thread's number and `%rd1`
/// the address of its word.
pub fn program(shared: &str, directives: &str, body: &str) -> Program {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n{shared}\n\
         .visible .entry test(.param .u64 out) {directives}\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd0, [out];\n\
         mov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %rd1, %r0, 4;\n\
         add.s64 %rd1, %rd0, %rd1;\n\
         {body}\n}}\n"
    );
    Program::compile(&ptx::parse(&text).unwrap(), "test").unwrap()
}

/// The kernels here show one thing each, and leave out the fences and waits that the checks of races ask
/// for.
pub fn options() -> Options {
    Options { checks: Checks { exit: true, ..Checks::NONE }, ..Options::default() }
}

/// Runs on a fresh output of `words` words; what they are then.
pub fn output(program: &Program, launch: &Launch, words: usize) -> Result<(Vec<u32>, Report), RunError> {
    output_with(program, launch, words, &options())
}

pub fn output_with(
    program: &Program,
    launch: &Launch,
    words: usize,
    options: &Options,
) -> Result<(Vec<u32>, Report), RunError> {
    let mut memory = Memory::new();
    let out = memory.allocate(&vec![0; 4 * words]).unwrap();
    let report = run(program, launch, &[&out.to_le_bytes()], &mut memory, options)?;
    let bytes = memory.read(out, 4 * words).unwrap().chunks_exact(4);
    Ok((bytes.map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect(), report))
}

pub fn fault(program: &Program, launch: &Launch, words: usize) -> (FaultKind, String) {
    match output(program, launch, words).unwrap_err() {
        error @ RunError::Fault { .. } => {
            let text = error.to_string();
            let RunError::Fault { kind, .. } = error else { unreachable!() };
            (kind, text)
        }
        other => panic!("{other}"),
    }
}

pub const WARP: Launch = Launch::new([1, 1, 1], [32, 1, 1]);
