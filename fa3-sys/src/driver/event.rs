//! Events: points in a stream that can be waited for and timed.

use cudarc::driver::sys::{self, CUevent_flags_enum};

use super::context::Context;
use super::error::{DriverError, check};
use super::probe::entry;
use super::stream::{Stream, complete};
use super::{call, report_drop_error};

/// A point in a stream.
#[derive(Debug)]
pub struct Event {
    context: Context,
    raw: sys::CUevent,
    timing: bool,
}

// SAFETY: a `CUevent` may be used from any thread with its context current, which every method
// sees to (CUDA Driver API, "Event Management"); the driver synchronises concurrent use.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event for ordering alone, the cheaper kind.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(context: &Context) -> Result<Self, DriverError> {
        Self::create(context, false)
    }

    /// An event that records the device's clock too.
    ///
    /// # Errors
    /// What the driver says.
    pub fn with_timing(context: &Context) -> Result<Self, DriverError> {
        Self::create(context, true)
    }

    fn create(context: &Context, timing: bool) -> Result<Self, DriverError> {
        context.bind()?;
        let flags = if timing {
            CUevent_flags_enum::CU_EVENT_DEFAULT
        } else {
            CUevent_flags_enum::CU_EVENT_DISABLE_TIMING
        };
        let mut raw = core::ptr::null_mut();
        // SAFETY: a context is current, and `raw` is valid for the write.
        unsafe { call!(cuEventCreate(&raw mut raw, flags as u32)) }?;
        Ok(Self { context: context.clone(), raw, timing })
    }

    /// The handle, as an integer: a `CUevent`.
    pub fn raw(&self) -> u64 {
        self.raw as usize as u64
    }

    pub(crate) fn handle(&self) -> sys::CUevent {
        self.raw
    }

    /// Marks the point after all work that is on `stream` now.
    ///
    /// # Errors
    /// [`DriverError::WrongContext`] where the two were made with different contexts; otherwise
    /// what the driver says.
    pub fn record(&self, stream: &Stream) -> Result<(), DriverError> {
        self.context.expect_same("the event", stream.context(), "the stream")?;
        self.context.bind()?;
        // SAFETY: event and stream are alive and of one context.
        unsafe { call!(cuEventRecord(self.raw, stream.handle())) }
    }

    /// Waits until the device has reached the point, at once where none was recorded.
    ///
    /// # Errors
    /// [`DriverError::Fault`] where a kernel or copy failed; otherwise what the driver says.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.context.bind()?;
        // SAFETY: `self` owns the event.
        unsafe { call!(cuEventSynchronize(self.raw)) }
    }

    /// Whether the device has reached the point, true where none was recorded.
    ///
    /// # Errors
    /// [`DriverError::Fault`] where a kernel or copy failed; otherwise what the driver says.
    pub fn is_complete(&self) -> Result<bool, DriverError> {
        self.context.bind()?;
        // SAFETY: `self` owns the event.
        complete(unsafe { call!(cuEventQuery(self.raw)) })
    }

    /// Milliseconds of device time from `start` to this event, to about half a microsecond. Both
    /// must be recorded and reached.
    ///
    /// # Errors
    /// [`DriverError::EventWithoutTiming`] unless both were made by [`Event::with_timing`];
    /// [`DriverError::Api`] with `CUDA_ERROR_NOT_READY` before both are reached.
    ///
    /// ```no_run
    /// # use fa3_sys::driver::{Context, Event, Stream};
    /// # let context = Context::open(0)?;
    /// # let stream = Stream::new(&context)?;
    /// let (start, end) = (Event::with_timing(&context)?, Event::with_timing(&context)?);
    /// start.record(&stream)?;
    /// // … launches …
    /// end.record(&stream)?;
    /// end.synchronize()?;
    /// println!("{} ms", end.elapsed_ms_since(&start)?);
    /// # Ok::<(), fa3_sys::driver::DriverError>(())
    /// ```
    pub fn elapsed_ms_since(&self, start: &Self) -> Result<f32, DriverError> {
        for (event, which) in [(start, "start"), (self, "end")] {
            if !event.timing {
                return Err(DriverError::EventWithoutTiming { which });
            }
        }
        let elapsed = entry()?.event_elapsed_time;
        self.context.bind()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive, and `milliseconds` is valid for the write.
        let code = unsafe { elapsed(&raw mut milliseconds, start.raw.cast(), self.raw.cast()) };
        check("cuEventElapsedTime_v2", code)?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let result = self.context.bind().and_then(|()| {
            // SAFETY: `self` owns the event; waits that were submitted keep what they need of it.
            unsafe { call!(cuEventDestroy_v2(self.raw)) }
        });
        report_drop_error("event", result);
    }
}
