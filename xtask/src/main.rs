//! The project's own commands: `cargo xtask COMMAND`.

#![allow(dead_code, reason = "the commands to come")]

mod compile;
mod cubins;
mod error;
mod parameters;
mod process;
mod ptxas;
mod sass;
mod tables;
mod toolkit;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(
    bin_name = "cargo xtask",
    about = "The project's own commands",
    arg_required_else_help = true
)]
enum Command {
    Cubins(cubins::Arguments),
}

fn run(command: Command) -> error::Result<()> {
    let workspace = workspace::Workspace::load()?;
    match command {
        Command::Cubins(arguments) => cubins::main(&workspace, &arguments).map(drop),
    }
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
