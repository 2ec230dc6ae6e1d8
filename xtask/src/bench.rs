//! `cargo xtask bench`: the benches, and the timing server.

use std::process::ExitCode;

use crate::devices;
use crate::error::Result;
use crate::process::pass_through;
use crate::workspace::Workspace;

/// Runs the criterion benches; with --serve, the timing server, which reads one JSON request a
/// line from standard input and answers each on standard output.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run the server instead.
    #[arg(long)]
    serve: bool,
    /// Passed on to the benches or the server.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    devices::prepare(workspace)?;
    let mut command = if arguments.serve {
        workspace.example("serve")?
    } else {
        let mut command = workspace.cargo(["bench", "--package", "fa3"]);
        let benches = workspace.package("fa3")?.targets_of("bench");
        let features: Vec<&str> =
            benches.flat_map(|bench| bench.required_features.iter().map(String::as_str)).collect();
        command.arg(format!("--features={}", features.join(",")));
        command.args(["--benches"]);
        command
    };
    command.arg("--").args(&arguments.arguments);
    pass_through(command)
}
