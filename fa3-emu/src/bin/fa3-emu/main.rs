//! The `fa3-emu` command: runs kernels of PTX files without a GPU.

mod argument;
mod buffer;
mod element;
mod error;
mod list;
mod run;
mod summary;
mod tensor_map;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use error::{At, Error, Result};

/// Runs kernels of PTX files for Hopper GPUs, without a GPU.
#[derive(Parser)]
#[command(name = "fa3-emu", version, arg_required_else_help = true)]
enum Command {
    Run(Box<run::Arguments>),
    List(list::Arguments),
}

/// A file's text.
fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).at(path)
}

fn main() -> ExitCode {
    let text = match Command::parse() {
        Command::Run(arguments) => run::main(&arguments),
        Command::List(arguments) => list::main(&arguments),
    };
    let outcome = text.and_then(|text| match io::stdout().lock().write_all(text.as_bytes()) {
        // Who closes a pipe has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nobody listens, the exit code is all there is to say.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(error.code())
        }
    }
}
