//! Memory that frees itself.

use std::sync::Arc;

use crate::{Backend, Error, Place, Pointer, Result};

/// An allocation of a backend, freed when dropped.
///
/// The owner drops it only after the streams that use it are done with it; CUDA's own free waits
/// for the device.
#[derive(Debug)]
pub struct Buffer {
    backend: Arc<dyn Backend>,
    pointer: Pointer,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` bytes, their contents undefined.
    ///
    /// # Errors
    /// [`Error::Allocation`] when there is not enough.
    pub fn new(backend: &Arc<dyn Backend>, bytes: usize) -> Result<Self> {
        let pointer = backend.allocate(bytes)?;
        Ok(Self { backend: Arc::clone(backend), pointer, bytes })
    }

    /// Its first byte.
    pub fn pointer(&self) -> Pointer {
        self.pointer
    }

    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whose memory it is.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by this backend in `new`, freed here alone; the owner keeps it until
        // the work that uses it is done.
        if let Err(error) = unsafe { self.backend.free(self.pointer) } {
            tracing::warn!(%error, bytes = self.bytes, "a buffer could not be freed");
        }
    }
}

/// Host memory, all zero.
///
/// # Errors
/// [`Error::Allocation`] when there is not enough.
pub(crate) fn zeros<T: bytemuck::Zeroable + Clone>(len: usize) -> Result<Vec<T>> {
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|error| Error::Allocation {
        bytes: len.saturating_mul(size_of::<T>()),
        place: Place::Host,
        why: error.to_string(),
    })?;
    data.resize(len, T::zeroed());
    Ok(data)
}
