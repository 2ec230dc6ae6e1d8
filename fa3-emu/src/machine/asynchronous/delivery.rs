//! When operations take effect: what is pending, what of it somebody waits for, and what comes next.

use super::super::cluster::Cluster;
use super::super::fault::{FaultKind, RunError};
use super::super::lanes::lanes_of;
use super::super::warp::Wait;
use super::{BarrierAt, Issuer};
use crate::options::Order;

/// A pending operation, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// A load, which lands.
    Load(usize),
    /// A store, which reads its source or, when it has, writes.
    Store(usize),
    /// A warpgroup's oldest product.
    Product(usize),
}

impl Cluster<'_> {
    /// Between two turns: delivers what the order says is due.
    pub(in super::super) fn deliver_due(&mut self) -> Result<(), RunError> {
        match self.options.order {
            Order::Eager => {
                for pipe in 0..self.asynchronous.pipes.len() {
                    while !self.asynchronous.pipes[pipe].queue.is_empty() {
                        self.deliver(Pending::Product(pipe))?;
                    }
                }
            }
            Order::Lazy => {}
            Order::Seeded(_) => {
                // On average one operation in two turns.
                while self.random.below(3) == 0 {
                    let pending = self.pending();
                    let Some(&(_, chosen)) = pending.get(self.random.below(pending.len())) else { break };
                    self.deliver(chosen)?;
                }
            }
        }
        Ok(())
    }

    /// When no warp can go on: delivers an operation that lets one, or brings it nearer. Whether there
    /// was any.
    pub(in super::super) fn deliver_needed(&mut self) -> Result<bool, RunError> {
        let mut needed = self.pending();
        needed.retain(|&(_, pending)| self.is_needed(pending));
        if needed.is_empty() {
            // Who asks again and again, without ever waiting, may be after any load.
            needed = self.pending();
            needed.retain(|(_, pending)| matches!(pending, Pending::Load(_)));
        }
        let chosen = match self.options.order {
            Order::Seeded(_) => needed.get(self.random.below(needed.len())),
            Order::Eager | Order::Lazy => needed.iter().min_by_key(|&&(number, _)| number),
        };
        let Some(&(_, chosen)) = chosen else { return Ok(false) };
        self.deliver(chosen)?;
        Ok(true)
    }

    /// Everything that may be delivered next, with its number.
    fn pending(&self) -> Vec<(u64, Pending)> {
        let engines = &self.asynchronous;
        let loads = engines.loads.iter().enumerate();
        let stores = engines.stores.iter().enumerate();
        let pipes = engines.pipes.iter().enumerate();
        let oldest = pipes.filter_map(|(index, pipe)| Some((pipe.queue.front()?.1, Pending::Product(index))));
        let loads = loads.map(|(index, load)| (load.number, Pending::Load(index)));
        loads
            .chain(stores.map(|(index, store)| (store.number, Pending::Store(index))))
            .chain(oldest)
            .collect()
    }

    /// Whether somebody waits for it; of a load that is asked under the lazy order alone.
    fn is_needed(&self, pending: Pending) -> bool {
        let mut waits = self.warps.iter().enumerate().flat_map(|(place, warp)| {
            warp.groups.iter().filter_map(move |group| group.wait.map(|wait| (place, wait)))
        });
        match pending {
            Pending::Load(index) => {
                let at = self.asynchronous.loads[index].load.barrier;
                self.options.order != Order::Lazy
                    || waits.any(|(_, wait)| match wait {
                        Wait::Phase { cta, offset, .. } => BarrierAt { cta, offset } == at,
                        _ => false,
                    })
            }
            Pending::Store(index) => {
                let store = &self.asynchronous.stores[index];
                waits.any(|(place, wait)| match wait {
                    Wait::Copies { lanes, pending, reads_only } => lanes_of(lanes).any(|lane| {
                        store.holds_up(place, lane, self.wanted_groups(place, lane, pending), reads_only)
                    }),
                    _ => false,
                })
            }
            Pending::Product(pipe) => waits.any(|(place, wait)| match wait {
                Wait::Products { wanted } => {
                    self.geometry.warpgroup(place) == pipe && !self.products_are_complete(place, wanted)
                }
                _ => false,
            }),
        }
    }

    fn deliver(&mut self, pending: Pending) -> Result<(), RunError> {
        let (issuer, result) = match pending {
            Pending::Load(index) => {
                let load = self.asynchronous.loads.remove(index).load;
                (load.issuer, self.land(&load))
            }
            Pending::Store(index) => self.advance_store(index),
            Pending::Product(pipe) => return self.complete_product(pipe).map_err(|late| self.late(late)),
        };
        result.map_err(|kind| self.late((issuer, kind)))
    }

    /// The next of a store's two steps.
    fn advance_store(&mut self, index: usize) -> (Issuer, Result<(), FaultKind>) {
        let mut store = self.asynchronous.stores.remove(index);
        let issuer = store.issuer;
        if store.read.is_none() {
            self.read_source(&mut store);
            self.asynchronous.stores.insert(index, store);
            return (issuer, Ok(()));
        }
        (issuer, self.write_out(&store))
    }

    /// The end of a CTA: its stores are done.
    pub(in super::super) fn drain_stores(&mut self, cta: usize) -> Result<(), RunError> {
        while let Some(index) = self.asynchronous.stores.iter().position(|store| store.cta == cta) {
            self.deliver(Pending::Store(index))?;
        }
        Ok(())
    }

    /// The end of the cluster: its loads land.
    pub(in super::super) fn drain_loads(&mut self) -> Result<(), RunError> {
        while !self.asynchronous.loads.is_empty() {
            self.deliver(Pending::Load(0))?;
        }
        Ok(())
    }

    fn late(&self, (issuer, kind): (Issuer, FaultKind)) -> RunError {
        RunError::Fault { site: self.site_of(issuer), kind }
    }
}
