//! Streams: queues of device work, each in order.

use cudarc::driver::sys::{self, CUstream_flags_enum};

use super::context::Context;
use super::error::{DriverError, NOT_READY};
use super::event::Event;
use super::{call, report_drop_error};

/// A queue of kernels and copies that run one after another.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    raw: sys::CUstream,
    owned: bool,
}

// SAFETY: a `CUstream` may be used from any thread with its context current, which every method
// sees to (CUDA Driver API, "Stream Management"); the driver synchronises concurrent use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream that runs beside the default stream and does not wait for it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(context: &Context) -> Result<Self, DriverError> {
        context.bind()?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: a context is current, and `raw` is valid for the write.
        unsafe { call!(cuStreamCreate(&raw mut raw, CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32)) }?;
        Ok(Self { context: context.clone(), raw, owned: true })
    }

    /// The legacy default stream, whose handle is zero. Streams that other libraries made without
    /// the non-blocking flag wait for it and it for them. It cannot be captured.
    pub fn null(context: &Context) -> Self {
        Self { context: context.clone(), raw: core::ptr::null_mut(), owned: false }
    }

    /// A stream that someone else owns: a `CUstream`, a `cudaStream_t`, or PyTorch's
    /// `stream.cuda_stream`, as an integer. 0 and 1 are the legacy default stream, 2 is the
    /// calling thread's own one (CUDA Driver API, "Stream synchronization behavior").
    ///
    /// # Safety
    /// `handle` is one of 0, 1, 2, or a stream of `context` that is not destroyed while the
    /// returned value is in use.
    pub unsafe fn from_raw(context: &Context, handle: u64) -> Self {
        Self { context: context.clone(), raw: handle as usize as sys::CUstream, owned: false }
    }

    /// The handle, as an integer: a `CUstream`.
    pub fn raw(&self) -> u64 {
        self.raw as usize as u64
    }

    pub(crate) fn handle(&self) -> sys::CUstream {
        self.raw
    }

    /// The context that the stream belongs to.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Waits until all work on the stream is done.
    ///
    /// # Errors
    /// [`DriverError::Fault`] where a kernel or copy failed; otherwise what the driver says.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: the stream is alive: owned by `self`, or promised by the caller of `from_raw`.
        unsafe { call!(cuStreamSynchronize(self.raw)) }
    }

    /// Whether all work on the stream is done.
    ///
    /// # Errors
    /// [`DriverError::Fault`] where a kernel or copy failed; otherwise what the driver says.
    pub fn is_complete(&self) -> Result<bool, DriverError> {
        self.context.bind()?;
        // SAFETY: the stream is alive: owned by `self`, or promised by the caller of `from_raw`.
        complete(unsafe { call!(cuStreamQuery(self.raw)) })
    }

    /// Makes later work on this stream wait for what `event` recorded, which may be on another
    /// stream. Returns at once. An event that was never recorded is no wait.
    ///
    /// # Errors
    /// What the driver says.
    pub fn wait(&self, event: &Event) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: stream and event are alive; the driver keeps what it needs of the event.
        unsafe { call!(cuStreamWaitEvent(self.raw, event.handle(), 0)) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            let result = self.context.bind().and_then(|()| {
                // SAFETY: `self` owns the stream and nothing uses it after this; work still on it
                // finishes before the driver frees it (`cuStreamDestroy`).
                unsafe { call!(cuStreamDestroy_v2(self.raw)) }
            });
            report_drop_error("stream", result);
        }
    }
}

/// Turns `CUDA_ERROR_NOT_READY` into `false`.
pub(crate) fn complete(result: Result<(), DriverError>) -> Result<bool, DriverError> {
    match result {
        Ok(()) => Ok(true),
        Err(DriverError::Api { code: NOT_READY, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_not_ready_means_incomplete() {
        assert_eq!(complete(Ok(())), Ok(true));
        assert_eq!(complete(Err(DriverError::from_code("cuStreamQuery", NOT_READY))), Ok(false));
        let fault = DriverError::from_code("cuStreamQuery", 700);
        assert_eq!(complete(Err(fault.clone())), Err(fault));
    }
}
