//! The suites that cargo runs.

use std::process::Command;

use crate::error::Result;
use crate::process::{follow, line};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// A command that passes or fails as a whole.
pub(crate) fn command(command: Command) -> Result<Tally> {
    println!("$ {}", line(&command));
    let (success, _) = follow(command, |line| println!("{line}"))?;
    Ok(Tally::of(success))
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

/// Unit, integration and documentation tests, with the default features and the shared cases.
pub(crate) fn tests(workspace: &Workspace) -> Result<Tally> {
    test_command(workspace.cargo(["test", "--workspace", "--no-fail-fast", "--features", "fa3/testing"]))
}

pub(crate) fn docs(workspace: &Workspace) -> Result<Tally> {
    let mut document = workspace.cargo(["doc", "--workspace", "--no-deps", "--exclude", "xtask"]);
    document.env("RUSTDOCFLAGS", "-D warnings");
    command(document)
}
