//! What a checker finds, and how it says so.

use std::fmt;

/// An instruction and who executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The warp, counted through the CTAs of the cluster.
    pub warp: u32,
    /// The instruction.
    pub pc: u32,
    /// The lanes.
    pub lanes: u32,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction {} of warp {}", self.pc, self.warp)
    }
}

/// Bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBytes {
    /// The CTA's rank in the cluster.
    pub cta: u32,
    /// The first byte's address.
    pub first: u32,
    /// The last one's.
    pub last: u32,
}

impl fmt::Display for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shared addresses {:#x} to {:#x} of CTA rank {}", self.first, self.last, self.cta)
    }
}

/// How shared memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// By an instruction that reads (`ld`, `ldmatrix`).
    Read,
    /// By an instruction that writes (`st`, `stmatrix`, `mbarrier.init`).
    Write,
    /// By `atom` or `red`.
    Atomic,
    /// By a bulk or tensor copy that writes it.
    Load {
        /// The rank of the CTA that the mbarrier is in.
        cta: u32,
        /// The address of the mbarrier that it completes on.
        barrier: u32,
    },
    /// By a bulk or tensor copy that reads it.
    Store,
    /// By `wgmma`, which reads it.
    Product,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("a read"),
            Self::Write => f.write_str("a write"),
            Self::Atomic => f.write_str("an atomic access"),
            Self::Load { cta, barrier } => {
                write!(f, "a bulk load's write (mbarrier {barrier:#x} of CTA rank {cta})")
            }
            Self::Store => f.write_str("a bulk store's read"),
            Self::Product => f.write_str("a wgmma's read"),
        }
    }
}

/// What orders others after an access.
struct End(Use);

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Use::Read | Use::Write | Use::Atomic => f.write_str(
                "a barrier would do at which that warp arrives after its access and this one waits before",
            ),
            Use::Load { cta, barrier } => {
                write!(f, "a wait for that load's phase of mbarrier {barrier:#x} of CTA rank {cta} would do")
            }
            Use::Store => f.write_str(
                "cp.async.bulk.wait_group.read would do in that thread, before it arrives where this one waits",
            ),
            Use::Product => {
                f.write_str("wgmma.wait_group would do in that warp, before it arrives where this one waits")
            }
        }
    }
}

/// What a warp does with an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierUse {
    /// It arrives, expects bytes or waits.
    Own,
    /// A bulk load completes bytes on it.
    CompleteBytes,
}

impl fmt::Display for BarrierUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "is used",
            Self::CompleteBytes => "is given to a bulk load",
        })
    }
}

/// What a register is to a `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Of the accumulator.
    D,
    /// Of the left operand.
    A,
}

/// A register of a `wgmma`'s fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Of which.
    pub role: Role,
    /// Its place in the list.
    pub index: u32,
}

impl fmt::Display for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.role {
            Role::D => "accumulator",
            Role::A => "A operand",
        };
        write!(f, "register {} of the {name}", self.index)
    }
}

/// Something that the memory model or the rules of asynchronous operations do not allow. `P` says
/// who the other party is: the checker knows [`Actor`]s, an error of a run has sites.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding<P> {
    /// Two accesses, one of them a write, that nothing orders (PTX ISA, "Memory Consistency Model:
    /// Data-races").
    #[error(
        "data race at {bytes} between {access} here and {other_access} by {other}: {}", End(*.other_access)
    )]
    Race {
        /// The access.
        access: Use,
        /// What both touch.
        bytes: SharedBytes,
        /// The access before it, in the order in which the run came to them.
        other_access: Use,
        /// Whose that is.
        other: P,
    },
    /// An asynchronous access to what ordinary instructions wrote, without a proxy fence between
    /// (PTX ISA, "Async proxy").
    #[error(
        "missing proxy fence: {access} at {bytes} may miss the write by {other}; fence.proxy.async would \
         do, in that warp after the write or in this one after their barrier"
    )]
    MissingProxyFence {
        /// The access.
        access: Use,
        /// What both touch.
        bytes: SharedBytes,
        /// Who wrote.
        other: P,
    },
    /// An access to bytes that nobody has written.
    #[error("uninitialised: {access} at {bytes}, which nobody has written")]
    Uninitialised {
        /// The access.
        access: Use,
        /// The bytes.
        bytes: SharedBytes,
    },
    /// An access to the bytes of an mbarrier, which are opaque (PTX ISA, "Contents of the mbarrier
    /// object").
    #[error("{access} at {bytes}, which belong to an mbarrier made by {other}: mbarrier.inval it first")]
    OverBarrier {
        /// The access.
        access: Use,
        /// The bytes.
        bytes: SharedBytes,
        /// Who initialised the mbarrier.
        other: P,
    },
    /// The use of an mbarrier that nothing orders after its initialisation.
    #[error(
        "mbarrier {address:#x} of CTA rank {cta} {action}, but nothing orders that after mbarrier.init \
         by {other}: a barrier would do that both take part in"
    )]
    UnorderedInit {
        /// The rank of the CTA that it is in.
        cta: u32,
        /// Its address.
        address: u32,
        /// What is done with it.
        action: BarrierUse,
        /// Who initialised it.
        other: P,
    },
    /// An asynchronous operation on an mbarrier whose initialisation no fence has published.
    #[error(
        "mbarrier {address:#x} of CTA rank {cta} {action}, which may miss mbarrier.init by {other}: \
         fence.mbarrier_init or fence.proxy.async would do after it"
    )]
    UnpublishedInit {
        /// The rank of the CTA that it is in.
        cta: u32,
        /// Its address.
        address: u32,
        /// What is done with it.
        action: BarrierUse,
        /// Who initialised it.
        other: P,
    },
    /// An access to a register of a `wgmma` that may still be executing (PTX ISA,
    /// "wgmma.mma_async", "wgmma.wait_group").
    #[error(
        "{} {register} of wgmma by {other}, which may still be executing: {} would do first",
        if *.written { "writes" } else { "reads" },
        if *.committed { "wgmma.wait_group for its group" } else { "wgmma.commit_group and wgmma.wait_group" }
    )]
    PendingRegister {
        /// The register.
        register: Fragment,
        /// Whether it is written.
        written: bool,
        /// Whether the `wgmma` is in a group.
        committed: bool,
        /// Who issued it.
        other: P,
    },
    /// A `wgmma` whose registers were accessed since the last `wgmma.fence` (PTX ISA, "wgmma.fence").
    #[error(
        "{register} of this wgmma was accessed by {other}, after the warp's last wgmma.fence: \
         wgmma.fence would do between them"
    )]
    MissingFence {
        /// The register.
        register: Fragment,
        /// Who accessed it last.
        other: P,
    },
    /// The first `wgmma` of a warp, before any `wgmma.fence`.
    #[error("wgmma without a wgmma.fence before it: a warp's first wgmma needs one")]
    NoFence,
}

impl<P> Finding<P> {
    /// The same with another description of the other party.
    pub fn map<Q>(self, describe: impl FnOnce(P) -> Q) -> Finding<Q> {
        match self {
            Self::Race { access, bytes, other_access, other } => {
                Finding::Race { access, bytes, other_access, other: describe(other) }
            }
            Self::MissingProxyFence { access, bytes, other } => {
                Finding::MissingProxyFence { access, bytes, other: describe(other) }
            }
            Self::Uninitialised { access, bytes } => Finding::Uninitialised { access, bytes },
            Self::OverBarrier { access, bytes, other } => {
                Finding::OverBarrier { access, bytes, other: describe(other) }
            }
            Self::UnorderedInit { cta, address, action, other } => {
                Finding::UnorderedInit { cta, address, action, other: describe(other) }
            }
            Self::UnpublishedInit { cta, address, action, other } => {
                Finding::UnpublishedInit { cta, address, action, other: describe(other) }
            }
            Self::PendingRegister { register, written, committed, other } => {
                Finding::PendingRegister { register, written, committed, other: describe(other) }
            }
            Self::MissingFence { register, other } => {
                Finding::MissingFence { register, other: describe(other) }
            }
            Self::NoFence => Finding::NoFence,
        }
    }
}
