//! `cargo xtask run`: the main job, with what it needs built before.

use crate::devices;
use crate::error::Result;
use crate::process::pass_through;
use crate::workspace::Workspace;

/// Builds the kernels that this machine can use, fetching the compiler if none is there, and runs
/// the main job: attention on a file of Q, K and V.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to the job; `-- --help` lists what it takes.
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    devices::prepare(workspace)?;
    let mut command = workspace.example("attention")?;
    command.arg("--").args(&arguments.arguments);
    pass_through(command)
}
