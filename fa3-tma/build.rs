//! Exports the folder of device headers to dependants' build scripts, and embeds the crate's own
//! kernels.

#[cfg(feature = "kernels")]
#[path = "table.rs"]
mod table;

#[cfg(feature = "kernels")]
use fa3_sys::{
    Arch,
    artefact::{Unit, embed, source_roots},
};

#[cfg(not(feature = "kernels"))]
fn main() {
    export();
}

#[cfg(feature = "kernels")]
#[expect(clippy::print_stderr, reason = "build scripts say on standard error why they fail")]
fn main() -> std::process::ExitCode {
    let root = export();
    println!("cargo::rerun-if-changed=table.rs");
    match embed(&root, &source_roots(&root, &[]), &table::units()) {
        Ok(_) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

/// `DEP_FA3_TMA_INCLUDE` for build scripts of crates that depend on this one. Returns this crate's
/// folder.
fn export() -> std::path::PathBuf {
    let root = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::metadata=include={}", root.join("include").display());
    println!("cargo::rerun-if-changed=build.rs");
    // Dependants compile the headers: their build scripts run again when this one does.
    println!("cargo::rerun-if-changed=include");
    root
}
