//! Embeds the artefacts of the kernel table that were built from today's sources.

use std::path::{Path, PathBuf};
use std::{env, io};

use fa3_sys::Arch;
use fa3_sys::artefact::{Unit, embed};

#[path = "table.rs"]
#[allow(dead_code)]
mod table;

fn main() -> io::Result<()> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let root = folder("CARGO_MANIFEST_DIR")?;
    let headers = folder("DEP_FA3_TMA_INCLUDE")?;
    let sources: [&Path; 2] = [&root.join("kernels"), &headers];
    embed(&root, &sources, &table::units())
}
