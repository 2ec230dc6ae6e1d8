//! The end of a CTA: what its warps must not leave behind.

use super::asynchronous::Issuer;
use super::cluster::Cluster;
use super::fault::{FaultKind, RunError, Site};

/// What is left behind when the last warp of a CTA exits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfinished {
    /// An mbarrier in the middle of a phase.
    #[error(
        "the CTA exits while the mbarrier at shared {address:#x} is in use: {state}{}",
        .last.as_ref().map(|site| format!("; the last to arrive was {site}")).unwrap_or_default()
    )]
    Mbarrier {
        /// Its address.
        address: u32,
        /// What its phase waits for.
        state: String,
        /// Who arrived last.
        last: Option<Site>,
    },
    /// A named barrier that only some have reached.
    #[error("the CTA exits while {arrived} of {threads} threads have arrived at named barrier {id}")]
    NamedBarrier {
        /// The barrier.
        id: usize,
        /// Threads that have arrived.
        arrived: u32,
        /// Threads that it waits for.
        threads: u32,
    },
    /// A load into the CTA's shared memory that nobody has waited for.
    #[error(
        "the CTA exits while {bytes} bytes may be on their way to its shared {address:#x}: nobody waits for \
         the phase of the mbarrier that they complete on; issued by {issuer}"
    )]
    Load {
        /// Where they go.
        address: u32,
        /// How many.
        bytes: u32,
        /// Who issued the load.
        issuer: Site,
    },
    /// A copy out of shared memory.
    #[error(
        "the CTA exits while a bulk copy may still read its shared memory: no \
         cp.async.bulk.wait_group[.read] waits for it; issued by {issuer}"
    )]
    Store {
        /// Who issued the copy.
        issuer: Site,
    },
    /// Products.
    #[error(
        "{warp} exits while {products} products of its warpgroup are pending: no wgmma.wait_group waits for them"
    )]
    Products {
        /// The warp, at its last instruction.
        warp: Site,
        /// How many.
        products: u64,
    },
    /// The cluster's barrier.
    #[error("{warp} exits after barrier.cluster.arrive, without barrier.cluster.wait")]
    ClusterBarrier {
        /// The warp, at its last instruction.
        warp: Site,
    },
}

impl Cluster<'_> {
    /// The last warp of a CTA, at this place, has exited.
    pub(super) fn end_cta(&mut self, last: usize) -> Result<(), RunError> {
        let cta = self.warps[last].cta;
        if let Err(error) = self.ctas[cta].registers.check_complete() {
            return Err(RunError::Fault { site: self.last_of(last), kind: error.into() });
        }
        let left = if self.options.checks.exit { self.unfinished(cta) } else { None };
        if let Some(unfinished) = left {
            let site = self.last_of(last);
            return Err(RunError::Fault { site, kind: FaultKind::Unfinished(Box::new(unfinished)) });
        }
        self.ctas[cta].exited = true;
        self.drain_stores(cta)
    }

    /// That a CTA still runs, which somebody else writes to, reads or arrives at.
    pub(super) fn check_running(&self, cta: usize) -> Result<(), FaultKind> {
        if self.ctas[cta].exited && self.options.checks.exit {
            return Err(FaultKind::Exited { rank: cta });
        }
        Ok(())
    }

    /// Where a warp executed its last instruction.
    fn last_of(&self, warp: usize) -> Site {
        let pc = self.warps[warp].exited_at;
        self.site_of(Issuer { warp, lanes: 0, pc })
    }

    fn unfinished(&self, cta: usize) -> Option<Unfinished> {
        let of_barriers = || {
            let this = &self.ctas[cta];
            let (address, barrier) = this.barriers.iter().find(|(_, barrier)| !barrier.is_quiescent())?;
            let last = this.arrivals.get(&address).map(|&issuer| self.site_of(issuer));
            Some(Unfinished::Mbarrier { address, state: barrier.to_string(), last })
        };
        let of_named = || {
            let (id, arrived, threads) = self.ctas[cta].named.incomplete().next()?;
            Some(Unfinished::NamedBarrier { id, arrived, threads })
        };
        self.unfinished_load(cta)
            .or_else(of_barriers)
            .or_else(of_named)
            .or_else(|| self.unfinished_store(cta))
            .or_else(|| self.unfinished_warp(cta))
    }

    fn unfinished_warp(&self, cta: usize) -> Option<Unfinished> {
        let warps = self.geometry.warps();
        let mut all = cta * warps..(cta + 1) * warps;
        all.find_map(|place| {
            let products = self.unwaited_products(place);
            if products != 0 {
                return Some(Unfinished::Products { warp: self.last_of(place), products });
            }
            self.warps[place].cluster_arrival?;
            Some(Unfinished::ClusterBarrier { warp: self.last_of(place) })
        })
    }
}
