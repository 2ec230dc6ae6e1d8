//! The rows of a tile: where each lies in the tensor, and which of its bytes do.

use core::ops::Range;

use fa3_sys::tensormap::MAX_RANK;

use crate::engine::shared;

use super::{TileMap, TmaError};

/// Coordinates are multiples of this along the contiguous dimension, and stores clip at one.
pub(super) const GRANULE: i64 = 16;

/// The alignment of a tile in shared memory (PTX ISA, "cp.async.bulk.tensor": tensor copies need
/// 128 bytes).
const TILE_ALIGNMENT: u32 = 128;

/// A tile at its place in the tensor.
pub(super) struct Walk<'a> {
    map: &'a TileMap,
    coordinates: [i64; MAX_RANK],
    /// The bytes of a row that lie in the tensor, the same for every row that does.
    pub(super) columns: Range<usize>,
}

impl<'a> Walk<'a> {
    /// The tile at `coordinates`, whose rows end at the tensor's `edge`, in bytes.
    pub(super) fn new(map: &'a TileMap, coordinates: &[i32], edge: i64) -> Result<Self, TmaError> {
        let rank = map.desc.rank();
        if coordinates.len() != rank {
            return Err(TmaError::Rank { found: coordinates.len(), rank });
        }
        let mut at = [0; MAX_RANK];
        at.iter_mut().zip(coordinates).for_each(|(slot, &coordinate)| *slot = i64::from(coordinate));
        let start = at[0].saturating_mul(map.element_bytes());
        if start.rem_euclid(GRANULE) != 0 {
            let coordinate = coordinates.first().copied().unwrap_or(0);
            return Err(TmaError::ContiguousCoordinate { coordinate, bytes: start });
        }
        let within = |bytes: i64| usize::try_from(bytes).unwrap_or(0).min(map.row);
        let columns = within(start.saturating_neg())..within(edge.saturating_sub(start));
        Ok(Self { map, coordinates: at, columns })
    }

    /// Calls `each` with every row of the tile: its offset in the unswizzled tile and, of a row that
    /// lies in the tensor, the global address of its first byte in [`columns`](Self::columns).
    pub(super) fn rows(
        &self,
        mut each: impl FnMut(usize, Option<u64>) -> Result<(), TmaError>,
    ) -> Result<(), TmaError> {
        let mut index = [0_u32; MAX_RANK];
        let mut offset = 0;
        loop {
            each(offset, self.global(&index)?)?;
            offset += self.map.row;
            // The next row: dimension 1 runs fastest.
            let mut dims = index.iter_mut().zip(self.map.counts).skip(1);
            let carry = dims.find_map(|(at, count)| {
                *at += 1;
                if *at < count {
                    return Some(());
                }
                *at = 0;
                None
            });
            if carry.is_none() {
                return Ok(());
            }
        }
    }

    fn global(&self, index: &[u32; MAX_RANK]) -> Result<Option<u64>, TmaError> {
        let map = self.map;
        if self.columns.is_empty() {
            return Ok(None);
        }
        let column = i64::try_from(self.columns.start).unwrap_or(i64::MAX);
        let start = self.coordinates[0].saturating_mul(map.element_bytes()).saturating_add(column);
        let mut address = u64::try_from(start).ok().and_then(|start| map.address.checked_add(start));
        let outer = self.coordinates.iter().zip(index).skip(1);
        let tensor = map.desc.extents().iter().zip(map.desc.element_strides()).skip(1);
        for ((&from, &at), ((&extent, &step), &stride)) in outer.zip(tensor.zip(map.desc.strides())) {
            let place = u64::try_from(from.saturating_add(i64::from(at) * i64::from(step)));
            let Ok(place) = place else { return Ok(None) };
            if place >= extent {
                return Ok(None);
            }
            let distance = place.checked_mul(stride);
            address = address.zip(distance).and_then(|(address, distance)| address.checked_add(distance));
        }
        address.map(Some).ok_or(TmaError::AddressOverflow)
    }
}

impl TileMap {
    /// Bytes of an element.
    pub(super) fn element_bytes(&self) -> i64 {
        i64::try_from(self.element).unwrap_or(i64::MAX)
    }

    /// Bytes of a row of the tensor.
    pub(super) fn row_end(&self) -> i64 {
        let extent = self.desc.extents().first().copied().unwrap_or(0);
        i64::try_from(extent).unwrap_or(i64::MAX).saturating_mul(self.element_bytes())
    }

    /// The tile's first byte in `shared`, where it fits.
    pub(super) fn place(&self, address: u32, shared: &[u8]) -> Result<usize, TmaError> {
        if !address.is_multiple_of(TILE_ALIGNMENT) {
            return Err(TmaError::SharedAlignment { address });
        }
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        shared::check(shared, start, usize::try_from(self.tile).unwrap_or(usize::MAX))?;
        Ok(start)
    }
}
