//! Loads: global to shared memory.

use crate::engine::shared::chunk_mut;

use super::walk::Walk;
use super::{Global, TileMap, TmaError};

/// The longest row of a box, 256 elements of 8 bytes.
pub(super) const MAX_ROW: usize = 2048;

impl TileMap {
    /// Copies the tile at `coordinates` (elements, contiguous dimension first) to shared address
    /// `destination`; elements outside the tensor are zeros. The bytes to count on the mbarrier.
    ///
    /// A multicast is the same load into each CTA that it names, counted on that CTA's mbarrier.
    ///
    /// # Errors
    /// [`TmaError`]. Shared memory may hold part of the tile when the tensor is not all allocated.
    pub fn load<G: Global + ?Sized>(
        &self,
        coordinates: &[i32],
        global: &G,
        destination: u32,
        shared: &mut [u8],
    ) -> Result<u32, TmaError> {
        let walk = Walk::new(self, coordinates, self.row_end())?;
        let start = self.place(destination, shared)?;
        let mut buffer = [0; MAX_ROW];
        walk.rows(|offset, address| {
            // What is not in `columns` stays zero throughout.
            let row = buffer.get_mut(..self.row).unwrap_or_default();
            if let Some(part) = row.get_mut(walk.columns.clone()) {
                match address {
                    Some(address) => global.read(address, part)?,
                    None => part.fill(0),
                }
            }
            for (chunk, at) in row.as_chunks().0.iter().zip((start + offset..).step_by(16)) {
                *chunk_mut(shared, self.swizzle.apply(at))? = *chunk;
            }
            Ok(())
        })?;
        Ok(self.tile)
    }
}
