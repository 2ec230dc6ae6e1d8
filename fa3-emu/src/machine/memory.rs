//! Global memory: allocations at addresses far from one another, so that an access past the end of
//! one never falls into the next.

use super::device::Device;
use super::fault::{Access, FaultKind};

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

/// An address at which no allocation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address = {address:#x}, but no allocation begins there; pass what `allocate` returned, once")]
pub struct NotAllocated {
    /// The address.
    pub address: u64,
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
/// memory.free(address)?;
/// assert!(memory.read(address, 1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    /// By ascending base.
    allocations: Vec<Allocation>,
    /// Where the next allocation goes: beyond all that ever were, so that what was freed stays out of
    /// bounds.
    next: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// Memory in which nothing is allocated.
    pub const fn new() -> Self {
        Self { allocations: Vec::new(), next: FIRST }
    }

    /// Allocates room for `contents`, copies them there and returns the address, a multiple of 512.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the host has no room for it.
    pub fn allocate(&mut self, contents: &[u8]) -> Result<u64, OutOfMemory> {
        let mut bytes = room(contents.len())?;
        bytes.extend_from_slice(contents);
        self.place(bytes)
    }

    /// Allocates `bytes` bytes of `value`, as [`allocate`](Self::allocate) does.
    ///
    /// # Errors
    /// [`OutOfMemory`] when the host has no room for it.
    pub fn allocate_filled(&mut self, bytes: usize, value: u8) -> Result<u64, OutOfMemory> {
        let mut filled = room(bytes)?;
        filled.resize(bytes, value);
        self.place(filled)
    }

    fn place(&mut self, bytes: Vec<u8>) -> Result<u64, OutOfMemory> {
        let base = self.next;
        let end = base.checked_add(bytes.len() as u64).and_then(|end| end.checked_add(GAP));
        let next = end.and_then(|free| free.checked_next_multiple_of(ALIGNMENT));
        self.next = next.ok_or(OutOfMemory { bytes: bytes.len() })?;
        self.allocations.push(Allocation { base, bytes });
        Ok(base)
    }

    /// Frees the allocation that begins at `address`. Its addresses are not used again.
    ///
    /// # Errors
    /// [`NotAllocated`] unless one begins there.
    pub fn free(&mut self, address: u64) -> Result<(), NotAllocated> {
        let found = self.allocations.binary_search_by_key(&address, |allocation| allocation.base);
        self.allocations.remove(found.map_err(|_| NotAllocated { address })?);
        Ok(())
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

    /// Sets `bytes` bytes from `address` on to `value`.
    ///
    /// # Errors
    /// [`FaultKind::OutOfBounds`] unless all of them lie in one allocation; then nothing is written.
    pub fn fill(&mut self, address: u64, value: u8, bytes: usize) -> Result<(), FaultKind> {
        self.slice_mut(address, bytes)?.fill(value);
        Ok(())
    }

    /// All of it, for the clusters of a launch.
    pub(crate) fn share(&mut self) -> Device<'_> {
        Device::new(self.allocations.iter_mut().map(|one| (one.base, &mut one.bytes[..])))
    }

    /// The `bytes` bytes from `address` on, to be written.
    fn slice_mut(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], FaultKind> {
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

/// An empty vector with room for `bytes` bytes.
fn room(bytes: usize) -> Result<Vec<u8>, OutOfMemory> {
    let mut empty = Vec::new();
    empty.try_reserve_exact(bytes).map_err(|_| OutOfMemory { bytes })?;
    Ok(empty)
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
    #[test]
    fn what_was_freed_is_out_of_bounds_for_good() {
        let mut memory = Memory::new();
        let first = memory.allocate(&[1; 8]).unwrap();
        let second = memory.allocate_filled(8, 2).unwrap();
        memory.free(second).unwrap();
        assert_eq!(memory.free(second), Err(NotAllocated { address: second }));
        assert_eq!(memory.free(first + 1), Err(NotAllocated { address: first + 1 }));
        assert!(memory.read(second, 1).is_err());
        let third = memory.allocate(&[3; 8]).unwrap();
        assert!(third > second);
        memory.fill(third + 1, 4, 7).unwrap();
        assert!(memory.fill(third + 1, 5, 8).is_err());
        assert_eq!(memory.read(third, 8).unwrap(), [3, 4, 4, 4, 4, 4, 4, 4]);
        memory.free(first).unwrap();
        assert_eq!(memory.read(third, 1).unwrap(), [3]);
    }

    #[test]
    fn what_the_host_has_no_room_for_is_refused() {
        assert_eq!(Memory::new().allocate_filled(usize::MAX, 0), Err(OutOfMemory { bytes: usize::MAX }));
    }
}
