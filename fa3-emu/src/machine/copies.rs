//! Bulk and tensor copies, delivered eagerly: a copy takes effect when it is issued, whole, before
//! the next instruction. A wait for copies therefore finds none pending.

use super::address::{in_lane, of};
use super::cluster::{Cluster, Violation};
use super::fault::FaultKind;
use super::lanes::lanes_of;
use super::warp::Warp;
use crate::engine::mbarrier::TableError;
use crate::engine::tma::{TileMap, bulk_load, bulk_reduce, bulk_store};
use crate::ir::bulk::{BulkOp, Tile};
use crate::ir::{Address, Space, Src};

/// What a copy into shared memory brings.
enum Source {
    Tile(Box<TileMap>, Vec<i32>),
    Bytes { address: u64, bytes: u32 },
}

/// Where a copy into shared memory goes.
struct Destination {
    space: Space,
    dst: Address,
    barrier: Address,
    multicast: Option<Src>,
}

impl Cluster<'_> {
    /// Executes `op` for every lane of `mask`, lowest first.
    pub(super) fn copy(&mut self, op: &BulkOp, warp: &Warp, mask: u32) -> Result<(), Violation> {
        for lane in lanes_of(mask) {
            self.copy_of_lane(op, warp, lane).map_err(|kind| in_lane(lane, kind))?;
        }
        Ok(())
    }

    fn copy_of_lane(&mut self, op: &BulkOp, warp: &Warp, lane: usize) -> Result<(), FaultKind> {
        let value = |src| warp.registers.lane(src, lane) as u32;
        match *op {
            BulkOp::TensorLoad { space, dst, ref tile, barrier, multicast } => {
                let (map, coordinates) = self.tile(tile, warp, lane)?;
                let to = Destination { space, dst, barrier, multicast };
                self.arriving(&Source::Tile(map.into(), coordinates), &to, warp, lane)
            }
            BulkOp::Load { space, dst, src, bytes, barrier, multicast } => {
                let from = Source::Bytes { address: of(&warp.registers, src, lane), bytes: value(bytes) };
                self.arriving(&from, &Destination { space, dst, barrier, multicast }, warp, lane)
            }
            BulkOp::TensorStore { ref tile, src } => {
                let (map, coordinates) = self.tile(tile, warp, lane)?;
                let (cta, from) = self.shared_operand(warp, Space::SharedCta, src, lane)?;
                Ok(map.store(&coordinates, &self.ctas[cta].shared, from, self.memory)?)
            }
            BulkOp::TensorReduce { f, ref tile, src } => {
                let (map, coordinates) = self.tile(tile, warp, lane)?;
                let (cta, from) = self.shared_operand(warp, Space::SharedCta, src, lane)?;
                Ok(map.reduce(f, &coordinates, &self.ctas[cta].shared, from, self.memory)?)
            }
            BulkOp::Store { dst, src, bytes } => {
                let (cta, from) = self.shared_operand(warp, Space::SharedCta, src, lane)?;
                let to = of(&warp.registers, dst, lane);
                Ok(bulk_store(&self.ctas[cta].shared, from, self.memory, to, value(bytes))?)
            }
            BulkOp::Reduce { f, ty, dst, src, bytes } => {
                let (cta, from) = self.shared_operand(warp, Space::SharedCta, src, lane)?;
                let to = of(&warp.registers, dst, lane);
                Ok(bulk_reduce(f, ty, &self.ctas[cta].shared, from, self.memory, to, value(bytes))?)
            }
            BulkOp::PrefetchTensorMap { .. } | BulkOp::Commit | BulkOp::Wait { .. } => Ok(()),
        }
    }

    /// Copies into shared memory, and completes the bytes on the mbarrier of each CTA that got them.
    fn arriving(
        &mut self,
        from: &Source,
        to: &Destination,
        warp: &Warp,
        lane: usize,
    ) -> Result<(), FaultKind> {
        let (cta, dst) = self.shared_operand(warp, to.space, to.dst, lane)?;
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
        for (rank, barrier_rank) in ranks {
            let destination = self.ctas.get_mut(rank).ok_or(FaultKind::Rank { rank: rank as u32, size })?;
            let bytes = match from {
                Source::Tile(map, coordinates) => {
                    map.load(coordinates, &*self.memory, dst, &mut destination.shared)?
                }
                &Source::Bytes { address, bytes } => {
                    bulk_load(&*self.memory, address, &mut destination.shared, dst, bytes)?;
                    bytes
                }
            };
            let barriers = &mut self.ctas[barrier_rank].barriers;
            let completed = barriers.get_mut(barrier)?.complete_tx(bytes);
            completed.map_err(|source| TableError::Barrier { address: barrier, source })?;
        }
        Ok(())
    }

    fn shared_operand(
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
        let bytes = self.bytes(warp.cta, Space::Generic, address, 128)?;
        let map = TileMap::decode(bytes.first_chunk().unwrap_or(&[0; 128]))?;
        let coordinates = tile.coordinates.iter().map(|&at| warp.registers.lane(at, lane) as i32);
        Ok((map, coordinates.collect()))
    }
}
