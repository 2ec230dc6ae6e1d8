//! The current context of a thread, kept across calls that change it.

use cudarc::driver::sys;

use super::error::DriverError;
use super::probe::probe;
use super::{call, report_drop_error};

/// The context that is current on the calling thread, or none; made current again when this is
/// dropped. For libraries whose callers use CUDA beside them and expect it to stay.
///
/// ```no_run
/// use fa3_sys::driver::{Context, CurrentContext};
/// let kept = CurrentContext::save()?;
/// let second = Context::open(1)?; // is current now
/// drop(kept); // no more
/// # Ok::<(), fa3_sys::driver::DriverError>(())
/// ```
#[derive(Debug)]
#[must_use = "the context is made current again when this is dropped"]
pub struct CurrentContext {
    /// A raw pointer, so that this stays on the thread.
    saved: sys::CUcontext,
}

impl CurrentContext {
    /// Notes the current context.
    ///
    /// # Errors
    /// Those of [`probe`]; what the driver says.
    pub fn save() -> Result<Self, DriverError> {
        probe()?;
        Ok(Self { saved: current()? })
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        let restored = current().and_then(|now| {
            if now == self.saved {
                return Ok(());
            }
            // SAFETY: the context was current on this thread, whose owner alone may destroy it while
            // it is; null makes none current (CUDA Driver API, `cuCtxSetCurrent`).
            unsafe { call!(cuCtxSetCurrent(self.saved)) }
        });
        report_drop_error("the current context", restored);
    }
}

fn current() -> Result<sys::CUcontext, DriverError> {
    let mut current = core::ptr::null_mut();
    // SAFETY: the driver is loaded, and `current` is valid for the write.
    unsafe { call!(cuCtxGetCurrent(&raw mut current)) }?;
    Ok(current)
}
