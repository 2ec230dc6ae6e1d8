//! The C library as `cargo xtask capi` leaves it: the README's program, built with the flags of the
//! pkg-config file, in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::suites::command;
use crate::capi::{self, Build};
use crate::error::{At, Error, Result};
use crate::tally::Tally;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<Tally> {
    let folder = std::env::temp_dir().join(format!("fa3-capi-{}", std::process::id()));
    let [_, _, description] = capi::write(workspace, &folder, Build::QUICK)?;
    let readme = workspace.root.join("README.md");
    let program = fs::read_to_string(&readme).at(&readme)?;
    let program = program.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```"));
    let (program, _) = program.ok_or_else(|| Error::Refusal("the README has no program in C".to_owned()))?;
    let source = folder.join("program.c");
    fs::write(&source, program).at(&source)?;
    let mut compiler = Command::new("cc");
    compiler.current_dir(&folder).args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "program.c",
        "-o",
        "program",
    ]);
    compiler.args(flags(&fs::read_to_string(&description).at(&description)?, &folder));
    let mut tally = command(compiler)?;
    // The loader knows it by its name alone, not by where it was linked.
    let mut program = Command::new(folder.join("program"));
    program.env("LD_LIBRARY_PATH", &folder);
    tally += command(program)?;
    fs::remove_dir_all(&folder).at(&folder)?;
    Ok(tally)
}

/// What pkg-config answers to `--cflags --libs` for a file that lies in `folder`.
fn flags(description: &str, folder: &Path) -> Vec<String> {
    let flags = ["Cflags: ", "Libs: "].map(|key| description.lines().find_map(|line| line.strip_prefix(key)));
    let flags = flags.into_iter().flatten().flat_map(str::split_whitespace);
    flags.map(|flag| flag.replace("${prefix}", &folder.to_string_lossy())).collect()
}
