//! The primary context of a device.

use core::fmt;
use std::sync::Arc;

use cudarc::driver::CudaContext;

use super::call;
use super::device::DeviceInfo;
use super::error::DriverError;
use super::memory::MemoryInfo;
use super::probe::probe;
use crate::Arch;

/// A device that is open: its primary context, retained for as long as a clone of this lives.
///
/// The primary context is the one that the CUDA runtime, PyTorch and `cudarc` use too, so their
/// pointers, streams and events are valid here, and those of this crate there. Clones are cheap
/// and equal.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    cuda: Arc<CudaContext>,
    device: DeviceInfo,
    arch: Arch,
}

impl Context {
    /// Opens device `ordinal` and makes its context current on the calling thread.
    ///
    /// # Errors
    /// Those of [`probe`]; [`DriverError::NoSuchDevice`]; [`DriverError::UnsupportedDevice`] for a
    /// device that is neither compute capability 9.0 nor 10.0.
    ///
    /// ```no_run
    /// let context = fa3_sys::driver::Context::open(0)?;
    /// println!("{} runs kernels for {}", context.device(), context.arch());
    /// # Ok::<(), fa3_sys::driver::DriverError>(())
    /// ```
    pub fn open(ordinal: u32) -> Result<Self, DriverError> {
        let driver = probe()?;
        let device = driver.device(ordinal)?;
        let arch = accept(&device)?;
        let cuda = CudaContext::new(ordinal as usize)
            .map_err(|error| DriverError::from_code("cuDevicePrimaryCtxRetain", error.0 as u32))?;
        tracing::debug!(ordinal, device = %device.name, %arch, "CUDA context opened");
        Ok(Self { inner: Arc::new(Inner { cuda, device, arch }) })
    }

    /// The context that `cudarc` has open, to share it. It should be the primary one, which
    /// `CudaContext::new` opens.
    ///
    /// # Errors
    /// Those of [`probe`]; [`DriverError::UnsupportedDevice`].
    pub fn from_cudarc(cuda: Arc<CudaContext>) -> Result<Self, DriverError> {
        let driver = probe()?;
        let count = driver.device_count();
        let ordinal = u32::try_from(cuda.ordinal())
            .map_err(|_| DriverError::NoSuchDevice { ordinal: u32::MAX, count })?;
        let device = DeviceInfo::read(cuda.cu_device(), ordinal)?;
        let arch = accept(&device)?;
        Ok(Self { inner: Arc::new(Inner { cuda, device, arch }) })
    }

    /// The same context as a value of `cudarc`'s.
    pub fn cudarc(&self) -> &Arc<CudaContext> {
        &self.inner.cuda
    }

    /// The device it is open on.
    pub fn device(&self) -> &DeviceInfo {
        &self.inner.device
    }

    /// The architecture whose kernels run on it.
    pub fn arch(&self) -> Arch {
        self.inner.arch
    }

    /// Makes the context current on the calling thread, which every method of this crate does by
    /// itself. For callers of other CUDA libraries.
    ///
    /// # Errors
    /// What the driver says.
    pub fn bind(&self) -> Result<(), DriverError> {
        let mut current = core::ptr::null_mut();
        let own = self.inner.cuda.cu_ctx();
        // SAFETY: `current` is valid for the write, and `own` is retained by `self.inner.cuda`.
        unsafe {
            call!(cuCtxGetCurrent(&raw mut current))?;
            if current != own {
                call!(cuCtxSetCurrent(own))?;
            }
        }
        Ok(())
    }

    /// Waits for all work of the context, on every stream, those of other users of the primary
    /// context included. Prefer [`Stream::synchronize`](super::Stream::synchronize): this breaks
    /// off captures that are under way in the context, and driver 580.159 has been seen to crash in
    /// it while another thread instantiated a graph.
    ///
    /// # Errors
    /// [`DriverError::Fault`] where a kernel or copy failed; otherwise what the driver says.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        self.bind()?;
        // SAFETY: a context is current, which is all that the call needs.
        unsafe { call!(cuCtxSynchronize()) }
    }

    /// How much device memory is free, and how much there is.
    ///
    /// # Errors
    /// What the driver says.
    pub fn memory(&self) -> Result<MemoryInfo, DriverError> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current, and both pointers are valid for the write.
        unsafe { call!(cuMemGetInfo_v2(&raw mut free, &raw mut total)) }?;
        Ok(MemoryInfo { free, total })
    }

    /// An error unless `self` and `other` are the same context.
    pub(crate) fn expect_same(
        &self,
        what: &'static str,
        other: &Self,
        whose: &'static str,
    ) -> Result<(), DriverError> {
        if self == other { Ok(()) } else { Err(DriverError::WrongContext { what, other: whose }) }
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.inner.cuda.cu_ctx() == other.inner.cuda.cu_ctx()
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("ordinal", &self.inner.device.ordinal)
            .field("device", &self.inner.device.name)
            .field("arch", &self.inner.arch)
            .finish()
    }
}

fn accept(device: &DeviceInfo) -> Result<Arch, DriverError> {
    device.arch().map_err(|source| DriverError::UnsupportedDevice {
        ordinal: device.ordinal,
        name: device.name.clone(),
        source,
    })
}
