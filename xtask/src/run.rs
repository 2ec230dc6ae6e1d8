//! `cargo xtask run`: the main job, with what it needs built before.

use std::process::ExitCode;

use fa3_sys::Arch;

use crate::cubins;
use crate::devices;
use crate::error::Result;
use crate::process::pass_through;
use crate::workspace::Workspace;

/// Builds the kernels that this machine (or the device to emulate) can use, fetching the compiler if
/// none is there, and runs
/// the main job: attention on a file of Q, K and V, or without arguments on the project's own real
/// data, the result checked.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Passed on to the job; `-- --help` lists what it takes.
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    match emulated(&arguments.arguments) {
        Some(arch) => {
            cubins::build(workspace, &cubins::Arguments { arch: Some(arch), ..Default::default() })?;
        }
        None => devices::prepare(workspace)?,
    }
    let mut command = workspace.example("fa3", "attention")?;
    command.arg("--");
    if arguments.arguments.is_empty() {
        command.arg("--check");
    }
    command.args(&arguments.arguments);
    pass_through(command)
}

/// The architecture of the emulated device among the job's arguments, if it is one that kernels exist
/// for; the job says so if not.
fn emulated(arguments: &[String]) -> Option<Arch> {
    let name = |argument: &String| argument.rsplit('=').next()?.strip_prefix("emu:")?.parse().ok();
    arguments.iter().find_map(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulated_device_is_found_among_the_arguments() {
        let found =
            |arguments: &[&str]| emulated(&arguments.iter().map(|&a| a.to_owned()).collect::<Vec<_>>());
        assert_eq!(found(&["--causal", "--device", "emu:sm_90a"]), Some(Arch::Sm90a));
        assert_eq!(found(&["--device=emu:sm_90a", "--check"]), Some(Arch::Sm90a));
        assert_eq!(found(&["--device", "emu:sm_89"]), None);
        assert_eq!(found(&["--device", "cpu"]), None);
    }
}
