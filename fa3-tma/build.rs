//! Exports the folder of device headers to dependants' build scripts, and embeds the crate's own
//! kernels.

#[cfg(feature = "kernels")]
#[path = "table.rs"]
mod table;

#[cfg(feature = "kernels")]
use fa3_sys::{
    Arch,
    artefact::{Unit, build_script},
};

#[cfg(not(feature = "kernels"))]
fn main() {
    export();
}

#[cfg(feature = "kernels")]
fn main() -> std::process::ExitCode {
    export();
    build_script(&table::units(), &[])
}

/// `DEP_FA3_TMA_INCLUDE` for build scripts of crates that depend on this one.
fn export() {
    let root = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::metadata=include={}", root.join("include").display());
    println!("cargo::rerun-if-changed=build.rs");
    // Dependants compile the headers: their build scripts run again when this one does.
    println!("cargo::rerun-if-changed=include");
}
