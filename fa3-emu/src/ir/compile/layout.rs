//! Where parameters and shared variables lie.

use std::collections::HashSet;

use super::super::program::{Param, Shared, Symbol};
use crate::ptx::{Fault, Instruction, Kernel, Module, Operand, PtxError, Statement, Variable};

/// The most bytes of parameters. PTX ISA, "Kernel Function Parameters".
const MAX_PARAM_BYTES: u32 = 32_764;

/// Parameters lie one after the other, each at the next multiple of its alignment. CUDA driver
/// API, `cuLaunchKernel`, "extra".
pub(super) fn params(kernel: &Kernel<'_>) -> Result<(Vec<Param>, u32), PtxError> {
    let mut end = 0_u32;
    let mut params = Vec::with_capacity(kernel.params.len());
    for written in &kernel.params {
        let offset = place(&mut end, written.size, written.align, MAX_PARAM_BYTES);
        let too_large = || Fault::TooLarge { what: "the parameter block", limit: MAX_PARAM_BYTES };
        let offset = offset.ok_or_else(|| too_large().at(written.line))?;
        params.push(Param {
            name: written.name.to_owned(),
            offset,
            size: written.size,
            align: written.align,
        });
    }
    Ok((params, end))
}

/// Static variables that the kernel refers to lie one after the other, then dynamic memory.
pub(super) fn shared(module: &Module<'_>, kernel: &Kernel<'_>) -> Result<Shared, PtxError> {
    let within = kernel.body.iter().filter_map(|statement| match statement {
        Statement::Shared(variable) => Some(variable),
        _ => None,
    });
    let used = referred_to(&kernel.body);
    let variables: Vec<&Variable<'_>> =
        module.shared.iter().chain(within).filter(|variable| used.contains(variable.name)).collect();
    let mut names = HashSet::new();
    for variable in &variables {
        if !names.insert(variable.name) {
            return Err(Fault::Redeclared(variable.name.to_owned()).at(variable.line));
        }
    }
    let limit = module.arch.max_shared_bytes();
    let too_large = |line| Fault::TooLarge { what: "static shared memory", limit }.at(line);
    let symbol = |variable: &Variable<'_>, offset| Symbol {
        name: variable.name.to_owned(),
        offset,
        size: variable.size,
        align: variable.align,
    };
    let mut shared = Shared::default();
    for variable in variables.iter().filter(|variable| !variable.external) {
        let offset = place(&mut shared.static_bytes, variable.size, variable.align, limit);
        let offset = offset.ok_or_else(|| too_large(variable.line))?;
        shared.symbols.push(symbol(variable, offset));
    }
    // All external variables are names of the same memory.
    let external: Vec<_> = variables.iter().filter(|variable| variable.external).collect();
    if let Some(most_aligned) = external.iter().max_by_key(|variable| variable.align) {
        let offset = shared.static_bytes.checked_next_multiple_of(most_aligned.align);
        let offset = offset.filter(|offset| *offset <= limit).ok_or_else(|| too_large(most_aligned.line))?;
        shared.dynamic_offset = Some(offset);
        shared.symbols.extend(external.iter().map(|variable| symbol(variable, offset)));
    }
    Ok(shared)
}

/// The offset of the next object, and `end` behind it.
fn place(end: &mut u32, size: u32, align: u32, limit: u32) -> Option<u32> {
    let offset = end.checked_next_multiple_of(align)?;
    *end = offset.checked_add(size).filter(|end| *end <= limit)?;
    Some(offset)
}

/// All names in operands.
fn referred_to<'a>(body: &'a [Statement<'a>]) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for statement in body {
        if let Statement::Instruction(Instruction { operands, .. }) = statement {
            for operand in operands {
                match operand {
                    Operand::Name(name)
                    | Operand::Sum(name, _)
                    | Operand::Address { base: Some(name), .. } => {
                        names.insert(*name);
                    }
                    _ => {}
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Program;
    use crate::ptx::parse;

    fn program(head: &str, params: &str, body: &str) -> Result<Program, PtxError> {
        let text = format!(".version 9.0\n.target sm_90a\n{head}\n.entry k({params}) {{\n{body}\n}}");
        Program::compile(&parse(&text)?, "k")
    }

    #[test]
    fn parameters_are_aligned() {
        let program = program("", ".param .u32 a, .param .align 64 .b8 b[128], .param .u64 c", "");
        let program = program.expect("compiles");
        let offsets: Vec<_> = program.params.iter().map(|param| (param.offset, param.size)).collect();
        assert_eq!(offsets, [(0, 4), (64, 128), (192, 8)]);
        assert_eq!(program.param_bytes, 200);
    }

    #[test]
    fn dynamic_memory_lies_behind_the_static_variables_in_use() {
        let head = ".extern .shared .align 1024 .b8 dynamic[];\n.shared .align 4 .b8 unused[64];\n\
                    .shared .align 4 .b8 a[6];\n.shared .b64 b[2];";
        let body = ".reg .b32 %r<4>;\nmov.u32 %r0, a;\nmov.u32 %r1, b+8;\nld.shared.u32 %r2, [dynamic+4];";
        let shared = program(head, "", body).expect("compiles").shared;
        let places: Vec<_> =
            shared.symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.offset)).collect();
        assert_eq!(places, [("a", 0), ("b", 8), ("dynamic", 1024)]);
        assert_eq!((shared.static_bytes, shared.dynamic_offset), (24, Some(1024)));
    }

    #[test]
    fn what_the_device_has_not_is_refused() {
        let error = program("", ".param .b8 a[32764],\n.param .b8 b[1]", "").expect_err("32765 bytes");
        assert_eq!(error, Fault::TooLarge { what: "the parameter block", limit: 32_764 }.at(5));
        let head = ".shared .b8 a[232449];";
        let error = program(head, "", ".reg .b32 r;\nmov.u32 r, a;").expect_err("227 KiB and a byte");
        assert_eq!(error, Fault::TooLarge { what: "static shared memory", limit: 232_448 }.at(3));
    }
}
