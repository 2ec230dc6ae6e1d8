//! Global memory: allocations at addresses far from one another, so that an access past the end of
//! one never falls into the next.

use super::fault::{Access, FaultKind};
use crate::engine::tma::{Global, Unmapped};

/// The address of the first allocation. Far above any offset, so that an offset taken for an
/// address is out of bounds.
const FIRST: u64 = 0x7f00_0000_0000;
/// Allocations begin at multiples of this many bytes, as the driver's do (CUDA programming guide,
/// "Device Memory Accesses": at least 256).
const ALIGNMENT: u64 = 512;
/// Bytes between allocations that belong to none.
const GAP: u64 = 1 << 20;

/// Why memory could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes = {bytes}, but the host has no room for an allocation of that size; ask for less")]
pub struct OutOfMemory {
    /// The bytes asked for.
    pub bytes: usize,
}

#[derive(Clone, Debug)]
struct Allocation {
    base: u64,
    bytes: Vec<u8>,
}

/// The global memory of an emulated device.
///
/// ```
/// use fa3_emu::Memory;
/// let mut memory = Memory::new();
/// let address = memory.allocate(&[1, 2, 3, 4])?;
/// assert_eq!(address % 512, 0);
/// memory.write(address + 1, &[9])?;
/// assert_eq!(memory.read(address, 4)?, [1, 9, 3, 4]);
/// assert!(memory.read(address, 5).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By ascending base.
    allocations: Vec<Allocation>,
}

impl Memory {
    /// Memory in which nothing is allocated.
    pub const fn new() -> Self {
        Self { allocations: Vec::new() }
    }

    /// Allocates room for `contents`, copies them there and returns the address, a multiple of 512.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the host has no room for it.
    pub fn allocate(&mut self, contents: &[u8]) -> Result<u64, OutOfMemory> {
        let error = OutOfMemory { bytes: contents.len() };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(contents.len()).map_err(|_| error)?;
        bytes.extend_from_slice(contents);
        let base = match self.allocations.last() {
            None => FIRST,
            Some(last) => (last.base.checked_add(last.bytes.len() as u64))
                .and_then(|end| end.checked_add(GAP))
                .and_then(|free| free.checked_next_multiple_of(ALIGNMENT))
                .ok_or(error)?,
        };
        self.allocations.push(Allocation { base, bytes });
        Ok(base)
    }

    /// The `bytes` bytes from `address` on.
    ///
    /// # Errors
    /// [`FaultKind::OutOfBounds`] unless they lie in one allocation.
    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8], FaultKind> {
        let refused = || FaultKind::OutOfBounds { access: Access::Read, space: "global", address, bytes };
        let (allocation, start) = self.find(address).ok_or_else(refused)?;
        let bytes =
            start.checked_add(bytes).and_then(|end| self.allocations[allocation].bytes.get(start..end));
        bytes.ok_or_else(refused)
    }

    /// Copies `contents` to `address`.
    ///
    /// # Errors
    /// [`FaultKind::OutOfBounds`] unless all of it lies in one allocation; then nothing is written.
    pub fn write(&mut self, address: u64, contents: &[u8]) -> Result<(), FaultKind> {
        self.slice_mut(address, contents.len())?.copy_from_slice(contents);
        Ok(())
    }

    /// The `bytes` bytes from `address` on, to be written.
    pub(crate) fn slice_mut(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], FaultKind> {
        let refused = || FaultKind::OutOfBounds { access: Access::Write, space: "global", address, bytes };
        let (allocation, start) = self.find(address).ok_or_else(refused)?;
        let end = start.checked_add(bytes).ok_or_else(refused)?;
        self.allocations[allocation].bytes.get_mut(start..end).ok_or_else(refused)
    }

    /// The allocation that begins at or before `address`, and how far into it the address lies.
    fn find(&self, address: u64) -> Option<(usize, usize)> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let index = after.checked_sub(1)?;
        let offset = usize::try_from(address - self.allocations[index].base).ok()?;
        Some((index, offset))
    }
}

impl Global for Memory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        let length = bytes.len();
        let there = Self::read(self, address, length).map_err(|_| Unmapped { address, bytes: length })?;
        bytes.copy_from_slice(there);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Unmapped> {
        self.update(address, bytes.len(), &mut |there| there.copy_from_slice(bytes))
    }

    fn update(
        &mut self,
        address: u64,
        length: usize,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Unmapped> {
        change(self.slice_mut(address, length).map_err(|_| Unmapped { address, bytes: length })?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_past_an_end_or_between_allocations_is_refused() {
        let mut memory = Memory::new();
        let first = memory.allocate(&[1; 100]).unwrap();
        let second = memory.allocate(&[2; 8]).unwrap();
        assert!(second >= first + 100 + GAP);
        assert_eq!(memory.read(first + 99, 1).unwrap(), [1]);
        assert_eq!(memory.read(second, 8).unwrap(), [2; 8]);
        for (address, bytes) in
            [(first + 99, 2), (first + 100, 1), (second - 1, 1), (second - 1, 2), (0, 1), (first - 1, 1)]
        {
            let read = memory.read(address, bytes).unwrap_err();
            assert_eq!(
                read,
                FaultKind::OutOfBounds { access: Access::Read, space: "global", address, bytes }
            );
            assert!(memory.write(address, &vec![0; bytes]).is_err());
        }
        assert!(memory.read(first, usize::MAX).is_err());
        assert_eq!(memory.read(first, 100).unwrap(), [1; 100]);
    }
}
