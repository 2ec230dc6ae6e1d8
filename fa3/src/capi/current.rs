//! The calling thread's current CUDA context. Rust code makes a device's current and leaves it so;
//! C code expects what it has made current itself.

use crate::{Place, Result};

/// The current context is again what it was when this is dropped.
pub(super) struct Kept {
    #[cfg(feature = "cuda")]
    _context: Option<fa3_sys::driver::CurrentContext>,
}

/// Keeps the current context during work on memory of `place`.
#[cfg(feature = "cuda")]
pub(super) fn keep(place: Place) -> Result<Kept> {
    let cuda = matches!(place, Place::Cuda(_));
    Ok(Kept { _context: cuda.then(fa3_sys::driver::CurrentContext::save).transpose()? })
}

/// A build without CUDA makes no context current.
#[cfg(not(feature = "cuda"))]
pub(super) fn keep(_: Place) -> Result<Kept> {
    Ok(Kept {})
}
