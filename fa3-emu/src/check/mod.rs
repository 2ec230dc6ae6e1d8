//! Checks that do not depend on when things happen to take effect: races in shared memory, missing
//! proxy fences, reads of what nobody wrote, and the rules of `wgmma`'s registers.
//!
//! A [`Checker`] is told what the warps of a cluster do, in any order that their barriers allow, and
//! knows by vector clocks what has happened before what. The components that a clock counts for are
//!
//! - each warp; its time advances with everything that it releases to others;
//! - each mbarrier, whose time is the phases that have completed: a bulk load that completes on it
//!   writes at the end of its phase;
//! - each thread that has bulk stores, whose time is the bulk groups that have been waited for;
//! - each warpgroup's tensor core, whose time is the `wgmma` that have been waited for.
//!
//! Asynchronous operations are checked when they are issued, with what their issuer knows then. The
//! lanes of a warp are one actor. Global memory is not watched.
//!
//! ```
//! use fa3_emu::check::{Access, Actor, Checker, Finding, Rules, Shape};
//! let shape = Shape { ctas: 1, warps: 2, shared_bytes: 1024 };
//! let mut checker = Checker::new(shape, Rules::ALL, None);
//! let actor = |warp, pc| Actor { warp, pc, lanes: u32::MAX };
//! checker.access(actor(0, 3), 0, (64, 4), Access::WRITE)?;
//! let found = checker.access(actor(1, 9), 0, (64, 4), Access::READ);
//! assert!(matches!(found, Err(Finding::Race { other: Actor { warp: 0, pc: 3, .. }, .. })));
//! // With a barrier for both between the two, the read sees what was written.
//! checker.named_arrive(0, 0, 1, true, false);
//! checker.named_arrive(1, 0, 1, true, true);
//! checker.access(actor(1, 9), 0, (64, 4), Access::READ)?;
//! # Ok::<(), Finding<Actor>>(())
//! ```

mod barriers;
mod clock;
mod copies;
mod finding;
mod fragments;
mod memory;
mod products;
mod shadow;
mod threads;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use clock::{Clock, View};
pub use copies::Completion;
pub use finding::{Actor, BarrierUse, Finding, Fragment, Role, SharedBytes, Use};
pub use fragments::FragmentTable;
pub use memory::Access;
pub use threads::FenceKind;

use crate::checks::Checks;
use barriers::{ClusterClock, MbarrierClock, NamedClock};
use copies::Groups;
use fragments::Fragments;
use products::Pipe;
use shadow::Chunk;
use threads::Thread;

/// What a checker answers.
pub type Checked = Result<(), Finding<Actor>>;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// [`Finding::Race`], [`Finding::OverBarrier`], [`Finding::UnorderedInit`].
    pub races: bool,
    /// [`Finding::MissingProxyFence`], [`Finding::UnpublishedInit`].
    pub fences: bool,
    /// [`Finding::Uninitialised`].
    pub uninitialised: bool,
    /// [`Finding::PendingRegister`], [`Finding::MissingFence`], [`Finding::NoFence`].
    pub registers: bool,
}

impl Rules {
    /// Everything.
    pub const ALL: Self = Self { races: true, fences: true, uninitialised: true, registers: true };
    /// Nothing.
    pub const NONE: Self = Self { races: false, fences: false, uninitialised: false, registers: false };
}

impl From<Checks> for Rules {
    fn from(Checks { races, fences, uninitialised, registers, .. }: Checks) -> Self {
        Self { races, fences, uninitialised, registers }
    }
}

/// A cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its CTAs.
    pub ctas: u32,
    /// Warps of each.
    pub warps: u32,
    /// Bytes of shared memory of each.
    pub shared_bytes: u32,
}

/// What a component of the clocks stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Warp,
    Mbarrier { cta: u32, address: u32 },
    BulkGroups,
    Pipe,
}

/// A CTA as far as the checker knows it.
#[derive(Debug)]
struct Cta {
    chunks: Vec<Chunk>,
    /// The mbarriers that have been made and not taken away.
    mbarriers: Vec<MbarrierClock>,
    named: HashMap<u32, NamedClock>,
}

/// Watches a cluster.
#[derive(Debug)]
pub struct Checker<'a> {
    shape: Shape,
    rules: Rules,
    /// By component; the warps come first.
    sources: Vec<Source>,
    threads: Vec<Thread>,
    ctas: Vec<Cta>,
    cluster: ClusterClock,
    /// What was released to locations that are accessed with a memory order: CTA and chunk.
    locations: HashMap<(u32, u32), View>,
    /// Of threads with bulk stores: warp and lane.
    groups: HashMap<(u32, u32), Groups>,
    /// Of each warpgroup of the cluster.
    pipes: Vec<Option<Pipe>>,
    fragments: Option<Fragments<'a>>,
}

impl<'a> Checker<'a> {
    /// Watches a cluster that is about to begin. Without a table, registers are not checked.
    pub fn new(shape: Shape, rules: Rules, table: Option<&'a FragmentTable>) -> Self {
        let warps = shape.ctas.saturating_mul(shape.warps);
        let cta = |_| Cta {
            chunks: vec![Chunk::default(); shape.shared_bytes.div_ceil(shadow::CHUNK) as usize],
            mbarriers: Vec::new(),
            named: HashMap::new(),
        };
        let warpgroups = shape.ctas.saturating_mul(shape.warps.div_ceil(products::WARPGROUP));
        let fragments = table.filter(|table| rules.registers && !table.is_empty());
        Self {
            shape,
            rules,
            sources: vec![Source::Warp; warps as usize],
            threads: (0..warps).map(Thread::new).collect(),
            ctas: (0..shape.ctas).map(cta).collect(),
            cluster: ClusterClock::default(),
            locations: HashMap::new(),
            groups: HashMap::new(),
            pipes: (0..warpgroups).map(|_| None).collect(),
            fragments: fragments.map(|table| Fragments::new(table, warps)),
        }
    }

    /// A new component.
    fn component(sources: &mut Vec<Source>, source: Source) -> u32 {
        sources.push(source);
        u32::try_from(sources.len() - 1).unwrap_or(u32::MAX)
    }
}
