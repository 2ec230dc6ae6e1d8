//! The suites that cargo runs.

use std::process::Command;

use crate::error::Result;
use crate::process::{follow, line, output};
use crate::tally::Tally;
use crate::toolkit;
use crate::workspace::Workspace;

/// A command that passes or fails as a whole.
pub(crate) fn command(command: Command) -> Result<Tally> {
    println!("$ {}", line(&command));
    let (success, _) = follow(command, |line| println!("{line}"))?;
    Ok(Tally::of(success))
}

/// `cargo fmt` and, on device code and C, clang-format: nothing to change.
pub(crate) fn format(workspace: &Workspace) -> Result<Tally> {
    let mut tally = command(workspace.cargo(["fmt", "--all", "--check"]))?;
    let mut list = Command::new("git");
    list.current_dir(&workspace.root).args(["ls-files", "*.cu", "*.cuh", "*.c", "*.h"]);
    let sources = output(list)?;
    let mut format = Command::new(toolkit::clang_format(workspace)?);
    format.current_dir(&workspace.root).args(["--dry-run", "-Werror"]).args(sources.lines());
    tally += command(format)?;
    Ok(tally)
}

/// A command that runs test programs. Of passing tests only the counts are shown.
pub(crate) fn test_command(command: Command) -> Result<Tally> {
    println!("$ {}", line(&command));
    let show = |line: &str| {
        let passing = line.starts_with("test ") && (line.ends_with(" ok") || line.ends_with(" ignored"));
        if !passing && !line.trim().is_empty() {
            println!("{line}");
        }
    };
    let (success, output) = follow(command, show)?;
    Ok(Tally::of_tests(success, &output))
}

pub(crate) fn clippy(workspace: &Workspace) -> Result<Tally> {
    command(workspace.cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]))
}

/// Unit, integration and documentation tests, with the default features, the emulator, the shared cases,
/// the C API and the launches of fa3-tma's examples.
pub(crate) fn tests(workspace: &Workspace) -> Result<Tally> {
    test_command(workspace.cargo([
        "test",
        "--workspace",
        "--no-fail-fast",
        "--features",
        "fa3/testing,fa3/emu,fa3/capi,fa3-tma-examples/driver",
    ]))
}

pub(crate) fn docs(workspace: &Workspace) -> Result<Tally> {
    let mut document = workspace.cargo([
        "doc",
        "--workspace",
        "--no-deps",
        "--exclude",
        "xtask",
        "--features",
        "fa3/emu,fa3-tma-examples/driver",
    ]);
    document.env("RUSTDOCFLAGS", "-D warnings");
    command(document)
}
