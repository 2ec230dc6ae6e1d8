//! Device addresses, and copies and fills of them.

use core::fmt;

use bytemuck::{Pod, Zeroable};

use super::call;
use super::error::DriverError;
use super::stream::Stream;

/// An address in device memory. A plain value, which can stand in a kernel's parameters; it keeps
/// nothing alive.
///
/// ```
/// use fa3_sys::driver::DevicePtr;
/// assert_eq!(DevicePtr(0x1000).offset(16), Some(DevicePtr(0x1010)));
/// assert_eq!(DevicePtr(u64::MAX).offset(1), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The null address, which empty buffers have.
    pub const NULL: Self = Self(0);

    /// The address `bytes` further, `None` where there is none.
    pub fn offset(self, bytes: usize) -> Option<Self> {
        self.0.checked_add(u64::try_from(bytes).ok()?).map(Self)
    }
}

impl fmt::Display for DevicePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// How much device memory there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes free, for all processes.
    pub free: usize,
    /// Bytes the device has.
    pub total: usize,
}

/// Copies and fills of bare addresses, ordered on the stream and asynchronous. [`Buffer`](super::Buffer)
/// has the checked forms.
impl Stream {
    /// Copies `source` to the device. Nothing is copied where `source` is empty.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// `to` is the start of at least as many bytes of device memory, which live until the stream
    /// has done the copy; so does `source`, unchanged.
    pub unsafe fn copy_to_device(&self, to: DevicePtr, source: &[u8]) -> Result<(), DriverError> {
        if source.is_empty() {
            return Ok(());
        }
        self.context().bind()?;
        // SAFETY: the caller answers for the range at `to` and for how long `source` lives.
        unsafe { call!(cuMemcpyHtoDAsync_v2(to.0, source.as_ptr().cast(), source.len(), self.handle())) }
    }

    /// Copies from the device into `target`. Nothing is copied where `target` is empty.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// `from` is the start of at least as many bytes of device memory, which live until the stream
    /// has done the copy; so does `target`, which nothing reads or writes before.
    pub unsafe fn copy_to_host(&self, target: &mut [u8], from: DevicePtr) -> Result<(), DriverError> {
        if target.is_empty() {
            return Ok(());
        }
        self.context().bind()?;
        // SAFETY: the caller answers for the range at `from` and for how long `target` lives.
        unsafe {
            call!(cuMemcpyDtoHAsync_v2(target.as_mut_ptr().cast(), from.0, target.len(), self.handle()))
        }
    }

    /// Copies `bytes` bytes from one place on the device to another.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// Both are the start of at least `bytes` bytes of device memory, which do not overlap and live
    /// until the stream has done the copy.
    pub unsafe fn copy_on_device(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), DriverError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context().bind()?;
        // SAFETY: the caller answers for both ranges.
        unsafe { call!(cuMemcpyDtoDAsync_v2(to.0, from.0, bytes, self.handle())) }
    }

    /// Sets `count` bytes to `value`.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Safety
    /// `to` is the start of at least `count` bytes of device memory, which live until the stream
    /// has done the fill.
    pub unsafe fn fill_u8(&self, to: DevicePtr, value: u8, count: usize) -> Result<(), DriverError> {
        if count == 0 {
            return Ok(());
        }
        self.context().bind()?;
        // SAFETY: the caller answers for the range.
        unsafe { call!(cuMemsetD8Async(to.0, value, count, self.handle())) }
    }

    /// Sets `count` words of 32 bits to `value`.
    ///
    /// # Errors
    /// [`DriverError::Misaligned`] unless `to` is a multiple of 4; otherwise what the driver says.
    ///
    /// # Safety
    /// `to` is the start of at least `4 * count` bytes of device memory, which live until the
    /// stream has done the fill.
    pub unsafe fn fill_u32(&self, to: DevicePtr, value: u32, count: usize) -> Result<(), DriverError> {
        if count == 0 {
            return Ok(());
        }
        if !to.0.is_multiple_of(4) {
            return Err(DriverError::Misaligned { operation: "fill_u32", address: to.0, alignment: 4 });
        }
        self.context().bind()?;
        // SAFETY: the caller answers for the range.
        unsafe { call!(cuMemsetD32Async(to.0, value, count, self.handle())) }
    }
}
