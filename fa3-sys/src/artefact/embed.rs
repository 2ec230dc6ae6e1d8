//! Embedding built artefacts, from the build script of the crate that owns the kernels.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{Files, Manifest, ManifestError, folder};
use super::{HashError, MissingReason, Unit, source_hash};
use crate::Arch;

/// What [`embed`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// Symbol and architecture of each embedded kernel.
    pub entries: Vec<(String, Arch)>,
    /// Symbol, architecture and reason of each kernel that is not embedded.
    pub missing: Vec<(String, Arch, MissingReason)>,
}

/// Artefacts that cannot be embedded. An absent or stale one is no error.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// Not called from a build script.
    #[error("the environment variable OUT_DIR is not set: call `embed` from a build script")]
    NoOutDir,
    /// The environment variable of a folder is not set.
    #[error("{variable} is not set")]
    NoFolder {
        /// The variable.
        variable: String,
    },
    /// The sources cannot be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// A manifest is malformed.
    #[error("{}: {source}; delete the file and run `cargo xtask cubins`", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        source: ManifestError,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Writes `$OUT_DIR/artifacts.rs` with three statics: `ENTRIES: &[KernelEntry]` holds each kernel of
/// `units` whose artefact in `crate_root/artifacts` was built from today's sources,
/// `PTX: &[KernelPtx]` the PTX of the same, and `MISSING: &[Missing]` says of each other one why it
/// is not there. The crate includes that file in a module of its own.
///
/// `source_roots` are the folders that [`source_hash`] reads; take them from
/// [`source_roots`](super::source_roots()). Prints the `cargo::rerun-if-changed` lines for them and
/// for the artefacts, also those that appear later; the build script adds its own for `table.rs`, as
/// [`build_script`](super::build_script()) does.
///
/// # Errors
/// [`EmbedError`] when a file cannot be read or written, or a manifest is malformed.
#[expect(clippy::print_stdout, reason = "build scripts speak to cargo on standard output")]
pub fn embed(crate_root: &Path, source_roots: &[PathBuf], units: &[Unit]) -> Result<Embedded, EmbedError> {
    let out = std::env::var_os("OUT_DIR").ok_or(EmbedError::NoOutDir)?;
    for path in watched(crate_root, source_roots) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let (found, text) = generate(crate_root, source_roots, units)?;
    let path = Path::new(&out).join("artifacts.rs");
    fs::write(&path, text).map_err(|source| EmbedError::File { path, source })?;
    Ok(found)
}

/// What a build script must run again for. Cargo takes a watched path that does not exist for
/// changed at every build, so as long as there are no artefacts the crate's folder is watched,
/// where they would appear.
fn watched(crate_root: &Path, source_roots: &[PathBuf]) -> Vec<PathBuf> {
    let artefacts = folder(crate_root);
    let mut paths = vec![if artefacts.is_dir() { artefacts } else { crate_root.to_path_buf() }];
    paths.extend(source_roots.iter().cloned());
    paths
}

/// The text of `artifacts.rs` for what lies in `crate_root/artifacts`.
fn generate(
    crate_root: &Path,
    source_roots: &[PathBuf],
    units: &[Unit],
) -> Result<(Embedded, String), EmbedError> {
    let mut found = Embedded::default();
    let (mut images, mut entries) = (String::new(), String::new());
    let (mut texts, mut missing) = (String::new(), String::new());
    for unit in units {
        for &arch in unit.arches {
            let hash = source_hash(source_roots, unit, arch)?;
            let files = Files::of(crate_root, arch, &unit.symbol);
            match up_to_date(&files, &hash)? {
                Ok(manifest) => {
                    let index = found.entries.len();
                    images.push_str(&image(index, &files.fatbin)?);
                    entries.push_str(&entry(index, &manifest));
                    texts.push_str(&text(&manifest, &files.ptx));
                    found.entries.push((unit.symbol.clone(), arch));
                }
                Err(why) => {
                    writeln!(
                        missing,
                        "    fa3_sys::artefact::Missing {{ symbol: {:?}, arch: fa3_sys::Arch::{arch:?}, \
                         why: fa3_sys::artefact::MissingReason::{why:?} }},",
                        unit.symbol
                    )
                    .ok();
                    found.missing.push((unit.symbol.clone(), arch, why));
                }
            }
        }
    }
    let aligned = if found.entries.is_empty() {
        ""
    } else {
        "/// The alignment of an image's widest header field and more: the driver reads it in place.\n\
         #[repr(C, align(64))]\nstruct Aligned<const N: usize>([u8; N]);\n\n"
    };
    let generated = format!(
        "{aligned}{images}\
         /// The kernels whose artefacts are up to date.\n\
         pub static ENTRIES: &[fa3_sys::artefact::KernelEntry] = &[\n{entries}];\n\n\
         /// Their PTX.\n\
         pub static PTX: &[fa3_sys::artefact::KernelPtx] = &[\n{texts}];\n\n\
         /// The kernels that are not embedded, and why.\n\
         pub static MISSING: &[fa3_sys::artefact::Missing] = &[\n{missing}];\n"
    );
    Ok((found, generated))
}

/// The manifest, when the artefact is complete and built from the sources that `hash` stands for
/// (see [`source_hash`]); else why it is of no use.
///
/// # Errors
/// [`EmbedError`] when the manifest cannot be read or is malformed.
pub fn up_to_date(files: &Files, hash: &str) -> Result<Result<Manifest, MissingReason>, EmbedError> {
    if !files.embedded().iter().all(|path| path.is_file()) {
        return Ok(Err(MissingReason::NotBuilt));
    }
    let path = files.manifest.clone();
    let bytes = fs::read(&path).map_err(|source| EmbedError::File { path: path.clone(), source })?;
    // Bytes that are no text break the manifest's own rules, whose error says what to do.
    let manifest: Manifest =
        String::from_utf8_lossy(&bytes).parse().map_err(|source| EmbedError::Manifest { path, source })?;
    Ok(if manifest.source_hash == hash { Ok(manifest) } else { Err(MissingReason::Stale) })
}

fn image(index: usize, fatbin: &Path) -> Result<String, EmbedError> {
    let path = fatbin.to_path_buf();
    let length = fs::metadata(fatbin).map_err(|source| EmbedError::File { path, source })?.len();
    Ok(format!("static IMAGE_{index}: Aligned<{length}> = Aligned(*include_bytes!({fatbin:?}));\n"))
}

fn entry(index: usize, manifest: &Manifest) -> String {
    let Manifest { symbol, arch, source_hash, resources } = manifest;
    format!(
        "    fa3_sys::artefact::KernelEntry {{\n\
        \x20       symbol: {symbol:?},\n\
        \x20       arch: fa3_sys::Arch::{arch:?},\n\
        \x20       image: &IMAGE_{index}.0,\n\
        \x20       resources: fa3_sys::artefact::{resources:?},\n\
        \x20       source_hash: {source_hash:?},\n\
        \x20   }},\n"
    )
}

fn text(manifest: &Manifest, ptx: &Path) -> String {
    let Manifest { symbol, arch, .. } = manifest;
    format!(
        "    fa3_sys::artefact::KernelPtx {{ symbol: {symbol:?}, arch: fa3_sys::Arch::{arch:?}, \
         text: include_str!({ptx:?}) }},\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artefact::Resources;
    use crate::artefact::tests::{TemporaryFolder, unit};

    fn build(folder: &TemporaryFolder, symbol: &str, hash: &str) {
        let manifest = Manifest {
            symbol: symbol.into(),
            arch: Arch::Sm90a,
            source_hash: hash.into(),
            resources: Resources { registers: 168, ..Resources::default() },
        };
        let path = format!("artifacts/sm_90a/{symbol}");
        folder.write(&format!("{path}.fatbin"), "machine code");
        folder.write(&format!("{path}.ptx"), ".version");
        folder.write(&format!("{path}.manifest"), &manifest.to_string());
    }

    #[test]
    fn todays_are_embedded_and_the_others_named() {
        let folder = TemporaryFolder::new("embed");
        folder.write("kernels/k.cu", "source");
        let roots = [folder.path().join("kernels")];
        let units = [unit("today"), unit("stale"), unit("absent"), unit("partial")];
        build(&folder, "today", &source_hash(&roots, &units[0], Arch::Sm90a).unwrap());
        build(&folder, "stale", "00");
        build(&folder, "partial", &source_hash(&roots, &units[3], Arch::Sm90a).unwrap());
        fs::remove_file(folder.path().join("artifacts/sm_90a/partial.ptx")).unwrap();

        let (found, text) = generate(folder.path(), &roots, &units).unwrap();
        assert_eq!(found.entries, [("today".to_owned(), Arch::Sm90a)]);
        let missing = |symbol: &str, why| (symbol.to_owned(), Arch::Sm90a, why);
        assert_eq!(
            found.missing,
            [
                missing("stale", MissingReason::Stale),
                missing("absent", MissingReason::NotBuilt),
                missing("partial", MissingReason::NotBuilt),
            ]
        );
        assert!(text.contains("static IMAGE_0: Aligned<12>"), "{text}");
        assert!(text.contains("registers: 168"), "{text}");
        assert!(text.contains("why: fa3_sys::artefact::MissingReason::Stale"), "{text}");

        folder.write("kernels/k.cu", "another source");
        let (found, _) = generate(folder.path(), &roots, &units).unwrap();
        assert_eq!(found.missing[0], missing("today", MissingReason::Stale));
    }

    #[test]
    fn the_generated_file_is_rust_that_compiles() {
        let folder = TemporaryFolder::new("compile");
        folder.write("kernels/k.cu", "source");
        let roots = [folder.path().join("kernels")];
        let units = [unit("today"), unit("absent")];
        build(&folder, "today", &source_hash(&roots, &units[0], Arch::Sm90a).unwrap());
        let (_, generated) = generate(folder.path(), &roots, &units).unwrap();
        let declarations = "
            pub mod fa3_sys {
                pub enum Arch { Sm90a }
                pub mod artefact {
                    pub struct KernelEntry { pub symbol: &'static str, pub arch: super::Arch, pub image: &'static [u8],
                        pub resources: Resources, pub source_hash: &'static str }
                    pub struct KernelPtx { pub symbol: &'static str, pub arch: super::Arch, pub text: &'static str }
                    pub struct Resources { pub registers: u32, pub static_shared_bytes: u32, pub stack_bytes: u32,
                        pub spill_bytes: u32 }
                    pub struct Missing { pub symbol: &'static str, pub arch: super::Arch, pub why: MissingReason }
                    pub enum MissingReason { NotBuilt }
                }
            }";
        folder.write("lib.rs", &format!("{declarations}\n{generated}"));
        let output = std::process::Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
            .args(["--crate-type=rlib", "--emit=metadata", "-Dwarnings", "lib.rs"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn watches_only_what_exists() {
        let folder = TemporaryFolder::new("watch");
        folder.write("kernels/k.cu", "source");
        let roots = [folder.path().join("kernels")];
        assert_eq!(watched(folder.path(), &roots)[0], folder.path());
        build(&folder, "k", "00");
        assert_eq!(watched(folder.path(), &roots)[0], folder.path().join("artifacts"));
        assert!(watched(folder.path(), &roots).iter().all(|path| path.exists()));
    }

    #[test]
    fn a_malformed_manifest_is_an_error_with_its_path() {
        let folder = TemporaryFolder::new("malformed");
        folder.write("kernels/k.cu", "source");
        build(&folder, "k", "00");
        let manifest = folder.path().join("artifacts/sm_90a/k.manifest");
        for contents in [&b"nonsense"[..], b"", b"\xff\xfe = \x80"] {
            fs::write(&manifest, contents).unwrap();
            let error = generate(folder.path(), &[folder.path().join("kernels")], &[unit("k")]).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("k.manifest") && text.contains("delete the file"), "{text}");
        }
    }
}
