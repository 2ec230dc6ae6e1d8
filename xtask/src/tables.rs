//! The kernel tables of the crates that own kernels, and their parameter blocks, read from the
//! crates' own files: neither side depends on the other.

use fa3_sys::{Arch, BlockLayout, artefact::Unit};

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
pub(crate) mod fa3_kernels_table;
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
    pub(crate) blocks: &'static [BlockLayout],
}

/// Every crate that owns kernels.
pub(crate) fn crates() -> Vec<KernelCrate> {
    vec![
        KernelCrate {
            folder: "fa3-tma",
            units: fa3_tma_table::units(),
            blocks: &[fa3_tma_params::Tiling::LAYOUT],
        },
        KernelCrate {
            folder: "fa3-kernels",
            units: fa3_kernels_table::units(),
            blocks: fa3_kernels_params::LAYOUTS,
        },
        KernelCrate {
            folder: "fa3-tma/examples",
            units: examples_table::units(),
            blocks: examples_params::LAYOUTS,
        },
    ]
}
