//! The project's own commands: `cargo xtask COMMAND`.

mod bench;
mod capi;
mod compile;
mod cubins;
mod devices;
mod doctor;
mod error;
mod package;
mod parameters;
mod process;
mod ptxas;
mod run;
mod sass;
mod sweep;
mod tables;
mod tally;
mod test;
mod test_gpu;
mod toolkit;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "The project's own commands", arg_required_else_help = true)]
enum Command {
    Run(run::Arguments),
    Cubins(cubins::Arguments),
    Test(test::Arguments),
    TestGpu(test_gpu::Arguments),
    Bench(bench::Arguments),
    Sweep(sweep::Arguments),
    Capi(capi::Arguments),
    Package(package::Arguments),
    /// Says what is there, what is missing, and what to do.
    Doctor,
}

fn start(command: Command) -> error::Result<ExitCode> {
    let workspace = workspace::Workspace::load()?;
    let done = |()| ExitCode::SUCCESS;
    match command {
        Command::Run(arguments) => run::main(&workspace, &arguments),
        Command::Cubins(arguments) => cubins::main(&workspace, &arguments).map(drop).map(done),
        Command::Test(arguments) => test::main(&workspace, &arguments),
        Command::TestGpu(arguments) => test_gpu::main(&workspace, &arguments),
        Command::Bench(arguments) => bench::main(&workspace, &arguments),
        Command::Sweep(arguments) => sweep::main(&workspace, &arguments),
        Command::Capi(arguments) => capi::main(&workspace, &arguments).map(done),
        Command::Package(arguments) => package::main(&workspace, &arguments),
        Command::Doctor => doctor::main(&workspace).map(done),
    }
}

fn main() -> ExitCode {
    match start(Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
