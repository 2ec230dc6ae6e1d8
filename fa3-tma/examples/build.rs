//! Embeds the artefacts of the examples' kernels that were built from today's sources.

use std::process::ExitCode;

use fa3_sys::Arch;
use fa3_sys::artefact::{Unit, build_script};

#[path = "table.rs"]
#[allow(dead_code, reason = "the crate uses the rest of the table")]
mod table;

fn main() -> ExitCode {
    build_script(&table::units(), &["DEP_FA3_TMA_INCLUDE"])
}
