//! The check that host and device agree on the layout of parameter blocks: a header of static
//! assertions, written from the Rust structures.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use fa3_sys::BlockLayout;

use crate::error::{At, Error, Result};
use crate::process;
use crate::tables::KernelCrate;
use crate::toolkit::Toolkit;
use crate::workspace::Workspace;

/// The folder to include from for the generated headers of one crate.
pub(crate) fn include_folder(workspace: &Workspace, package: &str) -> PathBuf {
    workspace.target.join("fa3-generated").join(package)
}

/// Writes `fa3/params_check.cuh` for the crate and, when it has parameter blocks, compiles its
/// `kernels/params.cuh` against it.
pub(crate) fn check(workspace: &Workspace, toolkit: &Toolkit, owner: &KernelCrate) -> Result<()> {
    let folder = include_folder(workspace, owner.folder).join("fa3");
    fs::create_dir_all(&folder).at(&folder)?;
    let header = folder.join("params_check.cuh");
    fs::write(&header, text(owner.blocks)).at(&header)?;
    if owner.blocks.is_empty() {
        return Ok(());
    }
    let source = folder.join("params_check.cu");
    let root = workspace.root.join(owner.folder);
    let definition = root.join("kernels/params.cuh");
    fs::write(&source, format!("#include \"{}\"\n", definition.display())).at(&source)?;
    let mut command = Command::new(&toolkit.nvcc);
    command.args(crate::compile::LANGUAGE).args(["-ptx", "-gencode=arch=compute_90a,code=compute_90a"]);
    command.args(crate::compile::include_flags(workspace, owner.folder));
    command.arg("-o").arg(folder.join("params_check.ptx")).arg(&source);
    let finished = process::measure(command)?;
    if finished.status.success() {
        return Ok(());
    }
    Err(Error::Parameters { package: owner.folder.to_owned(), output: finished.output })
}

/// The header's text. The structures live in namespace `fa3` under the names they have in Rust.
fn text(blocks: &[BlockLayout]) -> String {
    let mut text =
        String::from("// Written by `cargo xtask cubins` from the Rust structures.\n#pragma once\n");
    for BlockLayout { name, size, fields } in blocks {
        writeln!(text, "static_assert(sizeof(fa3::{name}) == {size}, \"size of {name}\");").ok();
        for (field, offset, bytes) in *fields {
            writeln!(
                text,
                "static_assert(__builtin_offsetof(fa3::{name}, {field}) == {offset}, \"offset of {name}::{field}\");\n\
                 static_assert(sizeof(fa3::{name}::{field}) == {bytes}, \"size of {name}::{field}\");"
            )
            .ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles the assertions against a structure with g++, which knows the same offsets.
    fn agrees(block: BlockLayout, structure: &str) -> bool {
        let folder = std::env::temp_dir().join(format!(
            "xtask-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        fs::create_dir_all(&folder).unwrap();
        let source = folder.join("check.cpp");
        fs::write(&source, format!("namespace fa3 {{ {structure} }}\n{}", text(&[block]))).unwrap();
        let mut command = Command::new("g++");
        command.args(["-std=c++17", "-fsyntax-only", "-w"]).arg(&source);
        let success = process::measure(command).unwrap().status.success();
        fs::remove_dir_all(folder).unwrap();
        success
    }

    #[test]
    fn a_difference_in_size_offset_or_name_is_refused() {
        let block = BlockLayout { name: "P", size: 16, fields: &[("a", 0, 8), ("b", 8, 4), ("c", 12, 4)] };
        assert!(agrees(block, "struct P { long a; int b; float c; };"));
        assert!(!agrees(block, "struct P { long a; int c; float b; };"));
        assert!(!agrees(block, "struct P { long a; int b; float c; int d; };"));
        assert!(!agrees(block, "struct P { int a; int b; float c; };"));
        assert!(!agrees(block, "struct P { long a; int b; float renamed; };"));
    }
}
