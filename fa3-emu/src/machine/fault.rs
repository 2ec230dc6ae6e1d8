//! What stops a launch: where it happened, and what.

use std::fmt;

use super::exit::Unfinished;
use crate::check::Finding;
use crate::engine::cluster::ClusterBarrierError;
use crate::engine::matrix::MatrixError;
use crate::engine::mbarrier::TableError;
use crate::engine::named::NamedBarrierError;
use crate::engine::registers::RegisterError;
use crate::engine::tma::TmaError;
use crate::engine::wgmma::WgmmaError;

/// Whether memory was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It was read.
    Read,
    /// It was written.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// An instruction of a launch, and who executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The kernel.
    pub kernel: String,
    /// The CTA's index in the grid.
    pub cta: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes that execute the instruction, a bit each.
    pub lanes: u32,
    /// The instruction's line of PTX, counted from one.
    pub ptx_line: u32,
    /// The line of the source that it was compiled from, where the PTX says (`.loc`).
    pub source: Option<String>,
}

impl Site {
    /// The site, as that of several warps at once.
    fn of_warps(&self, warps: &str) -> String {
        let Self { kernel, cta: [x, y, z], lanes, ptx_line, .. } = self;
        let source = self.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        format!("{kernel} CTA ({x}, {y}, {z}) {warps} lanes {lanes:#010x}, PTX line {ptx_line}{source}")
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of_warps(&format!("warp {}", self.warp)))
    }
}

/// A warp's lanes that wait, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who waits, and where.
    pub site: Site,
    /// For what.
    pub reason: String,
}

/// What an instruction did that it must not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access that does not lie in one allocation, or not in the CTA's shared memory, or not in
    /// the parameters.
    #[error("{access} of {bytes} bytes at {space} address {address:#x}, which is out of bounds")]
    OutOfBounds {
        /// Whether it reads or writes.
        access: Access,
        /// The state space (PTX ISA, "State Spaces").
        space: &'static str,
        /// The first byte's address.
        address: u64,
        /// The bytes of the access.
        bytes: usize,
    },
    /// An address that is no multiple of what the access needs.
    #[error("{space} address {address:#x} is not a multiple of {alignment}")]
    Misaligned {
        /// The state space.
        space: &'static str,
        /// The address.
        address: u64,
        /// What it must be a multiple of, in bytes.
        alignment: u64,
    },
    /// A lane that executes an instruction whose member mask leaves it out (PTX ISA, "shfl.sync").
    #[error("the member mask {members:#010x} leaves out lanes that execute the instruction")]
    NotMember {
        /// The mask.
        members: u32,
    },
    /// A rank that the cluster does not have.
    #[error("CTA rank {rank} in a cluster of {size}")]
    Rank {
        /// The rank.
        rank: u32,
        /// CTAs of the cluster.
        size: usize,
    },
    /// `barrier.cluster.wait` without an arrival before it.
    #[error("barrier.cluster.wait of a warp that has not arrived: barrier.cluster.arrive comes first")]
    WaitBeforeArrival,
    /// `barrier.cluster.arrive` again without a wait since (PTX ISA, "barrier.cluster": a thread
    /// arrives once before the barrier completes).
    #[error(
        "barrier.cluster.arrive of a warp that has arrived and not waited since: \
         barrier.cluster.wait comes between two arrivals"
    )]
    SecondArrival,
    /// A phase that expects other bytes than the loads issued in it bring.
    #[error(transparent)]
    TransactionBytes(#[from] Box<TransactionBytes>),
    /// What the last warp of a CTA leaves behind.
    #[error(transparent)]
    Unfinished(Box<Unfinished>),
    /// A CTA of the cluster whose shared memory is used after its end.
    #[error(
        "every warp of CTA rank {rank} has exited, and its shared memory is gone: \
         barrier.cluster.arrive and barrier.cluster.wait before its exit would do"
    )]
    Exited {
        /// The rank.
        rank: usize,
    },
    /// A change of a warp's registers that is not possible.
    #[error(transparent)]
    Registers(#[from] RegisterError),
    /// An operand that lanes, or warps, must agree on.
    #[error(transparent)]
    NotUniform(#[from] Box<NotUniform>),
    /// Lanes that wait for others of their warp, which wait for them at another instruction.
    #[error(
        "waits for lanes {missing:#010x} of its warp, which wait for it elsewhere, at {other}: an instruction \
         that takes the lanes of a warp together needs them at the same place"
    )]
    Diverged {
        /// The lanes that are not here.
        missing: u32,
        /// Where they are.
        other: Box<Site>,
    },
    /// An instruction that takes all 32 lanes (PTX ISA, "wgmma.mma_async", "ldmatrix": `.aligned`) in a
    /// warp that has not got them, or no longer.
    #[error(
        "it takes all lanes of its warp, but lanes {missing:#010x} have exited, or the CTA has no threads for \
         them: a whole warp that stays together until then would do"
    )]
    PartOfWarp {
        /// The lanes that are not there.
        missing: u32,
    },
    /// An instruction of a warpgroup in one that has not got four warps.
    #[error("wgmma in a warpgroup of {warps} warps: a CTA of whole warpgroups, 128 threads each, would do")]
    Warpgroup {
        /// The warps that it has.
        warps: usize,
    },
    /// What the memory model or the rules of asynchronous operations do not allow.
    #[error(transparent)]
    Check(#[from] Box<Finding<Site>>),
    /// `trap`.
    #[error("the kernel trapped")]
    Trap,
    /// An operation that an mbarrier's state forbids.
    #[error(transparent)]
    Mbarrier(#[from] TableError),
    /// The same, where a warp arrived before.
    #[error(transparent)]
    Arrival(#[from] Box<Arrival>),
    /// An arrival that a named barrier's state forbids.
    #[error(transparent)]
    NamedBarrier(#[from] NamedBarrierError),
    /// An arrival that the cluster barrier's state forbids.
    #[error(transparent)]
    ClusterBarrier(#[from] ClusterBarrierError),
    /// A copy that is not possible.
    #[error(transparent)]
    Copy(#[from] TmaError),
    /// A product that is not possible.
    #[error(transparent)]
    Product(#[from] WgmmaError),
    /// A move of matrices that is not possible.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// An operand that all lanes of a warp, or all warps of a warpgroup, must agree on, and do not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who} {} and {} give {:#x} and {:#x} for {operand}, which all must agree on",
    .at[0], .at[1], .values[0], .values[1])]
pub struct NotUniform {
    /// What of the instruction.
    pub operand: &'static str,
    /// `lanes` or `warps`.
    pub who: &'static str,
    /// Two that do not agree.
    pub at: [usize; 2],
    /// What they give.
    pub values: [u64; 2],
}

/// An arrival at an mbarrier that its state forbids, after that of another.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("CTA rank {rank}, {source}; the last to arrive was {last}")]
pub struct Arrival {
    /// What the state forbids.
    pub source: TableError,
    /// The rank of the mbarrier's CTA in the cluster.
    pub rank: usize,
    /// Who arrived before, or expected bytes.
    pub last: Site,
}

/// A phase of an mbarrier that is complete while loads that were issued in it have not landed: it
/// expects fewer bytes than they bring.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "wrong transaction bytes: phase {phase} of the mbarrier at shared {address:#x} of CTA rank {rank} is \
     complete with the {expected} bytes that it expected, but {in_flight} more are in flight, issued by \
     {issuer}; expecting {} bytes would do",
    .expected + .in_flight
)]
pub struct TransactionBytes {
    /// The mbarrier's address in shared memory.
    pub address: u32,
    /// The rank of its CTA in the cluster.
    pub rank: usize,
    /// The phase, counted from 0.
    pub phase: u64,
    /// Bytes that it expected, which have landed.
    pub expected: u64,
    /// Bytes of the loads that have not.
    pub in_flight: u64,
    /// Who issued the first of them.
    pub issuer: Site,
}

/// Why a launch did not come to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The launch itself is not possible.
    #[error("{argument} = {value}, but {rule}")]
    Launch {
        /// The argument of the launch.
        argument: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        rule: String,
    },
    /// An instruction did what it must not.
    #[error("{site}: {kind}")]
    Fault {
        /// Where.
        site: Site,
        /// What.
        kind: FaultKind,
    },
    /// Everyone waits, and nobody is left who could end that.
    #[error("deadlock: every warp of the cluster waits{}", list(.waiting))]
    Deadlock {
        /// Every group of lanes that waits.
        waiting: Vec<Waiting>,
    },
    /// The step limit of the launch was reached.
    #[error("{site}: still running after {limit} warp instructions, the launch's step limit")]
    StepLimit {
        /// Where it stood.
        site: Site,
        /// The limit.
        limit: u64,
    },
}

/// A line for each run of neighbouring warps that wait at one place for one thing.
fn list(waiting: &[Waiting]) -> String {
    let alike = |one: &Waiting, next: &Waiting| {
        let warp = one.site.warp + 1;
        *next == Waiting { site: Site { warp, ..one.site.clone() }, reason: one.reason.clone() }
    };
    let runs = waiting.chunk_by(alike).filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        let warps = match run.len() {
            1 => format!("warp {}", first.site.warp),
            _ => format!("warps {} to {}", first.site.warp, last.site.warp),
        };
        Some(format!("\n  {}: {}", first.site.of_warps(&warps), first.reason))
    });
    runs.collect()
}
