//! `cargo xtask run`: the main job, with what it needs built before.

use std::process::ExitCode;

use crate::devices;
use crate::error::Result;
use crate::process::pass_through;
use crate::workspace::Workspace;

/// Builds the kernels that this machine can use, fetching the compiler if none is there, and runs
/// the main job: attention on a file of Q, K and V, or without arguments on the project's own real
/// data, the result checked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to the job; `-- --help` lists what it takes.
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    devices::prepare(workspace)?;
    let mut command = workspace.example("attention")?;
    command.arg("--");
    if arguments.arguments.is_empty() {
        command.arg("--check");
    }
    command.args(&arguments.arguments);
    pass_through(command)
}
