//! `cargo xtask test-gpu`: the tests that need a GPU, here or packed for a machine with one.

pub(crate) mod bundle;
pub(crate) mod programs;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::error::Result;
use crate::process::{follow, line};
use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{cubins, devices, toolkit};

/// Runs every test that needs a GPU; fails where there is none. The last line is
/// `N passed, N failed`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run nothing; pack the test programs, the benches, the example, the programs that time kernels, the
    /// scripts that compare with others, and a `run` script into this folder, for a GPU machine without Rust.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Run under compute-sanitizer's memcheck (with --bundle: pack compute-sanitizer too).
    #[arg(long)]
    sanitize: bool,
    /// Only tests whose name contains this.
    #[arg(conflicts_with = "bundle")]
    filter: Option<String>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    if let Some(folder) = &arguments.bundle {
        cubins::build(workspace, &cubins::Arguments::default())?;
        bundle::pack(workspace, folder, arguments.sanitize)?;
        return Ok(ExitCode::SUCCESS);
    }
    devices::require(workspace)?;
    let checker = if arguments.sanitize { Some(toolkit::sanitizer(workspace)?) } else { None };
    let mut total = Tally::default();
    for program in programs::tests(workspace)? {
        let mut command = match &checker {
            None => Command::new(&program.path),
            Some(checker) => {
                let mut command = Command::new(checker);
                command.args(bundle::MEMCHECK).arg(&program.path).env("FA3_SERIALISED", "1");
                command
            }
        };
        command.args(&arguments.filter).current_dir(&program.folder);
        println!("\n==== {}\n$ {}", program.name, line(&command));
        let (success, output) = follow(command, |line| println!("{line}"))?;
        total += Tally::of_tests(success, &output);
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(if total.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
