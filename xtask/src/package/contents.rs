//! What belongs into a `.crate`, and how large one may be.

use std::fmt;
use std::path::Path;

use fa3_sys::artefact::Files as Artefact;

use super::unpack::Files;
use crate::tables::{self, KernelCrate};

/// The registry takes no more (10 MB, the Cargo book, "Publishing on crates.io").
const LIMIT_BYTES: u64 = 10_000_000;
/// What every crate has.
const NEEDED: [&str; 5] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];
/// The kinds of file that none has: machine code twice, and the data of tests.
const REFUSED: [&str; 2] = ["cubin", "safetensors"];
/// The folder of artefacts.
const ARTEFACTS: &str = "artifacts/";

/// What is wrong with a package of that size.
pub(super) fn violations(package: &str, bytes: u64, files: &Files) -> Vec<String> {
    let owner = tables::crates().into_iter().find(|owner| owner.folder == package);
    let carried = owner.as_ref().map(artefacts).unwrap_or_default();
    let sources = owner.iter().flat_map(|owner| owner.units.iter().map(|unit| unit.source.to_owned()));
    let needed = NEEDED.map(str::to_owned).into_iter().chain(sources).chain(carried.iter().cloned());
    let mut found: Vec<String> = needed
        .filter(|name| files.get(name).is_none_or(Vec::is_empty))
        .map(|name| format!("{package}: {name} is missing or empty; see `include` in its Cargo.toml"))
        .collect();
    found.sort();
    found.dedup();
    for name in files.keys() {
        let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
        let stray = name.starts_with(ARTEFACTS) && !carried.contains(name);
        if stray || extension.is_some_and(|extension| REFUSED.contains(&extension)) {
            found.push(format!("{package}: {name} does not belong into it; see `include` in its Cargo.toml"));
        }
    }
    if bytes >= LIMIT_BYTES {
        found
            .push(format!("{package}: the .crate has {bytes} bytes, and must have fewer than {LIMIT_BYTES}"));
    }
    found
}

/// The artefacts that a crate carries.
fn artefacts(owner: &KernelCrate) -> Vec<String> {
    let of_unit = |unit: &fa3_sys::artefact::Unit| -> Vec<String> {
        let files = unit.arches.iter().map(|&arch| Artefact::of(Path::new(""), arch, &unit.symbol));
        files.flat_map(|files| files.embedded().map(|path| path.to_string_lossy().into_owned())).collect()
    };
    owner.units.iter().flat_map(of_unit).collect()
}

/// The sizes of the packages.
#[derive(Default)]
pub(super) struct Table(Vec<Row>);

struct Row {
    package: String,
    files: usize,
    bytes: u64,
    artefact_bytes: u64,
    archive_bytes: u64,
}

impl Table {
    pub(super) fn add(&mut self, package: &str, archive_bytes: u64, files: &Files) {
        let sum = |wanted: fn(&str) -> bool| {
            let sizes =
                files.iter().filter(|(name, _)| wanted(name)).map(|(_, contents)| contents.len() as u64);
            sizes.sum()
        };
        let (bytes, artefact_bytes) = (sum(|_| true), sum(|name| name.starts_with(ARTEFACTS)));
        let package = package.to_owned();
        self.0.push(Row { package, files: files.len(), bytes, artefact_bytes, archive_bytes });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:12} {:>6} {:>10} {:>13} {:>11}",
            "crate", "files", "KiB", "kernels, KiB", ".crate KiB"
        )?;
        for Row { package, files, bytes, artefact_bytes, archive_bytes } in &self.0 {
            let kib = [bytes, artefact_bytes, archive_bytes].map(|bytes| bytes.div_ceil(1024));
            writeln!(f, "{package:12} {files:>6} {:>10} {:>13} {:>11}", kib[0], kib[1], kib[2])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(names: impl IntoIterator<Item = String>) -> Files {
        names.into_iter().map(|name| (name, b"x".to_vec())).collect()
    }

    fn plain() -> Files {
        with(NEEDED.map(str::to_owned))
    }

    /// All that `fa3-kernels` has to carry.
    fn kernels() -> Files {
        let owner = tables::crates().into_iter().find(|owner| owner.folder == "fa3-kernels").unwrap();
        let mut files = plain();
        files.extend(with(artefacts(&owner)));
        files.extend(with(owner.units.iter().map(|unit| unit.source.to_owned())));
        files
    }

    #[test]
    fn a_whole_package_has_no_violation_and_its_sizes_are_summed() {
        assert_eq!(violations("fa3", LIMIT_BYTES - 1, &plain()), [""; 0]);
        assert_eq!(violations("fa3-kernels", 1, &kernels()), [""; 0]);
        let mut table = Table::default();
        table.add("fa3", 2049, &plain());
        table.add("fa3-kernels", 1, &kernels());
        let text = table.to_string();
        let words = |line: usize| text.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(1), ["fa3", "5", "1", "0", "3"]);
        assert_eq!(words(2)[3..], ["1", "1"]);
    }

    #[test]
    fn what_is_missing_or_empty_is_named() {
        let mut files = kernels();
        let symbol = files.keys().find(|name| name.ends_with(".fatbin")).unwrap().clone();
        files.insert(symbol.clone(), Vec::new());
        files.remove("LICENSE-MIT");
        files.remove("kernels/sm90/forward.cu");
        let found = violations("fa3-kernels", 1, &files);
        assert_eq!(found.len(), 3, "{found:?}");
        for name in ["LICENSE-MIT", "kernels/sm90/forward.cu", &symbol] {
            assert!(found.iter().any(|text| text.contains(name)), "{name}: {found:?}");
        }
    }

    #[test]
    fn what_does_not_belong_is_named() {
        for stray in ["artifacts/sm_90a/old.ptx", "artifacts/sm_90a/k.cubin", "tests/data/x.safetensors"] {
            let mut files = kernels();
            files.extend(with([stray.to_owned()]));
            let found = violations("fa3-kernels", 1, &files);
            assert!(found.len() == 1 && found[0].contains(stray), "{found:?}");
        }
        let mut files = plain();
        files.extend(with(["artifacts/sm_90a/k.ptx".to_owned()]));
        assert_eq!(violations("fa3", 1, &files).len(), 1);
    }

    #[test]
    fn ten_megabytes_are_too_many() {
        let found = violations("fa3", LIMIT_BYTES, &plain());
        assert!(found.len() == 1 && found[0].contains("10000000"), "{found:?}");
    }
}
