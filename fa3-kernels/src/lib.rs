//! Exact softmax attention kernels for Hopper, for someone with a launcher of their own: device
//! sources, the table of kernels, their parameter blocks, and the machine code embedded.
//!
//! # Launching a forward kernel
//! Parameters, in order: the tensor maps of Q, K, V and O (128 bytes each), then [`ForwardParams`].
//! Q's map is over `[dim, head in pack, sequence, head of tiles, batch]`, the others over
//! `[dim, sequence, heads, batch]`, with boxes of [`ForwardKernel::boxes`] and a swizzle as wide as
//! a box's row. Any one-dimensional grid of whole clusters is right: cluster `i` of `n` works on tiles
//! `i`, `i + n`, and so on, or on every such pair of tiles where [`ForwardParams::paired`] says so.
//! Of a cluster's tile, each CTA computes its share of the rows.
//! [`ForwardKernel::threads`] threads a CTA, [`ForwardKernel::shared_bytes`] of dynamic shared
//! memory.
//!
//! Sequences of unequal length need a list of tiles, which [`SCHEDULE_SYMBOL`] writes: one CTA of
//! [`SCHEDULE_THREADS`] with [`ScheduleParams`], launched before on the same stream.
//!
//! # Merging partial results
//! [`MERGE_SYMBOL`] takes [`MergeParams`] alone, in CTAs of [`MERGE_THREADS`] that work on
//! `MERGE_THREADS / lanes` rows each; addresses and strides are multiples of 16 bytes.
//!
//! ```
//! use fa3_kernels::{Operand, forward_kernels};
//! let kernel = forward_kernels()
//!     .find(|kernel| kernel.operand == Operand::Bf16 && kernel.head_dim == 128)
//!     .expect("in the table");
//! assert_eq!((kernel.tile_m(), kernel.tile_n), (128, 128));
//! assert!(kernel.shared_bytes() <= fa3_sys::Arch::Sm90a.max_shared_bytes());
//! ```

use fa3_sys::Arch;
use fa3_sys::artefact::{KernelEntry, Missing, Unit};

pub mod params;
#[path = "../table.rs"]
pub mod table;

pub use params::{CHUNK_BYTES, ForwardParams, MergeParams, ScheduleParams};
pub use table::{
    ForwardKernel, MERGE_SYMBOL, MERGE_THREADS, Operand, SCHEDULE_SYMBOL, SCHEDULE_THREADS, STAGES,
    forward_kernels,
};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));
}

/// The kernels built for this crate and embedded in it.
pub fn entries() -> &'static [KernelEntry] {
    embedded::ENTRIES
}

/// The kernels of the table that are not embedded, and why.
pub fn missing() -> &'static [Missing] {
    embedded::MISSING
}

/// Why [`entry`] and [`ptx`] have nothing to return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The kernel is in the table, but its artefact is not embedded.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no such kernel.
    #[error("no kernel `{symbol}` for {arch} is in the table; `forward_kernels()` lists them")]
    Unknown {
        /// The name asked for.
        symbol: String,
        /// The architecture asked for.
        arch: Arch,
    },
}

/// The embedded kernel of that name and architecture.
///
/// # Errors
/// [`EntryError::Missing`] when it was not built or was built from other sources;
/// [`EntryError::Unknown`] when the table has no such kernel.
pub fn entry(symbol: &str, arch: Arch) -> Result<&'static KernelEntry, EntryError> {
    let found = entries().iter().find(|entry| entry.symbol == symbol && entry.arch == arch);
    found.ok_or_else(|| not_embedded(symbol, arch))
}

/// The PTX that the kernel of that name and architecture was assembled from, with line information.
/// A program that never calls this is linked without any.
///
/// # Errors
/// Those of [`entry`].
pub fn ptx(symbol: &str, arch: Arch) -> Result<&'static str, EntryError> {
    let found = embedded::PTX.iter().find(|ptx| ptx.symbol == symbol && ptx.arch == arch);
    found.map(|ptx| ptx.text).ok_or_else(|| not_embedded(symbol, arch))
}

fn not_embedded(symbol: &str, arch: Arch) -> EntryError {
    match missing().iter().find(|missing| missing.symbol == symbol && missing.arch == arch) {
        Some(missing) => (*missing).into(),
        None => EntryError::Unknown { symbol: symbol.to_owned(), arch },
    }
}

/// The boxes of the four tensor maps, in elements. A row of a box is as long as the swizzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// Of Q: `[dim, head in pack, sequence, head of tiles, batch]`.
    pub q: [u32; 5],
    /// Of K: `[dim, sequence, heads, batch]`.
    pub k: [u32; 4],
    /// Of V.
    pub v: [u32; 4],
    /// Of O.
    pub o: [u32; 4],
}

/// Columns of the panels that heads of this width are cut into: 64 (128 bytes, the widest swizzle)
/// where they divide it, else 32.
pub const fn panel_columns(width: u32) -> u32 {
    if width.is_multiple_of(64) { 64 } else { 32 }
}

impl ForwardKernel {
    /// The boxes that the kernel's loads and stores assume: a panel's columns, and as many rows as
    /// Q's tile, a CTA's share of a key tile, and one warpgroup's share of O. `pack` query heads share a tile of Q;
    /// at least one, at most [`tile_m`](Self::tile_m).
    pub const fn boxes(&self, pack: u32) -> Boxes {
        let (keys, values) = (panel_columns(self.head_dim), panel_columns(self.value_dim));
        let share = match self.tile_n.checked_div(self.cluster) {
            Some(rows) => rows,
            None => 0,
        };
        Boxes {
            q: [keys, pack, self.tile_queries(pack), 1, 1],
            k: [keys, share, 1, 1],
            v: [values, share, 1, 1],
            o: [values, 64, 1, 1],
        }
    }

    /// Queries a tile when `pack` query heads share it.
    pub const fn tile_queries(&self, pack: u32) -> u32 {
        match self.tile_m().checked_div(pack) {
            Some(queries) => queries,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn symbols_are_unique_and_shared_memory_fits() {
        let symbols: HashSet<_> = forward_kernels().map(ForwardKernel::symbol).collect();
        assert_eq!(symbols.len(), forward_kernels().count());
        for kernel in forward_kernels() {
            assert!(kernel.shared_bytes() <= Arch::Sm90a.max_shared_bytes(), "{kernel:?}");
        }
    }

    #[test]
    fn every_unit_is_embedded_or_reported() {
        let units: Vec<Unit> = table::units();
        assert_eq!(entries().len() + missing().len(), units.len());
        for unit in units {
            let found = entry(&unit.symbol, Arch::Sm90a);
            assert!(!matches!(found, Err(EntryError::Unknown { .. })), "{}", unit.symbol);
            match (found, ptx(&unit.symbol, Arch::Sm90a)) {
                (Ok(_), Ok(text)) => assert!(text.contains(&unit.symbol)),
                (entry, ptx) => assert_eq!(entry.map(|_| ()), ptx.map(|_| ())),
            }
        }
        assert!(matches!(entry("nothing", Arch::Sm90a), Err(EntryError::Unknown { .. })));
    }
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
