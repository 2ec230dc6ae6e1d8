//! The crate's own kernels, which exercise the headers on a GPU: see `kernels/` for what each
//! does, and `tests/gpu_stream.rs` for launches.

use bytemuck::{Pod, Zeroable};
use fa3_sys::Arch;
use fa3_sys::artefact::{KernelEntry, Missing, MissingReason};

mod artifacts {
    include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));
}

pub use artifacts::{ENTRIES, MISSING};

/// How a tensor is cut into tiles: a parameter of every kernel here. `kernels/tiling.cuh` has the
/// same fields in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Tiling {
    /// Tiles along each dimension, the contiguous one first; 1 beyond the rank.
    pub tiles: [u32; 5],
    /// Elements of a tile along each dimension.
    pub extent: [i32; 5],
    /// The coordinates of tile 0, in elements. They may lie outside the tensor.
    pub first: [i32; 5],
    /// Tiles in all: the product of `tiles`.
    pub count: u32,
    /// Bytes that one load brings, out-of-bounds elements included: a multiple of 16.
    pub tile_bytes: u32,
    /// Bytes that a tile takes of shared memory: a multiple of 1024.
    pub stage_bytes: u32,
}

const _: () = assert!(size_of::<Tiling>() == 72);

/// The embedded kernel `symbol` for `arch`.
///
/// # Errors
/// [`Missing`] when it is not embedded, with the reason.
pub fn kernel(symbol: &'static str, arch: Arch) -> Result<&'static KernelEntry, Missing> {
    if let Some(entry) = ENTRIES
        .iter()
        .find(|entry| entry.symbol == symbol && entry.arch == arch)
    {
        return Ok(entry);
    }
    let missing = MISSING
        .iter()
        .find(|missing| missing.symbol == symbol && missing.arch == arch);
    Err(missing.copied().unwrap_or(Missing {
        symbol,
        arch,
        why: MissingReason::NotBuilt,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_embedded_or_named_as_missing() {
        let symbols = ENTRIES
            .iter()
            .map(|entry| entry.symbol)
            .chain(MISSING.iter().map(|missing| missing.symbol));
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
