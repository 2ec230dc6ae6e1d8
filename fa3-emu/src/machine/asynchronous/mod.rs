//! What runs beside the warps of a cluster: copies and products that have been issued and have not
//! taken effect yet. When they do is [delivery]'s to say.

mod delivery;
mod groups;
mod loads;
mod products;
mod stores;

use std::collections::HashMap;

pub(super) use groups::{BulkGroups, ProductGroups};
pub(super) use loads::{BarrierAt, Load, Source};
pub(super) use products::{GROUP, Product, SourceA, major};
pub(super) use stores::{Outgoing, Store};

use loads::Loads;
use products::Pipe;

/// Who issued an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Issuer {
    /// The warp, by its place in the cluster.
    pub(super) warp: usize,
    /// The lanes.
    pub(super) lanes: u32,
    /// The instruction.
    pub(super) pc: usize,
}

/// The asynchronous operations of a cluster.
#[derive(Debug, Default)]
pub(super) struct Asynchronous<'a> {
    loads: Loads,
    stores: Vec<Store>,
    /// By warpgroup, those of rank 0 first.
    pipes: Vec<Pipe<'a>>,
    /// By the warp's place in the cluster, and the lane.
    threads: HashMap<(usize, usize), BulkGroups>,
    /// Operations issued so far.
    issued: u64,
}

impl Asynchronous<'_> {
    /// Nothing, for a cluster of `warpgroups` warpgroups.
    pub(super) fn new(warpgroups: usize) -> Self {
        Self { pipes: vec![Pipe::default(); warpgroups], ..Self::default() }
    }

    /// The next number of an operation.
    fn number(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }
}
