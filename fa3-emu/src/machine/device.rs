//! Global memory as the clusters of a launch share it, each on a thread of its own.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::fault::{Access, FaultKind};
use crate::engine::tma::{Global, Unmapped};

/// The allocations of a [`Memory`](super::Memory), borrowed for a launch. Bytes are read and written one
/// by one, so that a race between clusters gives some mixture of bytes, as it may on a card; what must be
/// whole, such as an atomic, is done [alone](Self::alone).
#[derive(Debug)]
pub(crate) struct Device<'a> {
    /// The base and the bytes of each, by ascending base.
    allocations: Vec<(u64, &'a [AtomicU8])>,
    whole: Mutex<()>,
}

impl<'a> Device<'a> {
    /// Shares allocations, by ascending base.
    pub(crate) fn new(allocations: impl Iterator<Item = (u64, &'a mut [u8])>) -> Self {
        let shared = |bytes: &'a mut [u8]| {
            // SAFETY: an AtomicU8 has the size, the alignment and the bits of a u8, and the bytes are
            // borrowed exclusively for as long as the result lives.
            unsafe { &*(std::ptr::from_mut(bytes) as *const [AtomicU8]) }
        };
        let allocations = allocations.map(|(base, bytes)| (base, shared(bytes))).collect();
        Self { allocations, whole: Mutex::new(()) }
    }

    /// While this is held, no other access that is made whole takes place.
    pub(super) fn alone(&self) -> MutexGuard<'_, ()> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies from `address` on into `bytes`.
    pub(super) fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), FaultKind> {
        let there = self.find(Access::Read, address, bytes.len())?;
        bytes.iter_mut().zip(there).for_each(|(byte, there)| *byte = there.load(Ordering::Relaxed));
        Ok(())
    }

    /// Copies `bytes` to `address` and on.
    pub(super) fn store(&self, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
        let there = self.find(Access::Write, address, bytes.len())?;
        bytes.iter().zip(there).for_each(|(byte, there)| there.store(*byte, Ordering::Relaxed));
        Ok(())
    }

    fn find(&self, access: Access, address: u64, bytes: usize) -> Result<&'a [AtomicU8], FaultKind> {
        let after = self.allocations.partition_point(|&(base, _)| base <= address);
        let allocation = after.checked_sub(1).and_then(|index| self.allocations.get(index));
        let found = allocation.and_then(|&(base, there)| {
            let start = usize::try_from(address - base).ok()?;
            there.get(start..start.checked_add(bytes)?)
        });
        found.ok_or(FaultKind::OutOfBounds { access, space: "global", address, bytes })
    }
}

impl Global for &Device<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        let length = bytes.len();
        self.load(address, bytes).map_err(|_| Unmapped { address, bytes: length })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Unmapped> {
        self.store(address, bytes).map_err(|_| Unmapped { address, bytes: bytes.len() })
    }

    fn update(
        &mut self,
        address: u64,
        length: usize,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Unmapped> {
        let _alone = self.alone();
        let mut bytes = vec![0; length];
        self.read(address, &mut bytes)?;
        change(&mut bytes);
        self.write(address, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Memory;
    use super::*;

    #[test]
    fn allocations_are_shared_and_their_ends_kept() {
        let mut memory = Memory::new();
        let first = memory.allocate(&[1; 8]).unwrap();
        let second = memory.allocate(&[2; 4]).unwrap();
        let device = memory.share();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let mut device = &device;
                scope.spawn(move || {
                    device.store(first + thread, &[thread as u8 + 10]).unwrap();
                    for _ in 0..1000 {
                        let mut add = |bytes: &mut [u8]| bytes[0] = bytes[0].wrapping_add(1);
                        device.update(second, 1, &mut add).unwrap();
                    }
                });
            }
        });
        let mut word = [0; 2];
        for (address, fits) in
            [(first + 6, true), (first + 7, false), (second - 1, false), (second + 2, true)]
        {
            assert_eq!(device.load(address, &mut word).is_ok(), fits);
            assert_eq!(device.store(address, &word).is_ok(), fits);
        }
        assert_eq!(memory.read(first, 5).unwrap(), [10, 11, 12, 13, 1]);
        assert_eq!(memory.read(second, 1).unwrap(), [(2 + 4000_u32) as u8]);
    }
}
