//! The kernels of the workspace, as nvcc compiled them.

use fa3_emu::ir::{MmaOp, Op, Program};
use fa3_emu::ptx;
use fa3_sys::Arch;
use fa3_sys::artefact::KernelEntry;

fn entries() -> impl Iterator<Item = &'static KernelEntry> {
    let all = fa3_kernels::entries().iter().chain(fa3_tma::kernels::ENTRIES);
    all.filter(|entry| entry.arch == Arch::Sm90a)
}

fn compile(entry: &KernelEntry) -> Result<Program, String> {
    let text = fa3_kernels::ptx(entry.symbol, entry.arch)
        .or_else(|_| fa3_tma::kernels::ptx(entry.symbol, entry.arch))
        .map_err(|missing| missing.to_string())?;
    let program = ptx::parse(text).and_then(|module| Program::compile(&module, entry.symbol));
    program.map_err(|error| format!("{}: {error}", entry.symbol))
}

#[test]
fn every_kernel_compiles() {
    assert!(fa3_kernels::entries().iter().any(|entry| entry.arch == Arch::Sm90a), "{BUILD}");
    assert!(fa3_tma::kernels::ENTRIES.iter().any(|entry| entry.arch == Arch::Sm90a), "{BUILD}");
    for entry in entries() {
        let program = compile(entry).expect("compiles");
        assert_eq!(program.entry, entry.symbol);
        assert_eq!(program.lines.len(), program.instructions.len(), "{}", entry.symbol);
        let count = u32::try_from(program.instructions.len()).expect("fits");
        for instruction in &program.instructions {
            if let Op::Branch { target, .. } = instruction.op {
                assert!(target < count, "{}: branch to {target} of {count}", entry.symbol);
            }
        }
    }
}

const BUILD: &str = "no kernel is embedded; build them with `cargo xtask cubins`";

/// What the assembler says of a kernel, and what its source says, is what the program says.
#[test]
fn a_forward_kernel_is_as_its_source_says() {
    for kernel in fa3_kernels::forward_kernels() {
        let symbol = kernel.symbol();
        let entry =
            entries().find(|entry| entry.symbol == symbol).unwrap_or_else(|| panic!("{symbol}: {BUILD}"));
        let program = compile(entry).expect("compiles");
        assert_eq!(program.max_threads, Some([kernel.threads(), 1, 1]), "{symbol}");
        assert_eq!(program.shared.static_bytes, entry.resources.static_shared_bytes, "{symbol}");
        assert_eq!(program.shared.dynamic_offset, Some(0), "{symbol}");
        let sizes: Vec<u32> = program.params.iter().map(|param| param.size).collect();
        let params = u32::try_from(size_of::<fa3_kernels::ForwardParams>()).expect("fits");
        assert_eq!(sizes, [128, 128, 128, 128, params], "{symbol}");
        let shapes: Vec<u32> = program
            .instructions
            .iter()
            .filter_map(|instruction| match &instruction.op {
                Op::Mma(MmaOp::Wgmma(wgmma)) => Some(wgmma.n),
                _ => None,
            })
            .collect();
        assert!(
            shapes.contains(&kernel.tile_n) && shapes.contains(&kernel.value_dim),
            "{symbol}: {shapes:?}"
        );
        let located = program.lines.iter().filter(|line| line.source.is_some()).count();
        assert!(located * 10 > program.lines.len() * 9, "{symbol}: {located} lines have a source");
        assert!(program.files.iter().any(|file| file.ends_with("forward.cu")), "{symbol}");
    }
}
