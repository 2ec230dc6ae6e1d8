//! Bulk and tensor copies: their operands, and what is issued for each lane.

use std::rc::Rc;

use super::address::{in_lane, of};
use super::asynchronous::{BarrierAt, Issuer, Load, Outgoing, Source, Store};
use super::cluster::{Cluster, Flow, Violation};
use super::fault::FaultKind;
use super::lanes::lanes_of;
use super::warp::Warp;
use crate::engine::tma::TileMap;
use crate::ir::bulk::{BulkOp, BulkReduce, Tile};
use crate::ir::{Address, Space, Src};

/// Where a copy into shared memory goes.
struct Destination {
    space: Space,
    dst: Address,
    barrier: Address,
    multicast: Option<Src>,
}

impl Cluster<'_> {
    /// Executes `op` for every lane of `mask`, lowest first.
    pub(super) fn copy(&mut self, op: &BulkOp, warp: &Warp, pc: usize, mask: u32) -> Result<Flow, Violation> {
        match *op {
            BulkOp::PrefetchTensorMap { .. } => {}
            BulkOp::Commit => {
                self.commit_copies(warp, mask);
                for lane in lanes_of(mask) {
                    let actor = Issuer { warp: self.place_of(warp), lanes: 1 << lane, pc }.into();
                    self.tell(|checker| checker.bulk_commit(actor));
                }
            }
            BulkOp::Wait { pending, read } => {
                let flow = self.wait_for_copies(warp, mask, pending, read);
                if matches!(flow, Flow::Next) {
                    for lane in lanes_of(mask) {
                        let actor = Issuer { warp: self.place_of(warp), lanes: 1 << lane, pc }.into();
                        self.tell(|checker| checker.bulk_wait(actor, pending));
                    }
                }
                return Ok(flow);
            }
            _ => {
                for lane in lanes_of(mask) {
                    self.copy_of_lane(op, warp, pc, lane).map_err(|kind| in_lane(lane, kind))?;
                }
            }
        }
        Ok(Flow::Next)
    }

    fn copy_of_lane(&mut self, op: &BulkOp, warp: &Warp, pc: usize, lane: usize) -> Result<(), FaultKind> {
        let issuer = Issuer { warp: self.place_of(warp), lanes: 1 << lane, pc };
        let value = |src| warp.registers.lane(src, lane) as u32;
        let (src, what) = match *op {
            BulkOp::TensorLoad { space, dst, ref tile, barrier, multicast } => {
                let source = Source::Tile(Rc::new(self.tile(tile, warp, lane)?));
                return self.load_of_lane(
                    &source,
                    &Destination { space, dst, barrier, multicast },
                    warp,
                    issuer,
                );
            }
            BulkOp::Load { space, dst, src, bytes, barrier, multicast } => {
                let source = Source::Bytes { address: of(&warp.registers, src, lane), bytes: value(bytes) };
                return self.load_of_lane(
                    &source,
                    &Destination { space, dst, barrier, multicast },
                    warp,
                    issuer,
                );
            }
            BulkOp::TensorStore { ref tile, src } => (src, self.outgoing_tile(tile, None, warp, lane)?),
            BulkOp::TensorReduce { f, ref tile, src } => {
                (src, self.outgoing_tile(tile, Some(f), warp, lane)?)
            }
            BulkOp::Store { dst, src, bytes } => {
                let address = of(&warp.registers, dst, lane);
                (src, Outgoing::Bytes { address, bytes: value(bytes), reduce: None })
            }
            BulkOp::Reduce { f, ty, dst, src, bytes } => {
                let address = of(&warp.registers, dst, lane);
                (src, Outgoing::Bytes { address, bytes: value(bytes), reduce: Some((f, ty)) })
            }
            BulkOp::PrefetchTensorMap { .. } | BulkOp::Commit | BulkOp::Wait { .. } => return Ok(()),
        };
        let (cta, offset) = self.shared_operand(warp, Space::SharedCta, src, lane)?;
        self.issue_store(Store::new(what, cta, offset, issuer))
    }

    /// Issues a load into the shared memory of each CTA that gets it.
    fn load_of_lane(
        &mut self,
        source: &Source,
        to: &Destination,
        warp: &Warp,
        issuer: Issuer,
    ) -> Result<(), FaultKind> {
        let lane = issuer.lanes.trailing_zeros() as usize;
        let (cta, offset) = self.shared_operand(warp, to.space, to.dst, lane)?;
        let (barrier_cta, barrier) = self.shared_operand(warp, to.space, to.barrier, lane)?;
        let everyone = to.multicast.map(|mask| warp.registers.lane(mask, lane) as u16);
        let ranks = match everyone {
            // The same offsets in each (PTX ISA, "cp.async.bulk.tensor", `.multicast::cluster`).
            Some(mask) => {
                (0..16_usize).filter(|rank| mask >> rank & 1 != 0).map(|rank| (rank, rank)).collect()
            }
            None => vec![(cta, barrier_cta)],
        };
        let size = self.ctas.len();
        if let Some(&(rank, _)) = ranks.iter().find(|&&(rank, _)| rank >= size) {
            return Err(FaultKind::Rank { rank: rank as u32, size });
        }
        for (cta, barrier_cta) in ranks {
            let barrier = BarrierAt { cta: barrier_cta, offset: barrier };
            self.issue_load(Load { source: source.clone(), cta, offset, barrier, issuer })?;
        }
        Ok(())
    }

    fn outgoing_tile(
        &self,
        tile: &Tile,
        reduce: Option<BulkReduce>,
        warp: &Warp,
        lane: usize,
    ) -> Result<Outgoing, FaultKind> {
        let (map, coordinates) = self.tile(tile, warp, lane)?;
        Ok(Outgoing::Tile { map: map.into(), coordinates, reduce })
    }

    /// The CTA and the offset of the shared memory that an operand names in a lane.
    pub(super) fn shared_operand(
        &self,
        warp: &Warp,
        space: Space,
        addr: Address,
        lane: usize,
    ) -> Result<(usize, u32), FaultKind> {
        self.shared(warp.cta, space, of(&warp.registers, addr, lane))
    }

    fn tile(&self, tile: &Tile, warp: &Warp, lane: usize) -> Result<(TileMap, Vec<i32>), FaultKind> {
        let address = of(&warp.registers, tile.map, lane);
        let mut bytes = [0; 128];
        self.read(warp.cta, Space::Generic, address, &mut bytes)?;
        let map = TileMap::decode(&bytes)?;
        let coordinates = tile.coordinates.iter().map(|&at| warp.registers.lane(at, lane) as i32);
        Ok((map, coordinates.collect()))
    }
}
