//! Stores: shared to global memory.

use crate::engine::shared::chunk;

use super::load::MAX_ROW;
use super::walk::{GRANULE, Walk};
use super::{Global, TileMap, TmaError};

impl TileMap {
    /// Copies the tile at shared address `source` into the tensor at `coordinates` (elements,
    /// contiguous dimension first). Elements outside the tensor are not written, but along the
    /// contiguous dimension the copy ends at the next multiple of 16 bytes, as on an H200.
    ///
    /// # Errors
    /// [`TmaError`]. Part of the tile may be written when the tensor is not all allocated.
    pub fn store<G: Global + ?Sized>(
        &self,
        coordinates: &[i32],
        shared: &[u8],
        source: u32,
        global: &mut G,
    ) -> Result<(), TmaError> {
        self.outgoing(coordinates, shared, source, |address, bytes| Ok(global.write(address, bytes)?))
    }

    /// The shared addresses of the 16-byte chunks that a store or a reduction of the tile at `source`
    /// reads: those with elements in the tensor.
    ///
    /// # Errors
    /// [`TmaError`] for coordinates that the tensor does not have.
    pub fn source_chunks(&self, coordinates: &[i32], source: u32) -> Result<Vec<u32>, TmaError> {
        let end = self.row_end();
        let walk = Walk::new(self, coordinates, end.saturating_add((-end).rem_euclid(GRANULE)))?;
        let start = usize::try_from(source).unwrap_or(usize::MAX);
        let mut chunks = Vec::new();
        walk.rows(|offset, address| {
            if address.is_some() {
                let within = walk.columns.clone().step_by(16);
                let places = within.map(|column| self.swizzle.apply(start + offset + column));
                chunks.extend(places.filter_map(|place| u32::try_from(place).ok()));
            }
            Ok(())
        })?;
        Ok(chunks)
    }

    /// Calls `each` with every part of a row that lies in the tensor: its address and its bytes.
    pub(super) fn outgoing(
        &self,
        coordinates: &[i32],
        shared: &[u8],
        source: u32,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), TmaError>,
    ) -> Result<(), TmaError> {
        let end = self.row_end();
        let edge = end.saturating_add((-end).rem_euclid(GRANULE));
        let walk = Walk::new(self, coordinates, edge)?;
        let mut dimensions = coordinates.iter().enumerate();
        if let Some((dimension, &coordinate)) = dimensions.find(|(_, coordinate)| **coordinate < 0) {
            return Err(TmaError::NegativeCoordinate { dimension, coordinate });
        }
        let start = self.place(source, shared)?;
        let mut buffer = [0; MAX_ROW];
        walk.rows(|offset, address| {
            let Some(address) = address else { return Ok(()) };
            let row = buffer.get_mut(..self.row).unwrap_or_default();
            for (slot, at) in row.as_chunks_mut().0.iter_mut().zip((start + offset..).step_by(16)) {
                *slot = *chunk(shared, self.swizzle.apply(at))?;
            }
            each(address, row.get(walk.columns.clone()).unwrap_or_default())
        })
    }
}
