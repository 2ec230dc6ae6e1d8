//! Building programs and finding where cargo put them.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::process::stdout;
use crate::workspace::{Package, Workspace};

/// The feature behind which a package keeps its GPU tests.
const FEATURE: &str = "gpu-tests";

/// A program that was built.
pub(crate) struct Program {
    /// Package and target: `fa3-forward`.
    pub(super) name: String,
    pub(crate) path: PathBuf,
    /// Where cargo would run it.
    pub(super) folder: PathBuf,
}

/// The test programs that need a GPU, of every package, optimised.
pub(super) fn tests(workspace: &Workspace) -> Result<Vec<Program>> {
    gpu_targets(workspace, "test")
}

/// The benches that need a GPU, of every package.
pub(super) fn benches(workspace: &Workspace) -> Result<Vec<Program>> {
    gpu_targets(workspace, "bench")
}

/// The targets of a kind that are behind the feature.
fn gpu_targets(workspace: &Workspace, kind: &'static str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for package in &workspace.packages {
        let needs_gpu = package
            .targets_of(kind)
            .filter(|target| target.required_features.iter().any(|found| found == FEATURE));
        let names: Vec<&str> = needs_gpu.map(|target| target.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let mut command = workspace.cargo([
            kind,
            "--profile=release",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ]);
        command.args(["--package", &package.name, "--features", FEATURE]);
        command.args(names.iter().map(|name| format!("--{kind}={name}")));
        programs.extend(build(package, command)?);
    }
    if programs.is_empty() {
        return Err(Error::Refusal(format!(
            "no package has a {kind} target with required-features = [\"{FEATURE}\"]"
        )));
    }
    Ok(programs)
}

/// An example, optimised.
pub(crate) fn example(workspace: &Workspace, package: &str, name: &str) -> Result<Program> {
    let mut command = workspace.example_command("build", package, name)?;
    command.arg("--message-format=json-render-diagnostics");
    let mut programs = build(workspace.package(package)?, command)?;
    programs
        .pop()
        .ok_or_else(|| Error::Answer { program: "cargo build".into(), why: format!("it built no {name}") })
}

fn build(package: &Package, command: Command) -> Result<Vec<Program>> {
    eprintln!("building for {} ...", package.name);
    Ok(executables(&stdout(command)?)
        .into_iter()
        .map(|(target, path)| Program {
            name: format!("{}-{target}", package.name),
            path,
            folder: package.root().to_path_buf(),
        })
        .collect())
}

/// The names and paths of the executables in cargo's JSON messages.
fn executables(messages: &str) -> Vec<(String, PathBuf)> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
        target: Option<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages.filter_map(|message| Some((message.target?.name, message.executable?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_found_among_other_messages() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"fa3","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"forward","kind":["test"]},"executable":"/t/forward-1"}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(executables(messages), [("forward".to_owned(), PathBuf::from("/t/forward-1"))]);
    }
}
