//! The build script of a crate that owns kernels.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{EmbedError, Embedded, Unit, embed, source_roots};

/// The whole build script of a crate whose kernels are listed in `table.rs` at its root: [embeds](embed())
/// those of `units` that were built from today's sources, and runs again when the table changes.
///
/// `includes` are environment variables that name the folders of headers from other crates: cargo sets
/// `DEP_FA3_TMA_INCLUDE` for a crate that depends on `fa3-tma`. Says on standard error why it fails, when
/// one of them is not set or [`embed`](embed()) fails; the exit code is then 1.
///
/// ```no_run
/// use fa3_sys::{Arch, artefact::{Unit, build_script}};
///
/// mod table {
///     // `table.rs`
///     use super::{Arch, Unit};
///
///     pub fn units() -> Vec<Unit> {
///         vec![Unit {
///             symbol: "scale".to_owned(),
///             source: "kernels/scale.cu",
///             arches: &[Arch::Sm90a],
///             defines: Vec::new(),
///             expect_sass: &[],
///         }]
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     build_script(&table::units(), &["DEP_FA3_TMA_INCLUDE"])
/// }
/// ```
#[expect(clippy::print_stdout, reason = "build scripts speak to cargo on standard output")]
#[expect(clippy::print_stderr, reason = "build scripts say on standard error why they fail")]
pub fn build_script(units: &[Unit], includes: &[&str]) -> ExitCode {
    println!("cargo::rerun-if-changed=table.rs");
    match run(units, includes, |name| env::var_os(name)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    units: &[Unit],
    includes: &[&str],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Embedded, EmbedError> {
    let folder = |name: &str| {
        variable(name).map(PathBuf::from).ok_or_else(|| EmbedError::NoFolder { variable: name.to_owned() })
    };
    let root = folder("CARGO_MANIFEST_DIR")?;
    let includes = includes.iter().map(|name| folder(name)).collect::<Result<Vec<_>, _>>()?;
    embed(&root, &source_roots(&root, &includes), units)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it says when only these variables are set.
    fn refusal(set: &[&str], includes: &[&str]) -> String {
        let variable = |name: &str| set.contains(&name).then(|| "no/such/folder".into());
        run(&[], includes, variable).unwrap_err().to_string()
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let includes = ["DEP_A_INCLUDE", "DEP_B_INCLUDE"];
        assert_eq!(refusal(&[], &includes), "CARGO_MANIFEST_DIR is not set");
        let mut set = vec!["CARGO_MANIFEST_DIR"];
        assert_eq!(refusal(&set, &includes), "DEP_A_INCLUDE is not set");
        set.push("DEP_A_INCLUDE");
        assert_eq!(refusal(&set, &includes), "DEP_B_INCLUDE is not set");
        // Cargo sets the next one for build scripts alone.
        assert!(refusal(&set, &[]).contains("OUT_DIR is not set"));
    }
}
