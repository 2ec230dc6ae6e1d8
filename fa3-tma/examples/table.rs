//! The kernels of the examples, one row each.
//!
//! Read by the crate and by the build step. Depends on nothing but the two types that its
//! parent module provides.

use super::{Arch, Unit};

/// The matrix product's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmKernel {
    /// Rows of C a tile: 64 for each of two consumer warpgroups.
    pub tile_m: u32,
    /// Columns of C a tile.
    pub tile_n: u32,
    /// Stages of the ring, each with 64 columns of A and of B.
    pub stages: u32,
    /// Stages that the first warpgroup runs ahead of the second.
    pub lead: u32,
}

/// Measured on an H200 in turns with cuBLAS, TFLOP/s sustained at 4096³ and 8192³:
/// - two stages of lead 668 and 682, none 637 and 656: the end of one warpgroup's tile runs under the
///   other's products;
/// - clusters of two that share the loads of B by multicast 661 and 658, of four 474 and 450: what L2
///   is spared does not pay for waiting on each other, so there is none;
/// - the bias by TMA into shared memory 796 at 4096³ in bursts, by loads from global memory 701.
pub const GEMM: GemmKernel = GemmKernel { tile_m: 128, tile_n: 256, stages: 4, lead: 2 };

impl GemmKernel {
    /// Columns of A and B a stage: a row of the 128-byte swizzle.
    pub const TILE_K: u32 = 64;
    /// Threads a CTA: the producer warpgroup and two consumers.
    pub const THREADS: u32 = 384;
    /// The kernel's `extern "C"` name.
    pub const SYMBOL: &'static str = "gemm_bf16";

    /// Dynamic shared memory a CTA, bytes: the ring, two panels of 64×64 of C and a slot of biases for
    /// each warpgroup, barriers.
    pub const fn shared_bytes(&self) -> u32 {
        let stage = (self.tile_m + self.tile_n) * Self::TILE_K * 2;
        let panels = 2 * 2 * 64 * 64 * 2;
        let biases = 2 * self.tile_n * 4;
        self.stages * stage + panels + biases + 16 * (self.stages + 2)
    }

    fn unit(&self) -> Unit {
        Unit {
            symbol: Self::SYMBOL.to_owned(),
            source: "kernels/gemm.cu",
            arches: &[Arch::Sm90a],
            expect_sass: &["HGMMA", "UTMALDG", "UTMASTG"],
            defines: vec![
                ("FA3_TILE_M", self.tile_m.to_string()),
                ("FA3_TILE_N", self.tile_n.to_string()),
                ("FA3_STAGES", self.stages.to_string()),
                ("FA3_LEAD", self.lead.to_string()),
                ("FA3_SHARED_BYTES", self.shared_bytes().to_string()),
            ],
        }
    }
}

/// The transpose's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposeKernel {
    /// Rows of the input a tile.
    pub tile_rows: u32,
    /// Columns of the input a tile.
    pub tile_columns: u32,
    /// CTAs an SM: each asks for so much shared memory that no more fit.
    pub ctas: u32,
}

/// Measured on an H200 beside a copy's 4,190 GB/s, 8 matrices of 4096×8192:
/// - 3, 4, 5 CTAs an SM 3,768, 4,093 and 4,062: bytes in flight have to cover the latency, and more of
///   them get in each other's way;
/// - tiles of 64×64 4,011, of 256×64 4,052, of 128×128 4,092 (and slower than 128×64 where rows are not
///   aligned);
/// - tiles in the order of the input's rows 3,904; CTAs that persist, with a ring of tiles, 3,670.
pub const TRANSPOSE: TransposeKernel = TransposeKernel { tile_rows: 128, tile_columns: 64, ctas: 4 };

impl TransposeKernel {
    /// Threads a CTA.
    pub const THREADS: u32 = 128;
    /// The kernel's `extern "C"` name.
    pub const SYMBOL: &'static str = "transpose_bf16";

    /// Dynamic shared memory a CTA, bytes: an SM's, of which each CTA takes a kilobyte more than it asks
    /// for, through [`Self::ctas`].
    pub const fn shared_bytes(&self) -> u32 {
        228 * 1024 / self.ctas - 1024
    }

    fn unit(&self) -> Unit {
        Unit {
            symbol: Self::SYMBOL.to_owned(),
            source: "kernels/transpose.cu",
            arches: &[Arch::Sm90a],
            expect_sass: &["UTMALDG", "UTMASTG", "LDSM"],
            defines: vec![
                ("FA3_TILE_ROWS", self.tile_rows.to_string()),
                ("FA3_TILE_COLUMNS", self.tile_columns.to_string()),
                ("FA3_SHARED_BYTES", self.shared_bytes().to_string()),
            ],
        }
    }
}

/// A loop of matrix products alone: what the tensor cores give to a kernel of this tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CeilingKernel {
    /// What it is called in requests and results.
    pub name: &'static str,
    /// The kernel's `extern "C"` name.
    pub symbol: &'static str,
    /// Columns of Q, K, V and O.
    pub head_dim: u32,
    /// Keys a pass.
    pub keys: u32,
    /// Warpgroups a CTA, of 64 rows each.
    pub warpgroups: u32,
    /// Whether a pass multiplies Q by Kᵀ, both from shared memory.
    pub scores: bool,
    /// Whether it multiplies P, from registers, by V.
    pub values: bool,
}

/// The widest products there are, 64×256×16 a `wgmma`, with A from shared memory and with A from
/// registers; and both products of attention, with the tiles that public kernels have.
pub const CEILINGS: [CeilingKernel; 5] = {
    let attention = CeilingKernel {
        name: "d128",
        symbol: "ceiling_bf16_d128",
        head_dim: 128,
        keys: 128,
        warpgroups: 2,
        scores: true,
        values: true,
    };
    let bare = CeilingKernel { head_dim: 256, ..attention };
    [
        CeilingKernel { name: "shared", symbol: "ceiling_bf16_shared", keys: 256, values: false, ..bare },
        CeilingKernel { name: "registers", symbol: "ceiling_bf16_registers", scores: false, ..bare },
        CeilingKernel { name: "d64", symbol: "ceiling_bf16_d64", head_dim: 64, warpgroups: 3, ..attention },
        attention,
        CeilingKernel { name: "d256", symbol: "ceiling_bf16_d256", head_dim: 256, keys: 80, ..attention },
    ]
};

impl CeilingKernel {
    /// Threads a CTA.
    pub const fn threads(&self) -> u32 {
        128 * self.warpgroups
    }

    /// Dynamic shared memory a CTA, bytes, and the size of its source: Q, K, V, and P for a warpgroup.
    pub const fn shared_bytes(&self) -> u32 {
        let tile = self.keys * self.head_dim * 2;
        let scores = if self.scores { 64 * self.warpgroups * self.head_dim * 2 + tile } else { 0 };
        let values = if self.values { tile + 64 * self.keys * 2 } else { 0 };
        scores + values
    }

    /// Floating-point operations a CTA in one pass.
    pub const fn flops(&self) -> u64 {
        let product = 2 * 64 * self.warpgroups as u64 * self.keys as u64 * self.head_dim as u64;
        product * (self.scores as u64 + self.values as u64)
    }

    fn unit(&self) -> Unit {
        Unit {
            symbol: self.symbol.to_owned(),
            source: "kernels/ceiling.cu",
            arches: &[Arch::Sm90a],
            expect_sass: &["HGMMA"],
            defines: vec![
                ("FA3_HEAD_DIM", self.head_dim.to_string()),
                ("FA3_KEYS", self.keys.to_string()),
                ("FA3_WARPGROUPS", self.warpgroups.to_string()),
                ("FA3_SCORES", u32::from(self.scores).to_string()),
                ("FA3_VALUES", u32::from(self.values).to_string()),
                ("FA3_SHARED_BYTES", self.shared_bytes().to_string()),
            ],
        }
    }
}

/// What the build step compiles.
pub fn units() -> Vec<Unit> {
    let mut units = vec![GEMM.unit(), TRANSPOSE.unit()];
    units.extend(CEILINGS.iter().map(CeilingKernel::unit));
    units
}
