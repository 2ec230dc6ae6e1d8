//! Bulk copies and tensor copies, which the copy engine (TMA) executes. PTX ISA, "Data Movement
//! and Conversion Instructions: Asynchronous copy", "Bulk copy" and "Tensor copy".

use super::operand::{Address, Space, Src};

/// A copy, executed by every active lane for itself, or the wait for copies. An L2 hint is
/// accepted and has no effect on results.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkOp {
    /// `cp.async.bulk.tensor`, `.tile`, from global to shared memory, complete on an mbarrier.
    TensorLoad {
        /// [`Space::SharedCta`], or [`Space::SharedCluster`] for `dst` and `barrier`.
        space: Space,
        /// The tile in shared memory.
        dst: Address,
        /// Which.
        tile: Tile,
        /// Gets the tile's bytes as completed.
        barrier: Address,
        /// `.multicast::cluster`: the CTAs that get it, each at the same offsets; 16 bits.
        multicast: Option<Src>,
    },
    /// `cp.async.bulk.tensor`, `.tile`, from shared to global memory, in the thread's bulk group.
    TensorStore {
        /// Which.
        tile: Tile,
        /// The tile in shared memory of the CTA.
        src: Address,
    },
    /// `cp.reduce.async.bulk.tensor`, `.tile`, in the thread's bulk group.
    TensorReduce {
        /// How the elements combine.
        f: BulkReduce,
        /// Which.
        tile: Tile,
        /// The tile in shared memory of the CTA.
        src: Address,
    },
    /// `cp.async.bulk`, from global to shared memory, complete on an mbarrier.
    Load {
        /// [`Space::SharedCta`], or [`Space::SharedCluster`] for `dst` and `barrier`.
        space: Space,
        /// In shared memory.
        dst: Address,
        /// In global memory.
        src: Address,
        /// A multiple of 16.
        bytes: Src,
        /// Gets the bytes as completed.
        barrier: Address,
        /// `.multicast::cluster`: the CTAs that get it, each at the same offsets; 16 bits.
        multicast: Option<Src>,
    },
    /// `cp.async.bulk`, from shared to global memory, in the thread's bulk group.
    Store {
        /// In global memory.
        dst: Address,
        /// In shared memory of the CTA.
        src: Address,
        /// A multiple of 16.
        bytes: Src,
    },
    /// `cp.reduce.async.bulk`, from shared to global memory, in the thread's bulk group.
    Reduce {
        /// How the elements combine.
        f: BulkReduce,
        /// Of the elements.
        ty: ElementTy,
        /// In global memory.
        dst: Address,
        /// In shared memory of the CTA.
        src: Address,
        /// A multiple of 16.
        bytes: Src,
    },
    /// `prefetch.tensormap`, which has no effect on results.
    PrefetchTensorMap {
        /// The map, at a generic address.
        addr: Address,
    },
    /// `cp.async.bulk.commit_group`: what the thread has begun since the last is a group.
    Commit,
    /// `cp.async.bulk.wait_group`.
    Wait {
        /// Until at most this many groups of the thread are pending.
        pending: u32,
        /// `.read`: until the others have read their sources.
        read: bool,
    },
}

/// A tile of a tensor in global memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// The tensor map, 128 bytes at a generic address.
    pub map: Address,
    /// Signed, 32 bits, innermost dimension first; one to five.
    pub coordinates: Box<[Src]>,
}

/// How a reducing copy combines elements in memory with those it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkReduce {
    /// Sum.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// `if old >= new { 0 } else { old + 1 }`.
    Inc,
    /// `if old == 0 || old > new { new } else { old - 1 }`.
    Dec,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// The element type of `cp.reduce.async.bulk`; of a tensor copy the tensor map has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementTy {
    /// `.u32`.
    U32,
    /// `.s32`.
    S32,
    /// `.u64`.
    U64,
    /// `.s64`.
    S64,
    /// `.b32`.
    B32,
    /// `.b64`.
    B64,
    /// `.f16`.
    F16,
    /// `.bf16`.
    Bf16,
    /// `.f32`.
    F32,
}
