//! The Tensor Memory Accelerator: tiles between global and shared memory (PTX ISA,
//! "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"), and contiguous bytes.
//!
//! A [`TileMap`] is decoded from the 128 bytes that a kernel passes; it loads, stores and reduces one
//! tile at a time. Where nothing documents what happens, it does as an H200 was observed to.

mod bulk;
mod combine;
mod error;
mod load;
mod map;
mod reduce;
mod store;
mod walk;

pub use bulk::{bulk_load, bulk_reduce, bulk_store};
pub use error::TmaError;
pub use map::TileMap;

/// Bytes of global memory that are not there, or not to be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at global address {address:#x} are not all in one allocation")]
pub struct Unmapped {
    /// Where the access begins.
    pub address: u64,
    /// Its length.
    pub bytes: usize,
}

/// Global memory as an engine sees it: ranges of bytes, each within one allocation.
pub trait Global {
    /// Copies from `address` on into `bytes`.
    ///
    /// # Errors
    /// [`Unmapped`], unless every byte is there.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unmapped>;

    /// Copies `bytes` to `address` and on.
    ///
    /// # Errors
    /// [`Unmapped`], unless every byte is there; then none is written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Unmapped>;

    /// Changes `length` bytes from `address` on, so that no other write to them comes between.
    ///
    /// # Errors
    /// [`Unmapped`], unless every byte is there; then `change` is not called.
    fn update(
        &mut self,
        address: u64,
        length: usize,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), Unmapped>;
}

/// A single allocation from address 0 up.
impl Global for [u8] {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        bytes.copy_from_slice(
            part(address, bytes.len())
                .and_then(|range| self.get(range))
                .ok_or(Unmapped { address, bytes: bytes.len() })?,
        );
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
        let there = part(address, length).and_then(|range| self.get_mut(range));
        change(there.ok_or(Unmapped { address, bytes: length })?);
        Ok(())
    }
}

fn part(address: u64, length: usize) -> Option<core::ops::Range<usize>> {
    let start = usize::try_from(address).ok()?;
    Some(start..start.checked_add(length)?)
}

#[cfg(test)]
mod tests;
