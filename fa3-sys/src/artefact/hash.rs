//! The hash that ties an artefact to the sources and flags it was built from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Unit;
use crate::Arch;

/// Changes whenever the build step compiles the same sources in another way.
const FLAGS_VERSION: u32 = 1;

/// The extensions of device sources and headers.
const EXTENSIONS: [&str; 3] = ["cu", "cuh", "h"];

/// A source folder that cannot be hashed.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// The folder or a file under it cannot be read.
    #[error("cannot read the kernel sources at {}: {source}; check that the folder exists and is readable", path.display())]
    Read {
        /// What was being read.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// The folders that hold the device sources of the crate at `crate_root`: its own `kernels` and
/// `include`, as far as they exist, then `extra` (the `include` of `fa3-tma`), each once.
///
/// The build step and the crate's build script both take the folders from here, so that
/// [`source_hash`] sees the same list, in the same order.
///
/// ```
/// use fa3_sys::artefact::source_roots;
/// let roots = source_roots(std::path::Path::new("/no/such/crate"), &["/opt/fa3-tma/include".into()]);
/// assert_eq!(roots, [std::path::PathBuf::from("/opt/fa3-tma/include")]);
/// ```
pub fn source_roots(crate_root: &Path, extra: &[PathBuf]) -> Vec<PathBuf> {
    let own = ["kernels", "include"].map(|folder| crate_root.join(folder));
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in own.into_iter().filter(|root| root.is_dir()).chain(extra.iter().cloned()) {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// SHA-256, in hexadecimal, of all that decides the machine code of `unit` for `arch`: every
/// `.cu`, `.cuh` and `.h` file under `roots` (in the given order, each folder sorted by relative
/// path), the unit's definitions, the architecture, and the version of the compiler flags.
///
/// Where the folders lie does not matter, only what is in them.
///
/// # Errors
/// [`HashError`] when a folder or file cannot be read.
pub fn source_hash(roots: &[PathBuf], unit: &Unit, arch: Arch) -> Result<String, HashError> {
    let mut hash = Sources::read(roots)?.hash;
    absorb(&mut hash, b"unit");
    absorb(&mut hash, unit.symbol.as_bytes());
    absorb(&mut hash, unit.source.as_bytes());
    absorb(&mut hash, arch.target().as_bytes());
    for (name, value) in &unit.defines {
        absorb(&mut hash, name.as_bytes());
        absorb(&mut hash, value.as_bytes());
    }
    absorb(&mut hash, b"instructions");
    for opcode in unit.expect_sass {
        absorb(&mut hash, opcode.as_bytes());
    }
    absorb(&mut hash, &FLAGS_VERSION.to_le_bytes());
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Sources {
    hash: Sha256,
}

impl Sources {
    fn read(roots: &[PathBuf]) -> Result<Self, HashError> {
        let mut hash = Sha256::new();
        for root in roots {
            let mut files = Vec::new();
            collect(root, "", &mut files)?;
            files.sort();
            absorb(&mut hash, b"root");
            for (relative, path) in &files {
                let contents = fs::read(path).map_err(|source| read_error(path, source))?;
                absorb(&mut hash, relative.as_bytes());
                absorb(&mut hash, &contents);
            }
        }
        Ok(Self { hash })
    }
}

/// Lists the sources under `folder` with their paths relative to the root, `/` between the parts
/// on every system.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), HashError> {
    for entry in fs::read_dir(folder).map_err(|source| read_error(folder, source))? {
        let path = entry.map_err(|source| read_error(folder, source))?.path();
        let Some(name) = path.file_name() else { continue };
        let relative = format!("{prefix}{}", name.to_string_lossy());
        if path.is_dir() {
            collect(&path, &format!("{relative}/"), files)?;
        } else if path.extension().is_some_and(|found| EXTENSIONS.iter().any(|known| found == *known)) {
            files.push((relative, path));
        }
    }
    Ok(())
}

fn read_error(path: &Path, source: io::Error) -> HashError {
    HashError::Read { path: path.to_path_buf(), source }
}

/// Adds a field with its length before it, so that no two lists of fields read the same.
fn absorb(hash: &mut Sha256, field: &[u8]) {
    hash.update((field.len() as u64).to_le_bytes());
    hash.update(field);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artefact::tests::{TemporaryFolder, unit};

    #[test]
    fn depends_on_every_input_and_on_nothing_else() {
        let folder = TemporaryFolder::new("hash");
        folder.write("a/kernels/x.cu", "one");
        folder.write("a/kernels/deep/y.cuh", "two");
        folder.write("b/kernels/x.cu", "one");
        folder.write("b/kernels/deep/y.cuh", "two");
        folder.write("b/kernels/notes.txt", "not a source");
        let roots = |name: &str| vec![folder.path().join(name).join("kernels")];
        let hash = |name: &str, unit: &Unit, arch| source_hash(&roots(name), unit, arch).unwrap();

        let reference = hash("a", &unit("k"), Arch::Sm90a);
        assert_eq!(reference.len(), 64);
        assert_eq!(reference, hash("b", &unit("k"), Arch::Sm90a));

        assert_ne!(reference, hash("a", &unit("k"), Arch::Sm100a));
        assert_ne!(reference, hash("a", &unit("l"), Arch::Sm90a));
        let defined = Unit { defines: vec![("FA3_D", "64".into())], ..unit("k") };
        assert_ne!(reference, hash("a", &defined, Arch::Sm90a));
        let moved = Unit { defines: vec![("FA3_", "D64".into())], ..unit("k") };
        assert_ne!(hash("a", &moved, Arch::Sm90a), hash("a", &defined, Arch::Sm90a));
        assert_ne!(reference, hash("a", &Unit { expect_sass: &["HGMMA"], ..unit("k") }, Arch::Sm90a));

        folder.write("b/kernels/deep/y.cuh", "Two");
        assert_ne!(reference, hash("b", &unit("k"), Arch::Sm90a));
        folder.write("b/kernels/deep/y.cuh", "two");
        folder.write("b/kernels/z.h", "");
        assert_ne!(reference, hash("b", &unit("k"), Arch::Sm90a));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = source_hash(&["/no/such/folder".into()], &unit("k"), Arch::Sm90a).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }

    #[test]
    fn roots_are_the_existing_ones_once() {
        let folder = TemporaryFolder::new("roots");
        folder.write("crate/include/x.cuh", "");
        let root = folder.path().join("crate");
        let include = root.join("include");
        assert_eq!(
            source_roots(&root, &[include.clone(), "/tma/include".into()]),
            [include, PathBuf::from("/tma/include")]
        );
    }
}
