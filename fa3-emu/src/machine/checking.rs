//! What the checker is told of the instructions that a cluster executes.

use super::address::of;
use super::asynchronous::{BarrierAt, Issuer, Load, Outgoing, Product, SourceA, Store};
use super::cluster::{Cluster, Violation};
use super::fault::FaultKind;
use super::lanes::{Lanes, lanes_of};
use super::warp::Warp;
use crate::check::{self, Actor, Checked, Checker, Completion, FenceKind, Finding};
use crate::engine::wgmma::M;
use crate::ir::memory::Order;
use crate::ir::sync::{Fence, FenceOrder};
use crate::ir::{MemoryOp, Space};

use super::address::{Place, in_lane};
use super::asynchronous::major;

impl From<Issuer> for Actor {
    fn from(Issuer { warp, lanes, pc }: Issuer) -> Self {
        Self { warp: warp as u32, pc: pc as u32, lanes }
    }
}

impl<'a> Cluster<'a> {
    /// Tells the checker what cannot be wrong, if there is one.
    pub(super) fn tell(&mut self, event: impl FnOnce(&mut Checker<'a>)) {
        if let Some(checker) = &mut self.checker {
            event(checker);
        }
    }

    /// Asks the checker, if there is one.
    pub(super) fn ask(&mut self, event: impl FnOnce(&mut Checker<'a>) -> Checked) -> Result<(), FaultKind> {
        let Some(checker) = &mut self.checker else { return Ok(()) };
        event(checker).map_err(|finding| self.described(finding))
    }

    fn described(&self, finding: Finding<Actor>) -> FaultKind {
        let site =
            |Actor { warp, pc, lanes }| self.site_of(Issuer { warp: warp as usize, lanes, pc: pc as usize });
        Box::new(finding.map(site)).into()
    }

    /// The registers of an instruction.
    #[inline]
    pub(super) fn check_registers(&mut self, warp: &Warp, pc: usize, mask: u32) -> Result<(), Violation> {
        if self.checker.is_none() {
            return Ok(());
        }
        let actor = Issuer { warp: self.place_of(warp), lanes: mask, pc }.into();
        self.ask(|checker| checker.instruction(actor)).map_err(|kind| Violation { kind, lanes: mask })
    }

    /// An access to memory, before it is executed: its addresses may be overwritten by it.
    pub(super) fn check_access(
        &mut self,
        op: &MemoryOp,
        warp: &Warp,
        pc: usize,
        mask: u32,
    ) -> Result<(), Violation> {
        if self.checker.is_none() {
            return Ok(());
        }
        let (space, addr, bytes, access, order) = match *op {
            MemoryOp::Load { space, ty, ref dst, addr, order } => {
                (space, addr, ty.bytes() * dst.len() as u32, check::Access::READ, order)
            }
            MemoryOp::Store { space, ty, ref src, addr, order } => {
                (space, addr, ty.bytes() * src.len() as u32, check::Access::WRITE, order)
            }
            MemoryOp::Atomic { space, ty, addr, order, .. } => {
                (space, addr, ty.bytes(), check::Access::ATOMIC, order)
            }
            MemoryOp::ToGeneric { .. }
            | MemoryOp::FromGeneric { .. }
            | MemoryOp::MapToCta { .. }
            | MemoryOp::Prefetch { .. } => return Ok(()),
        };
        if matches!(space, Space::Global | Space::Param) {
            return Ok(());
        }
        let access = ordered(access, order);
        let place = self.place_of(warp);
        for lane in lanes_of(mask) {
            let address = of(&warp.registers, addr, lane);
            if let Some(Place::Shared { cta, offset }) = self.place(warp.cta, space, address) {
                let actor = Issuer { warp: place, lanes: 1 << lane, pc }.into();
                self.ask(|checker| checker.access(actor, cta as u32, (offset, bytes), access))
                    .map_err(|kind| in_lane(lane, kind))?;
            }
        }
        Ok(())
    }

    /// The rows of `count` matrices that a warp moves together.
    pub(super) fn check_rows(
        &mut self,
        warp: &Warp,
        pc: usize,
        rows: &Lanes<u32>,
        count: usize,
        access: check::Access,
    ) -> Result<(), FaultKind> {
        let place = self.place_of(warp);
        for (lane, &row) in rows.iter().enumerate().take(8 * count) {
            let actor = Issuer { warp: place, lanes: 1 << lane, pc }.into();
            self.ask(|checker| checker.access(actor, warp.cta as u32, (row, 16), access))?;
        }
        Ok(())
    }

    pub(super) fn check_load(&mut self, load: &Load, phase: u64) -> Result<(), FaultKind> {
        let BarrierAt { cta, offset } = load.barrier;
        let on = Completion { cta: cta as u32, barrier: offset, phase };
        let end = load.offset.saturating_add(load.source.bytes());
        self.ask(|checker| {
            checker.bulk_load(load.issuer.into(), load.cta as u32, (load.offset..end).step_by(16), on)
        })
    }

    pub(super) fn check_store(&mut self, store: &Store) -> Result<(), FaultKind> {
        if self.checker.is_none() {
            return Ok(());
        }
        let chunks = match &store.what {
            Outgoing::Tile { map, coordinates, .. } => map.source_chunks(coordinates, store.offset)?,
            Outgoing::Bytes { bytes, .. } => {
                (store.offset..store.offset.saturating_add(*bytes)).step_by(16).collect()
            }
        };
        self.ask(|checker| checker.bulk_store(store.issuer.into(), store.cta as u32, chunks.into_iter()))
    }

    pub(super) fn check_product(&mut self, product: &Product<'_>) -> Result<(), FaultKind> {
        let a = match product.a {
            SourceA::Shared(descriptor, major) => Some(descriptor.chunks(major, M)),
            SourceA::Registers(_) => None,
        };
        let b = product.b.chunks(major(product.op.b_mn_major), product.op.n as usize);
        let chunks = a.into_iter().flatten().chain(b).map(|address| address as u32);
        self.ask(|checker| checker.product(product.issuer.into(), chunks))
    }

    pub(super) fn tell_fence(&mut self, fence: Fence, warp: &Warp) {
        let kind = match fence {
            Fence::Thread { order, .. } => FenceKind::Thread {
                acquire: order != FenceOrder::Release,
                release: order != FenceOrder::Acquire,
            },
            Fence::MbarrierInit => FenceKind::MbarrierInit,
            Fence::Async { space: Some(Space::Global) }
            | Fence::TensorMapRelease { .. }
            | Fence::TensorMapAcquire { .. } => return,
            Fence::Async { .. } => FenceKind::ProxyAsync,
        };
        let place = self.place_of(warp) as u32;
        self.tell(|checker| checker.fence(place, kind));
    }
}

/// An access with its memory order.
fn ordered(access: check::Access, order: Order) -> check::Access {
    let strong = access.strong || !matches!(order, Order::Weak | Order::NonCoherent);
    let acquire = matches!(order, Order::Acquire(_) | Order::AcqRel(_));
    let release = matches!(order, Order::Release(_) | Order::AcqRel(_));
    check::Access { strong, acquire, release, ..access }
}
