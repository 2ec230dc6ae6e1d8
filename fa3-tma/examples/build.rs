//! Embeds the artefacts of the examples' kernels that were built from today's sources.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, error, io};

use fa3_sys::Arch;
use fa3_sys::artefact::{Unit, embed, source_roots};

#[path = "table.rs"]
#[allow(dead_code, reason = "the crate uses the rest of the table")]
mod table;

#[expect(clippy::print_stderr, reason = "build scripts say on standard error why they fail")]
fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn error::Error>> {
    println!("cargo::rerun-if-changed=table.rs");
    let folder = |name: &str| {
        env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("{name} is not set")))
    };
    let root = folder("CARGO_MANIFEST_DIR")?;
    let roots = source_roots(&root, &[folder("DEP_FA3_TMA_INCLUDE")?]);
    embed(&root, &roots, &table::units())?;
    Ok(())
}
