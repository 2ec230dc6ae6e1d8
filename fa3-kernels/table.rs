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

/// Stages of the K ring and of the V ring.
pub const STAGES: u32 = 2;

/// A slot of shared memory in which the producer hands a tile to the consumers.
const WORK_BYTES: u32 = 48;

/// A forward kernel for SM90: the heads it takes, its tile shape and the choices of its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForwardKernel {
    /// The type of Q, K, V and O.
    pub operand: Operand,
    /// The widest heads of Q and K that it takes; narrower ones are filled up with zeros by TMA.
    pub head_dim: u32,
    /// The widest heads of V and O that it takes.
    pub value_dim: u32,
    /// Consumer warpgroups; each owns 64 rows of Q.
    pub consumers: u32,
    /// Keys a tile.
    pub tile_n: u32,
    /// CTAs a cluster, which share the loads of K and V by multicast: 1 or 2. Their tiles are neighbours.
    pub cluster: u32,
    /// Whether O leaves through the shared memory of Q, for want of room for its own. Else there is
    /// room for two tiles of Q, too.
    pub output_over_query: bool,
    /// Whether S takes Q from registers. One stage of Q is then as good as two.
    pub query_in_registers: bool,
    /// Whether the next tile's first scores are issued before this tile's last P·V. Not with O over Q.
    pub scores_ahead: bool,
    /// Of eight pairs of exponentials, those that are taken by a polynomial instead of the unit for
    /// special functions.
    pub polynomials: u32,
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

    /// Stages of the Q ring.
    pub const fn query_stages(&self) -> u32 {
        if self.output_over_query || self.query_in_registers { 1 } else { 2 }
    }

    /// Dynamic shared memory a CTA, bytes: the rings of Q, K and V, O unless it shares Q's, two slots
    /// of tiles at hand for each stage of Q, barriers.
    pub const fn shared_bytes(&self) -> u32 {
        let size = self.operand.bytes();
        let (keys, values) = (self.head_dim * size, self.value_dim * size);
        let queries = self.query_stages() * keys * self.tile_m();
        let output = if self.output_over_query { 0 } else { values * self.tile_m() };
        let work = self.query_stages() * 2 * WORK_BYTES;
        // A ring takes 16 bytes of barriers a stage.
        let barriers = 16 * (self.query_stages() + 2 * STAGES);
        queries + STAGES * self.tile_n * (keys + values) + output + work + barriers
    }

    /// The kernel's `extern "C"` name; that of a row which is not in the table ends in `_own`.
    pub fn symbol(&self) -> String {
        let values = match self.value_dim {
            value_dim if value_dim == self.head_dim => String::new(),
            value_dim => format!("v{value_dim}"),
        };
        let own = if forward_kernels().any(|row| row == self) { "" } else { "_own" };
        format!("fa3_fwd_sm90_{}_d{}{values}_m{}{own}", self.operand.name(), self.head_dim, self.tile_m())
    }

    /// What the build step compiles for it.
    pub fn unit(&self) -> Unit {
        let flag = |on: bool| u32::from(on).to_string();
        Unit {
            symbol: self.symbol(),
            source: "kernels/sm90/forward.cu",
            arches: &[Arch::Sm90a],
            expect_sass: &["HGMMA", "UTMALDG", "UTMASTG", "USETMAXREG.TRY_ALLOC", "USETMAXREG.DEALLOC"],
            defines: vec![
                ("FA3_OPERAND_BF16", flag(self.operand == Operand::Bf16)),
                ("FA3_HEAD_DIM", self.head_dim.to_string()),
                ("FA3_VALUE_DIM", self.value_dim.to_string()),
                ("FA3_CONSUMERS", self.consumers.to_string()),
                ("FA3_TILE_N", self.tile_n.to_string()),
                ("FA3_CLUSTER", self.cluster.to_string()),
                ("FA3_STAGES", STAGES.to_string()),
                ("FA3_QUERY_STAGES", self.query_stages().to_string()),
                ("FA3_OUTPUT_OVER_QUERY", flag(self.output_over_query)),
                ("FA3_QUERY_IN_REGISTERS", flag(self.query_in_registers)),
                ("FA3_SCORES_AHEAD", flag(self.scores_ahead)),
                ("FA3_POLYNOMIALS", self.polynomials.to_string()),
                ("FA3_SHARED_BYTES", self.shared_bytes().to_string()),
            ],
        }
    }
}

/// Measured on an H200, bf16, 16k tokens in all, hidden size 2048 (d96 20 heads, d192 16), sustained
/// TFLOP/s, noncausal unless said otherwise, all with a softmax that took its maximum first, since when
/// all are faster (`docs/performance.md`):
/// - warpgroups in turns (strict ping-pong) against none, at 16k: d64 m192 513/503, d64 m128
///   458/391, d128 635/607: all kernels take turns;
/// - d64, three consumers against two: 496/436 at 4k, 521/452 at 16k, 429/394 causal at 4k, but
///   276/309 causal at 1k;
/// - d96, 192×112 (three consumers), 192×96, 128×128, 128×160 and 128×176: 592, 581, 560, 566, 569 at
///   16k, 483, 485, 471, 460, 464 causal at 4k, but 427, 441, 454, 427, 449 at 1k and 288, 304, 330,
///   304, 303 causal at 1k: 192×112 for long sequences, 128×128 for short ones;
/// - d192 with values of 128, 128×128 and O over Q against O of its own beside 112 or 96 keys: 668,
///   666, 651 at 16k, 570, 556, 562 causal at 4k;
/// - d192, 112, 96 and 80 keys a tile: 719, 699, 658 at 16k, 578, 580, 585 causal at 4k;
/// - two stages of Q against one, at 1k: d64 m192 417/411, d128 568/547; at 16k neither matters;
/// - three stages of K and V against two: d64 m192 521/522, d128 with O over Q 635/652: all kernels have two;
/// - L2 hints (K and V evict-last, Q evict-first): d64 m192 527/522, d128 652/652, d256 700/708.
const fn rows(operand: Operand) -> [ForwardKernel; 8] {
    let d128 = ForwardKernel {
        operand,
        head_dim: 128,
        value_dim: 128,
        consumers: 2,
        tile_n: 128,
        cluster: 1,
        output_over_query: false,
        query_in_registers: false,
        scores_ahead: false,
        polynomials: 0,
    };
    let d256 = ForwardKernel { head_dim: 256, value_dim: 256, tile_n: 80, output_over_query: true, ..d128 };
    [
        ForwardKernel { head_dim: 64, value_dim: 64, ..d128 },
        ForwardKernel { head_dim: 64, value_dim: 64, consumers: 3, ..d128 },
        ForwardKernel { head_dim: 96, value_dim: 96, ..d128 },
        ForwardKernel { head_dim: 96, value_dim: 96, consumers: 3, tile_n: 112, ..d128 },
        d128,
        ForwardKernel { head_dim: 192, output_over_query: true, ..d128 },
        ForwardKernel { head_dim: 192, value_dim: 192, tile_n: 112, output_over_query: true, ..d128 },
        d256,
    ]
}

/// The SM90 forward kernels of one operand type.
pub const FORWARD_F16: [ForwardKernel; 8] = rows(Operand::F16);
/// The SM90 forward kernels of the other.
pub const FORWARD_BF16: [ForwardKernel; 8] = rows(Operand::Bf16);

/// Every SM90 forward kernel.
pub fn forward_kernels() -> impl Iterator<Item = &'static ForwardKernel> {
    FORWARD_F16.iter().chain(&FORWARD_BF16)
}

/// The kernel that lists the tiles of ragged batches for the forward kernels. One CTA, no dynamic
/// shared memory.
pub const SCHEDULE_SYMBOL: &str = "fa3_schedule_sm90";
/// Its threads.
pub const SCHEDULE_THREADS: u32 = 256;

fn schedule_unit() -> Unit {
    Unit {
        symbol: SCHEDULE_SYMBOL.to_owned(),
        source: "kernels/sm90/schedule.cu",
        arches: &[Arch::Sm90a],
        expect_sass: &[],
        defines: vec![("FA3_THREADS", SCHEDULE_THREADS.to_string())],
    }
}

/// The kernel that merges partial results by their log-sum-exps: operands in f32, f16 or bf16, as its
/// parameters say. No dynamic shared memory.
pub const MERGE_SYMBOL: &str = "fa3_merge_sm90";
/// Its threads a CTA.
pub const MERGE_THREADS: u32 = 256;

fn merge_unit() -> Unit {
    Unit {
        symbol: MERGE_SYMBOL.to_owned(),
        source: "kernels/sm90/merge.cu",
        arches: &[Arch::Sm90a],
        expect_sass: &["LDG.E.128", "STG.E.128"],
        defines: vec![("FA3_THREADS", MERGE_THREADS.to_string())],
    }
}

/// What the build step compiles.
pub fn units() -> Vec<Unit> {
    forward_kernels().map(ForwardKernel::unit).chain([schedule_unit(), merge_unit()]).collect()
}
