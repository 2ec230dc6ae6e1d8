//! Allocations in this process's memory, for the CPU and the mock.

use core::alloc::Layout;
use std::alloc::{alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Error, Place, Pointer, Result};

/// The alignment of every allocation: more than TMA, vector loads and cache lines ask for.
const ALIGNMENT: usize = 256;

/// Live allocations by address.
#[derive(Debug)]
pub(super) struct HostMemory {
    place: Place,
    backend: &'static str,
    live: Mutex<BTreeMap<u64, Layout>>,
}

impl HostMemory {
    pub(super) const fn new(place: Place, backend: &'static str) -> Self {
        Self { place, backend, live: Mutex::new(BTreeMap::new()) }
    }

    pub(super) fn allocate(&self, bytes: usize) -> Result<Pointer> {
        let failed = |why: &str| Error::Allocation { bytes, place: self.place, why: why.to_owned() };
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT)
            .map_err(|_| failed("it is more than the address space"))?;
        // SAFETY: the layout's size is at least one byte.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return Err(failed("the system has no more"));
        }
        let address = start.expose_provenance() as u64;
        self.live().insert(address, layout);
        Ok(Pointer { address, place: self.place })
    }

    pub(super) fn free(&self, pointer: Pointer) -> Result<()> {
        super::expect_place(pointer, self.place, self.backend)?;
        let layout = self.live().remove(&pointer.address).ok_or_else(|| Error::Backend {
            backend: self.backend,
            request: format!("free {:#x}, which is no live allocation", pointer.address),
            remedy: "free what `allocate` returned, once",
        })?;
        // SAFETY: the address and the layout are of an allocation of `allocate`, which was live
        // until its entry was removed just now; the caller of `Backend::free` says it is unused.
        unsafe { dealloc(host_pointer(pointer), layout) };
        Ok(())
    }

    /// Whether the bytes lie within one live allocation.
    pub(super) fn contains(&self, pointer: Pointer, bytes: usize) -> bool {
        let live = self.live();
        let Some((start, layout)) = live.range(..=pointer.address).next_back() else {
            return false;
        };
        let end = start.saturating_add(layout.size() as u64);
        pointer.address.checked_add(bytes as u64).is_some_and(|last| last <= end)
    }

    fn live(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Layout>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        for (address, layout) in core::mem::take(&mut *self.live()) {
            let pointer = Pointer { address, place: self.place };
            // SAFETY: a live allocation of `allocate`; its backend, which every user of the
            // memory borrows or shares, is gone.
            unsafe { dealloc(host_pointer(pointer), layout) };
        }
    }
}

/// The pointer with a host address.
pub(super) fn host_pointer(pointer: Pointer) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(pointer.address as usize)
}

/// # Safety
/// As [`Backend::upload`](super::Backend::upload).
pub(super) unsafe fn upload(to: Pointer, from: &[u8]) {
    if from.is_empty() {
        return;
    }
    // SAFETY: the caller says that `to` addresses `from.len()` bytes which nothing else uses, so
    // that they cannot overlap the borrowed slice.
    unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), host_pointer(to), from.len()) };
}

/// # Safety
/// As [`Backend::download`](super::Backend::download).
pub(super) unsafe fn download(to: &mut [u8], from: Pointer) {
    if to.is_empty() {
        return;
    }
    // SAFETY: the caller says that `from` addresses `to.len()` initialised bytes which nothing
    // writes, so that they cannot overlap the exclusively borrowed slice.
    unsafe { core::ptr::copy_nonoverlapping(host_pointer(from).cast_const(), to.as_mut_ptr(), to.len()) };
}

/// # Safety
/// As [`Backend::copy`](super::Backend::copy).
pub(super) unsafe fn copy(to: Pointer, from: Pointer, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the caller says that both address `bytes` bytes and do not overlap.
    unsafe { core::ptr::copy_nonoverlapping(host_pointer(from).cast_const(), host_pointer(to), bytes) };
}

/// # Safety
/// As [`Backend::fill`](super::Backend::fill).
pub(super) unsafe fn fill(to: Pointer, value: u8, bytes: usize) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the caller says that `to` addresses `bytes` bytes which nothing else uses.
    unsafe { core::ptr::write_bytes(host_pointer(to), value, bytes) };
}
