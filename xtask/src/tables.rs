//! The kernel tables of the crates that own kernels, and their parameter blocks, read from the
//! crates' own files: neither side depends on the other.

use fa3_sys::{Arch, artefact::Unit};

#[path = "../../fa3-tma/examples/src/params.rs"]
#[allow(dead_code, unreachable_pub, reason = "the owner uses and exports what is not read here")]
mod examples_params;
#[path = "../../fa3-tma/examples/table.rs"]
#[allow(dead_code, unreachable_pub, reason = "the owner uses and exports what is not read here")]
mod examples_table;
#[path = "../../fa3-kernels/src/params.rs"]
#[allow(dead_code, unreachable_pub, reason = "the owner uses and exports what is not read here")]
mod fa3_kernels_params;
#[path = "../../fa3-kernels/table.rs"]
#[allow(dead_code, unreachable_pub, reason = "the owner uses and exports what is not read here")]
mod fa3_kernels_table;
#[path = "../../fa3-tma/src/kernels/params.rs"]
#[allow(dead_code, unreachable_pub, reason = "the owner uses and exports what is not read here")]
mod fa3_tma_params;
#[path = "../../fa3-tma/table.rs"]
mod fa3_tma_table;

/// A crate that owns kernels.
pub(crate) struct KernelCrate {
    /// The package's folder in the workspace.
    pub(crate) folder: &'static str,
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
    let layouts = fa3_kernels_params::LAYOUTS.iter();
    let blocks = layouts.map(|layout| Block { name: layout.name, size: layout.size, fields: layout.fields });
    let layouts = examples_params::LAYOUTS.iter();
    let examples =
        layouts.map(|layout| Block { name: layout.name, size: layout.size, fields: layout.fields });
    let tiling = Block {
        name: "Tiling",
        size: size_of::<fa3_tma_params::Tiling>(),
        fields: fa3_tma_params::Tiling::FIELDS,
    };
    vec![
        KernelCrate { folder: "fa3-tma", units: fa3_tma_table::units(), blocks: vec![tiling] },
        KernelCrate { folder: "fa3-kernels", units: fa3_kernels_table::units(), blocks: blocks.collect() },
        KernelCrate {
            folder: "fa3-tma/examples",
            units: examples_table::units(),
            blocks: examples.collect(),
        },
    ]
}
