//! Products of the tensor cores. Those of a warpgroup are issued by its four warps together and
//! complete in order.

use std::collections::VecDeque;

use super::super::cluster::{Cluster, Flow};
use super::super::fault::FaultKind;
use super::super::warp::{Wait, Warp};
use super::Issuer;
use crate::engine::wgmma::{Accumulator, Descriptor, Major, MatrixA, MatrixB};
use crate::ir::Reg;
use crate::ir::mma::Wgmma;

/// Warps of a warpgroup.
pub(in super::super) const GROUP: usize = 4;

/// Where A of a product is.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum SourceA {
    Registers([Reg; 4]),
    Shared(Descriptor, Major),
}

/// A product, whose descriptors and scale have been read and whose operands have not.
#[derive(Clone, Debug)]
pub(in super::super) struct Product<'a> {
    pub(in super::super) op: &'a Wgmma,
    pub(in super::super) a: SourceA,
    pub(in super::super) b: Descriptor,
    /// Whether D is added to.
    pub(in super::super) accumulate: bool,
    /// The first warp of the warpgroup, and the instruction.
    pub(in super::super) issuer: Issuer,
}

/// The products of a warpgroup.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe<'a> {
    /// Those that are not complete, with their numbers among the cluster's operations.
    pub(super) queue: VecDeque<(Product<'a>, u64)>,
    /// Issued so far.
    issued: u64,
    /// Complete.
    pub(super) complete: u64,
}

/// Which dimension is contiguous.
pub(in super::super) const fn major(mn: bool) -> Major {
    if mn { Major::Mn } else { Major::K }
}

impl<'a> Cluster<'a> {
    /// The four warps of a warpgroup have issued a product.
    pub(in super::super) fn issue_product(&mut self, product: Product<'a>) {
        let number = self.asynchronous.number();
        let pipe = &mut self.asynchronous.pipes[self.geometry.warpgroup(product.issuer.warp)];
        pipe.issued += 1;
        pipe.queue.push_back((product, number));
    }

    /// The oldest product of a warpgroup reads its operands and writes D.
    pub(super) fn complete_product(&mut self, pipe: usize) -> Result<(), (Issuer, FaultKind)> {
        let Some((product, _)) = self.asynchronous.pipes[pipe].queue.pop_front() else { return Ok(()) };
        self.asynchronous.pipes[pipe].complete += 1;
        self.multiply(&product).map_err(|kind| (product.issuer, kind))
    }

    /// D = A·B, or D + A·B, for the four warps of a warpgroup.
    fn multiply(&mut self, product: &Product<'a>) -> Result<(), FaultKind> {
        let op = product.op;
        let first = product.issuer.warp;
        let shared = &self.ctas[self.warps[first].cta].shared[..];
        let warps = &self.warps[first..first + GROUP];
        let a = match product.a {
            SourceA::Registers(registers) => MatrixA::from_registers(op.operand, |warp, index| {
                warps[warp].registers.word(registers[index])
            }),
            SourceA::Shared(descriptor, major) => {
                MatrixA::from_shared(op.operand, &descriptor, major, shared)?
            }
        };
        let a = if op.negate_a == op.negate_b { a } else { a.negated() };
        let b = MatrixB::from_shared(op.operand, op.n as usize, &product.b, major(op.b_mn_major), shared)?;
        let mut sums = Accumulator::new(op.n as usize)?;
        if product.accumulate {
            for (place, warp) in warps.iter().enumerate() {
                for (index, &reg) in op.d.iter().enumerate() {
                    sums.set(place, index, warp.registers.word(reg))?;
                }
            }
        }
        sums.add_product(&a, &b)?;
        for (place, warp) in self.warps[first..first + GROUP].iter_mut().enumerate() {
            for (index, &reg) in op.d.iter().enumerate() {
                *warp.registers.word_mut(reg) = sums.get(place, index)?;
            }
        }
        Ok(())
    }

    /// `wgmma.commit_group`.
    pub(in super::super) fn commit_products(&mut self, warp: &mut Warp) {
        let place = self.place_of(warp);
        let pipe = self.geometry.warpgroup(place);
        self.trace(|tracer, _| tracer.products_committed(place));
        warp.products.commit(self.asynchronous.pipes[pipe].issued);
    }

    /// `wgmma.wait_group`.
    pub(in super::super) fn wait_for_products(&mut self, warp: &mut Warp, pending: u32) -> Flow {
        let (place, wanted) = (self.place_of(warp), warp.products.wanted(pending));
        if !self.products_are_complete(place, wanted) {
            return Flow::Park(Wait::Products { wanted });
        }
        self.trace(|tracer, _| tracer.products_done(place, pending));
        warp.products.found(pending);
        Flow::Next
    }

    /// The products of a warp's warpgroup that no wait of the warp has found complete.
    pub(in super::super) fn unwaited_products(&self, warp: usize) -> u64 {
        let pipe = &self.asynchronous.pipes[self.geometry.warpgroup(warp)];
        pipe.issued.saturating_sub(self.warps[warp].products.complete())
    }

    /// Whether so many products of a warp's warpgroup are complete.
    pub(in super::super) fn products_are_complete(&self, warp: usize, wanted: u64) -> bool {
        self.asynchronous.pipes[self.geometry.warpgroup(warp)].complete >= wanted
    }
}
