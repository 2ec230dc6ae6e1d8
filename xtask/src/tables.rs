//! The kernel tables of the crates that own kernels, and their parameter blocks, read from the
//! crates' own files: neither side depends on the other.

use fa3_sys::artefact::Unit;

/// A crate that owns kernels.
pub(crate) struct KernelCrate {
    /// The package's name; also its folder.
    pub(crate) package: &'static str,
    pub(crate) units: Vec<Unit>,
    pub(crate) blocks: Vec<Block>,
}

/// The layout of a structure that host and device share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    /// Name, offset and size of each field, bytes.
    pub(crate) fields: &'static [(&'static str, usize, usize)],
}

/// Every crate that owns kernels.
pub(crate) fn crates() -> Vec<KernelCrate> {
    Vec::new()
}
