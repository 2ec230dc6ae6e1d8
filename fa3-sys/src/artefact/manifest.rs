//! The text beside machine code that says what it is: `artifacts/<arch>/<symbol>.manifest`.

use core::fmt;
use std::path::{Path, PathBuf};

use super::Resources;
use crate::Arch;

/// What is known of a built kernel, as lines of `key = value`.
///
/// ```
/// use fa3_sys::{Arch, artefact::{Manifest, Resources}};
/// let manifest = Manifest {
///     symbol: "copy".into(),
///     arch: Arch::Sm90a,
///     source_hash: "00ff".into(),
///     resources: Resources { registers: 32, ..Resources::default() },
/// };
/// let text = manifest.to_string();
/// assert!(text.contains("registers = 32"));
/// assert_eq!(text.parse(), Ok(manifest));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The kernel's `extern "C"` name.
    pub symbol: String,
    /// The architecture it was built for.
    pub arch: Arch,
    /// The hash of the sources and flags it was built from, in hexadecimal.
    pub source_hash: String,
    /// What the compiler said of it.
    pub resources: Resources,
}

/// A manifest that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A line is not of the form `key = value`.
    #[error("manifest line {line} is `{text}`, which is not `key = value`")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A key is absent.
    #[error("the manifest has no `{key}`")]
    Absent {
        /// The key.
        key: &'static str,
    },
    /// A value has the wrong form.
    #[error("the manifest's `{key}` is `{value}`, which is not {rule}")]
    Value {
        /// The key.
        key: &'static str,
        /// What stands there.
        value: String,
        /// What should.
        rule: &'static str,
    },
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { registers, static_shared_bytes, stack_bytes, spill_bytes } = self.resources;
        writeln!(f, "symbol = {}", self.symbol)?;
        writeln!(f, "arch = {}", self.arch)?;
        writeln!(f, "source_hash = {}", self.source_hash)?;
        writeln!(f, "registers = {registers}")?;
        writeln!(f, "static_shared_bytes = {static_shared_bytes}")?;
        writeln!(f, "stack_bytes = {stack_bytes}")?;
        writeln!(f, "spill_bytes = {spill_bytes}")
    }
}

impl core::str::FromStr for Manifest {
    type Err = ManifestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut pairs = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| ManifestError::Line {
                line: index.saturating_add(1),
                text: line.to_owned(),
            })?;
            pairs.push((key.trim(), value.trim()));
        }
        let value = |key: &'static str| {
            let pair = pairs.iter().find(|(found, _)| *found == key);
            pair.map(|(_, value)| *value).ok_or(ManifestError::Absent { key })
        };
        let number = |key: &'static str| {
            let text = value(key)?;
            let rule = "a whole number below 2^32";
            text.parse().map_err(|_| ManifestError::Value { key, value: text.to_owned(), rule })
        };
        let arch = value("arch")?;
        Ok(Self {
            symbol: value("symbol")?.to_owned(),
            arch: arch.parse().map_err(|_| ManifestError::Value {
                key: "arch",
                value: arch.to_owned(),
                rule: "the name of an architecture (sm_90a, sm_100a)",
            })?,
            source_hash: value("source_hash")?.to_owned(),
            resources: Resources {
                registers: number("registers")?,
                static_shared_bytes: number("static_shared_bytes")?,
                stack_bytes: number("stack_bytes")?,
                spill_bytes: number("spill_bytes")?,
            },
        })
    }
}

/// The files of one kernel for one architecture.
///
/// ```
/// use fa3_sys::{Arch, artefact::Files};
/// let files = Files::of(std::path::Path::new("crate"), Arch::Sm90a, "copy");
/// assert!(files.fatbin.ends_with("artifacts/sm_90a/copy.fatbin"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Machine code, for the disassembler.
    pub cubin: PathBuf,
    /// The same, compressed, as a fat binary.
    pub fatbin: PathBuf,
    /// The PTX it was assembled from.
    pub ptx: PathBuf,
    /// The [`Manifest`].
    pub manifest: PathBuf,
}

impl Files {
    /// Where the artefact of `symbol` for `arch` lies in the crate at `crate_root`.
    pub fn of(crate_root: &Path, arch: Arch, symbol: &str) -> Self {
        let folder = folder(crate_root).join(arch.target());
        let file = |extension: &str| folder.join(format!("{symbol}.{extension}"));
        Self { cubin: file("cubin"), fatbin: file("fatbin"), ptx: file("ptx"), manifest: file("manifest") }
    }

    /// The files that `embed` reads, and a packaged crate carries.
    pub fn embedded(&self) -> [&Path; 3] {
        [&self.fatbin, &self.ptx, &self.manifest]
    }
}

/// The folder of all artefacts of the crate at `crate_root`.
pub fn folder(crate_root: &Path) -> PathBuf {
    crate_root.join("artifacts")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "symbol = k\narch = sm_100a\nsource_hash = ab\nregisters = 168\n\
                        static_shared_bytes = 1\nstack_bytes = 2\nspill_bytes = 3\n";

    #[test]
    fn round_trip() {
        let manifest: Manifest = TEXT.parse().unwrap();
        assert_eq!(manifest.arch, Arch::Sm100a);
        assert_eq!(manifest.resources.spill_bytes, 3);
        assert_eq!(manifest.to_string(), TEXT);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parse = |from: &str, to: &str| TEXT.replace(from, to).parse::<Manifest>().unwrap_err();
        assert_eq!(parse("registers = 168\n", ""), ManifestError::Absent { key: "registers" });
        assert!(parse("168", "-1").to_string().contains("`registers` is `-1`"));
        assert!(parse("sm_100a", "sm_89").to_string().contains("`sm_89`"));
        assert_eq!(parse("source_hash = ab", "x"), ManifestError::Line { line: 3, text: "x".into() });
    }
}
