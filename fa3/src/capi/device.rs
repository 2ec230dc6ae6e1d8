//! Devices: handles, and waiting.

use core::ffi::{c_char, c_void};
use std::ffi::CString;
use std::sync::Arc;

use super::current::{self, Kept};
use super::error::{Failure, guarded, text};
use super::pointer;
use super::types::Status;
use crate::{Backend, Device, DeviceName, Place};

/// `fa3_device`.
pub struct Handle {
    pub(super) device: Device,
    description: CString,
}

impl Handle {
    pub(super) fn new(device: Device) -> Self {
        let description = text(&device.to_string());
        Self { device, description }
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        self.device.backend()
    }
}

/// The device of a call, and the thread's current context kept as long as the second lives.
///
/// # Safety
/// `device` is null or an open device, which stays open during `'a`.
pub(super) unsafe fn opened<'a>(device: *const Handle) -> Result<(&'a Handle, Kept), Failure> {
    // SAFETY: as the caller says.
    let handle = unsafe { pointer::shared(device, "device", "what fa3_device_open gave")? };
    Ok((handle, current::keep(handle.backend().place())?))
}

/// `fa3_device_open`.
///
/// # Safety
/// `name` is null or a string that ends in a zero; `device` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_device_open(name: *const c_char, device: *mut *mut Handle) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let result = unsafe { pointer::result(device, "device", core::ptr::null_mut())? };
        // SAFETY: as the caller says.
        let name = unsafe { pointer::string(name, "name")? };
        let opened = name.parse().and_then(open).map_err(Failure::Open)?;
        *result = Box::into_raw(Box::new(Handle::new(opened)));
        Ok(())
    })
}

fn open(name: DeviceName) -> crate::Result<Device> {
    let _current = match name {
        DeviceName::Cuda(ordinal) => Some(current::keep(Place::Cuda(ordinal))?),
        DeviceName::Cpu | DeviceName::Emulated(_) => None,
    };
    name.open()
}

/// `fa3_device_close`.
///
/// # Safety
/// `device` is null or what `fa3_device_open` gave, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_device_close(device: *mut Handle) {
    guarded(|| {
        if !device.is_null() {
            // SAFETY: made by `Box::into_raw`, and given back once, as the caller says.
            let handle = unsafe { Box::from_raw(device) };
            let _current = current::keep(handle.backend().place())?;
            drop(handle);
        }
        Ok(())
    });
}

/// `fa3_device_description`.
///
/// # Safety
/// `device` is null or an open device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_device_description(device: *const Handle) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { device.as_ref() }.map_or(c"".as_ptr(), |device| device.description.as_ptr())
}

/// `fa3_device_synchronize`.
///
/// # Safety
/// `device` is null or an open device, `stream` null or a live stream of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_device_synchronize(device: *const Handle, stream: *mut c_void) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        // SAFETY: as the caller says.
        unsafe { handle.backend().synchronize(pointer::stream(stream))? };
        Ok(())
    })
}
