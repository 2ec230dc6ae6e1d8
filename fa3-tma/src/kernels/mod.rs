//! The crate's own kernels, which exercise the headers on a GPU: see `kernels/` for what each
//! does, and `tests/gpu_stream` for launches.

use fa3_sys::Arch;
use fa3_sys::artefact::{KernelEntry, Missing, MissingReason};

mod params;

mod artifacts {
    include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));
}

pub use artifacts::{ENTRIES, MISSING};
pub use params::Tiling;

/// The embedded kernel `symbol` for `arch`.
///
/// # Errors
/// [`Missing`] when it is not embedded, with the reason.
pub fn kernel(symbol: &'static str, arch: Arch) -> Result<&'static KernelEntry, Missing> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.symbol == symbol && entry.arch == arch) {
        return Ok(entry);
    }
    let missing = MISSING.iter().find(|missing| missing.symbol == symbol && missing.arch == arch);
    Err(missing.copied().unwrap_or(Missing { symbol, arch, why: MissingReason::NotBuilt }))
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
            match kernel("stream_3d_3", arch) {
                Ok(entry) => assert!(entry.ptx.contains("stream_3d_3")),
                Err(missing) => assert!(MISSING.contains(&missing)),
            }
        }
        assert!(kernel("no_such_kernel", Arch::Sm90a).is_err());
    }
}
