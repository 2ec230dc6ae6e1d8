//! The mbarriers of a CTA, by address.

use super::{Mbarrier, MbarrierError};

/// An address at which the operation finds no barrier, or one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// An mbarrier is 8 bytes, 8-byte aligned.
    #[error("an mbarrier at shared address {address:#x}: a multiple of 8 would do")]
    Alignment {
        /// The address.
        address: u32,
    },
    /// No barrier was made there, or it was invalidated.
    #[error("no mbarrier is initialised at shared address {address:#x}: mbarrier.init it first")]
    Missing {
        /// The address.
        address: u32,
    },
    /// A barrier is there already.
    #[error("an mbarrier is initialised already at shared address {address:#x}: mbarrier.inval it first")]
    Exists {
        /// The address.
        address: u32,
    },
    /// The barrier cannot be made.
    #[error("shared address {address:#x}: {source}")]
    Barrier {
        /// The address.
        address: u32,
        /// Why.
        source: MbarrierError,
    },
}

/// The mbarriers of a CTA, beside its shared memory: the object is opaque, so its bytes there mean
/// nothing (PTX ISA, "Contents of the mbarrier object").
///
/// ```
/// use fa3_emu::engine::mbarrier::MbarrierTable;
/// let mut barriers = MbarrierTable::default();
/// barriers.init(0x400, 128)?;
/// assert_eq!(barriers.get(0x400)?.pending_arrivals(), 128);
/// assert!(barriers.get(0x408).is_err());
/// # Ok::<(), fa3_emu::engine::mbarrier::TableError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MbarrierTable {
    /// In the order of addresses: a kernel has a few dozen.
    barriers: Vec<(u32, Mbarrier)>,
}

impl MbarrierTable {
    /// Makes a barrier of `count` arrivals a phase (`mbarrier.init`).
    ///
    /// # Errors
    /// Unless the address is aligned and free, and the count legal.
    pub fn init(&mut self, address: u32, count: u32) -> Result<(), TableError> {
        match self.find(address)? {
            Ok(_) => Err(TableError::Exists { address }),
            Err(place) => {
                let barrier =
                    Mbarrier::new(count).map_err(|source| TableError::Barrier { address, source })?;
                self.barriers.insert(place, (address, barrier));
                Ok(())
            }
        }
    }

    /// Takes the barrier away (`mbarrier.inval`).
    ///
    /// # Errors
    /// Unless there is one.
    pub fn invalidate(&mut self, address: u32) -> Result<(), TableError> {
        let place = self.find(address)?.map_err(|_| TableError::Missing { address })?;
        self.barriers.remove(place);
        Ok(())
    }

    /// The barrier at `address`.
    ///
    /// # Errors
    /// Unless there is one.
    pub fn get(&self, address: u32) -> Result<&Mbarrier, TableError> {
        let place = self.find(address)?.ok();
        let found = place.and_then(|place| self.barriers.get(place));
        found.map(|(_, barrier)| barrier).ok_or(TableError::Missing { address })
    }

    /// The barrier at `address`, to be changed.
    ///
    /// # Errors
    /// Unless there is one.
    pub fn get_mut(&mut self, address: u32) -> Result<&mut Mbarrier, TableError> {
        let place = self.find(address)?.ok();
        let found = place.and_then(|place| self.barriers.get_mut(place));
        found.map(|(_, barrier)| barrier).ok_or(TableError::Missing { address })
    }

    /// Every barrier, in the order of addresses.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Mbarrier)> {
        self.barriers.iter().map(|(address, barrier)| (*address, barrier))
    }

    /// The place of a barrier, or where it would be.
    fn find(&self, address: u32) -> Result<Result<usize, usize>, TableError> {
        if !address.is_multiple_of(8) {
            return Err(TableError::Alignment { address });
        }
        Ok(self.barriers.binary_search_by_key(&address, |(at, _)| *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_are_found_by_address_alone() {
        let mut table = MbarrierTable::default();
        for (address, count) in [(64, 1), (8, 2), (40, 3)] {
            table.init(address, count).unwrap();
        }
        table.get_mut(40).unwrap().arrive(1).unwrap();
        let pending: Vec<_> = table.iter().map(|(address, b)| (address, b.pending_arrivals())).collect();
        assert_eq!(pending, [(8, 2), (40, 2), (64, 1)]);
        table.invalidate(40).unwrap();
        assert_eq!(table.get(40).unwrap_err(), TableError::Missing { address: 40 });
        assert_eq!(table.get_mut(48).unwrap_err(), TableError::Missing { address: 48 });
        assert_eq!(table.invalidate(40), Err(TableError::Missing { address: 40 }));
        table.init(40, 7).unwrap();
        assert_eq!(table.get(40).unwrap().pending_arrivals(), 7);
    }

    #[test]
    fn wrong_addresses_and_counts_are_refused() {
        let mut table = MbarrierTable::default();
        assert_eq!(table.init(12, 1), Err(TableError::Alignment { address: 12 }));
        assert_eq!(table.get(4).unwrap_err(), TableError::Alignment { address: 4 });
        let source = MbarrierError::Count { count: 0 };
        assert_eq!(table.init(16, 0), Err(TableError::Barrier { address: 16, source }));
        table.init(16, 1).unwrap();
        assert_eq!(table.init(16, 1), Err(TableError::Exists { address: 16 }));
    }
}
