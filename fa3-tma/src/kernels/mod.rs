//! The crate's own kernels, which exercise the headers on a GPU: see `kernels/` for what each
//! does, and `tests/gpu_stream` for launches.

use fa3_sys::Arch;
use fa3_sys::artefact::{KernelEntry, Missing, MissingReason};

mod params;

mod artifacts {
    include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));
}

pub use artifacts::{ENTRIES, MISSING, PTX};
pub use params::Tiling;

/// The embedded kernel `symbol` for `arch`.
///
/// # Errors
/// [`Missing`] when it is not embedded, with the reason.
pub fn kernel(symbol: &'static str, arch: Arch) -> Result<&'static KernelEntry, Missing> {
    let found = ENTRIES.iter().find(|entry| entry.symbol == symbol && entry.arch == arch);
    found.ok_or_else(|| not_embedded(symbol, arch))
}

/// The PTX of the embedded kernel `symbol` for `arch`.
///
/// # Errors
/// [`Missing`] when it is not embedded, with the reason.
pub fn ptx(symbol: &'static str, arch: Arch) -> Result<&'static str, Missing> {
    let found = PTX.iter().find(|ptx| ptx.symbol == symbol && ptx.arch == arch);
    found.map(|ptx| ptx.text).ok_or_else(|| not_embedded(symbol, arch))
}

fn not_embedded(symbol: &'static str, arch: Arch) -> Missing {
    let missing = MISSING.iter().find(|missing| missing.symbol == symbol && missing.arch == arch);
    missing.copied().unwrap_or(Missing { symbol, arch, why: MissingReason::NotBuilt })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_embedded_or_named_as_missing() {
        let symbols =
            ENTRIES.iter().map(|entry| entry.symbol).chain(MISSING.iter().map(|missing| missing.symbol));
        assert_eq!(symbols.count(), 2 * 16);
        for arch in Arch::ALL {
            match (kernel("stream_3d_3", arch), ptx("stream_3d_3", arch)) {
                (Ok(_), Ok(text)) => assert!(text.contains("stream_3d_3")),
                (Err(missing), Err(same)) => assert!(MISSING.contains(&missing) && missing == same),
                (entry, ptx) => panic!("{entry:?} and {ptx:?}"),
            }
        }
        assert!(kernel("no_such_kernel", Arch::Sm90a).is_err());
    }
}
