//! Loads, stores, atomics and address conversion, lane by lane. PTX ISA, "Data Movement and
//! Conversion Instructions" and "Parallel Synchronization and Communication Instructions".

use super::operand::{Address, Reg, Space, Src, Ty};

/// An access to memory. An address must be a multiple of the size of what is accessed, all
/// elements of a vector together.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryOp {
    /// `ld`.
    Load {
        /// Where.
        space: Space,
        /// Of one element.
        ty: Ty,
        /// One, two or four registers of at least the width of `ty`, sign- or zero-extended into;
        /// `None` is `_`.
        dst: Box<[Option<Reg>]>,
        /// From here; consecutive elements follow each other.
        addr: Address,
        /// How it is ordered.
        order: Order,
    },
    /// `st`.
    Store {
        /// Where.
        space: Space,
        /// Of one element.
        ty: Ty,
        /// One, two or four values; of a wider register the low bits are stored.
        src: Box<[Src]>,
        /// To here; consecutive elements follow each other.
        addr: Address,
        /// How it is ordered.
        order: Order,
    },
    /// `atom` and `red`.
    Atomic {
        /// Where.
        space: Space,
        /// Which.
        f: AtomicFunction,
        /// 32 or 64 bits.
        ty: Ty,
        /// Gets the old value; `None` for `red` and `_`.
        dst: Option<Reg>,
        /// What it acts on.
        addr: Address,
        /// Operand; of [`AtomicFunction::Cas`] the value compared with.
        a: Src,
        /// Of [`AtomicFunction::Cas`] the new value.
        b: Option<Src>,
        /// How it is ordered.
        order: Order,
    },
    /// `cvta.space`: the generic address of an address in a space.
    ToGeneric {
        /// Of the operand.
        space: Space,
        /// Destination.
        dst: Reg,
        /// Operand, of the same width.
        a: Src,
    },
    /// `cvta.to.space`: the address in a space of a generic address.
    FromGeneric {
        /// Of the result.
        space: Space,
        /// Destination.
        dst: Reg,
        /// Operand, of the same width.
        a: Src,
    },
    /// `mapa.shared::cluster`: the address, among those of the cluster, of the same place in the
    /// shared memory of another CTA.
    MapToCta {
        /// Destination.
        dst: Reg,
        /// An address in shared memory, of the same width.
        a: Src,
        /// The rank of that CTA in the cluster, 32 bits.
        cta: Src,
    },
    /// `prefetch` of a line into a cache, which has no effect on results.
    Prefetch {
        /// Where.
        space: Space,
        /// The line.
        addr: Address,
    },
}

/// What `atom` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicFunction {
    /// Sum; of `f32` rounded to nearest.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// `if old >= a { 0 } else { old + 1 }`.
    Inc,
    /// `if old == 0 || old > a { a } else { old - 1 }`.
    Dec,
    /// The operand.
    Exchange,
    /// `if old == a { b } else { old }`.
    Cas,
}

/// The memory order of an access. PTX ISA, "Memory Consistency Model".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `.weak`, and what says nothing.
    Weak,
    /// `.volatile`.
    Volatile,
    /// `ld.global.nc`: of memory that nothing writes while the kernel runs.
    NonCoherent,
    /// `.relaxed`.
    Relaxed(Scope),
    /// `.acquire`.
    Acquire(Scope),
    /// `.release`.
    Release(Scope),
    /// `.acq_rel`.
    AcqRel(Scope),
}

/// The threads that an order holds for. PTX ISA, "Scope".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the CTA.
    Cta,
    /// Those of the cluster.
    Cluster,
    /// Those of the device.
    Gpu,
    /// All.
    Sys,
}
