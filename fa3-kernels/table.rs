//! The kernels of this crate, one row each, with the measurement that chose its tiles.
//!
//! Read by the crate and by the build step. Depends on nothing but the two types that its
//! parent module provides.

use super::{Arch, Unit};

/// The operand type of a kernel. Sums are f32 in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl Operand {
    /// Bytes an element.
    pub const fn bytes(self) -> u32 {
        2
    }

    /// The short name used in symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

/// A forward kernel for SM90: its tile shape and the choices of its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForwardKernel {
    /// The type of Q, K, V and O.
    pub operand: Operand,
    /// The head dimension of Q, K, V and O.
    pub head_dim: u32,
    /// Consumer warpgroups; each owns 64 rows of Q.
    pub consumers: u32,
    /// Keys a tile.
    pub tile_n: u32,
    /// Stages of the K ring and of the V ring.
    pub stages: u32,
    /// Whether the warpgroups take turns at issuing products (strict ping-pong).
    pub turns: bool,
    /// Whether O is rescaled only when a row's maximum grew by more than 2⁸.
    pub lazy_rescale: bool,
    /// Whether O leaves through the shared memory of Q, for want of room for its own.
    pub output_over_query: bool,
}

impl ForwardKernel {
    /// Rows of Q a tile.
    pub const fn tile_m(&self) -> u32 {
        64 * self.consumers
    }

    /// Threads a CTA: the producer warpgroup and the consumers.
    pub const fn threads(&self) -> u32 {
        128 * (self.consumers + 1)
    }

    /// Dynamic shared memory a CTA, bytes: Q, the K and V rings, O unless it shares Q's, barriers.
    pub const fn shared_bytes(&self) -> u32 {
        let row = self.head_dim * self.operand.bytes();
        let query_tiles = if self.output_over_query { 1 } else { 2 };
        // A ring takes 16 bytes of barriers a stage; Q's has one stage, K's and V's `stages` each.
        let barriers = 16 * (1 + 2 * self.stages);
        row * (query_tiles * self.tile_m() + 2 * self.stages * self.tile_n) + barriers
    }

    /// The kernel's `extern "C"` name.
    pub fn symbol(&self) -> String {
        format!("fa3_fwd_sm90_{}_d{}_m{}", self.operand.name(), self.head_dim, self.tile_m())
    }

    fn unit(&self) -> Unit {
        let flag = |on: bool| u32::from(on).to_string();
        Unit {
            symbol: self.symbol(),
            source: "kernels/sm90/forward.cu",
            arches: &[Arch::Sm90a],
            expect_sass: &["HGMMA", "UTMALDG", "UTMASTG", "USETMAXREG.TRY_ALLOC", "USETMAXREG.DEALLOC"],
            defines: vec![
                ("FA3_OPERAND_BF16", flag(self.operand == Operand::Bf16)),
                ("FA3_HEAD_DIM", self.head_dim.to_string()),
                ("FA3_CONSUMERS", self.consumers.to_string()),
                ("FA3_TILE_N", self.tile_n.to_string()),
                ("FA3_STAGES", self.stages.to_string()),
                ("FA3_TURNS", flag(self.turns)),
                ("FA3_LAZY_RESCALE", flag(self.lazy_rescale)),
                ("FA3_OUTPUT_OVER_QUERY", flag(self.output_over_query)),
                ("FA3_SHARED_BYTES", self.shared_bytes().to_string()),
            ],
        }
    }
}

/// Measured on an H200, bf16, 16k tokens in all, hidden size 2048, sustained TFLOP/s, noncausal
/// unless said otherwise:
/// - turns against none, at 16k: d64 m192 513/503, d64 m128 458/391, d128 635/607;
/// - eager against lazy rescale: d128 652/627 at 16k; d256 708/725 at 16k, 665/679 at 4k and
///   675/702 causal at 16k;
/// - d64, three consumers against two: 496/436 at 4k, 521/452 at 16k, 429/394 causal at 4k, but
///   276/309 causal at 1k;
/// - more than two stages: d64 m192 with three 521/522, d128 with three and O over Q 635/652;
/// - L2 hints (K and V evict-last, Q evict-first): d64 m192 527/522, d128 652/652, d256 700/708.
const fn rows(operand: Operand) -> [ForwardKernel; 4] {
    let d128 = ForwardKernel {
        operand,
        head_dim: 128,
        consumers: 2,
        tile_n: 128,
        stages: 2,
        turns: true,
        lazy_rescale: false,
        output_over_query: false,
    };
    [
        ForwardKernel { head_dim: 64, ..d128 },
        ForwardKernel { head_dim: 64, consumers: 3, ..d128 },
        d128,
        ForwardKernel { head_dim: 256, tile_n: 80, output_over_query: true, ..d128 },
    ]
}

/// The SM90 forward kernels of one operand type.
pub const FORWARD_F16: [ForwardKernel; 4] = rows(Operand::F16);
/// The SM90 forward kernels of the other.
pub const FORWARD_BF16: [ForwardKernel; 4] = rows(Operand::Bf16);

/// Every SM90 forward kernel.
pub fn forward_kernels() -> impl Iterator<Item = &'static ForwardKernel> {
    FORWARD_F16.iter().chain(&FORWARD_BF16)
}

/// What the build step compiles.
pub fn units() -> Vec<Unit> {
    forward_kernels().map(ForwardKernel::unit).collect()
}
