//! A device's memory: allocations and copies.

use core::ffi::c_void;

use super::device::{Handle, opened};
use super::error::{Failure, guarded};
use super::pointer;
use super::types::Status;

/// `fa3_memory_allocate`.
///
/// # Safety
/// `device` is null or an open device, `address` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_memory_allocate(
    device: *const Handle,
    bytes: usize,
    address: *mut *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let result = unsafe { pointer::result(address, "address", core::ptr::null_mut())? };
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        let backend = handle.backend();
        let allocated = backend.allocate(bytes)?;
        let Ok(address) = usize::try_from(allocated.address) else {
            // SAFETY: allocated just now, and nothing knows it.
            unsafe { backend.free(allocated)? };
            let rule = "an address of the device fits a pointer of this process";
            return Err(Failure::argument("address", allocated.address, rule, "use a 64-bit process"));
        };
        *result = core::ptr::with_exposed_provenance_mut(address);
        Ok(())
    })
}

/// `fa3_memory_free`.
///
/// # Safety
/// `device` is null or an open device, `address` null or of memory allocated on it, which nothing
/// uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_memory_free(device: *const Handle, address: *mut c_void) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        let backend = handle.backend();
        if let Some(address) = pointer::optional(address, backend.place()) {
            // SAFETY: as the caller says.
            unsafe { backend.free(address)? };
        }
        Ok(())
    })
}

/// `fa3_memory_upload`.
///
/// # Safety
/// `device` is null or an open device, `to` null or of `bytes` bytes of its memory, `from_host` null or
/// of as many bytes of the process's, apart from those of `to`; nothing writes either meanwhile.
/// `stream` is null or a live stream of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_memory_upload(
    device: *const Handle,
    to: *mut c_void,
    from_host: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        if !check_copy(bytes, ("to", to), ("from_host", from_host))? {
            return Ok(());
        }
        let backend = handle.backend();
        // SAFETY: not null, and of so many bytes that nothing writes, as the caller says.
        let from = unsafe { core::slice::from_raw_parts(from_host.cast::<u8>(), bytes) };
        // SAFETY: as the caller says.
        unsafe { backend.upload(pointer::device(to, backend.place()), from, pointer::stream(stream))? };
        Ok(())
    })
}

/// `fa3_memory_download`.
///
/// # Safety
/// As [`fa3_memory_upload`], with the roles of the memories exchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_memory_download(
    device: *const Handle,
    to_host: *mut c_void,
    from: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        if !check_copy(bytes, ("to_host", to_host), ("from", from))? {
            return Ok(());
        }
        let backend = handle.backend();
        // SAFETY: not null, and of so many bytes that nothing else uses, as the caller says; bytes
        // that C has not written are written here before anything reads them.
        let to = unsafe { core::slice::from_raw_parts_mut(to_host.cast::<u8>(), bytes) };
        // SAFETY: as the caller says.
        unsafe { backend.download(to, pointer::device(from, backend.place()), pointer::stream(stream))? };
        Ok(())
    })
}

/// Whether there is something to copy, between pointers that are not null.
fn check_copy(
    bytes: usize,
    (to_name, to): (&'static str, *mut c_void),
    (from_name, from): (&'static str, *const c_void),
) -> Result<bool, Failure> {
    if bytes == 0 {
        return Ok(false);
    }
    if isize::try_from(bytes).is_err() {
        return Err(Failure::argument(
            "bytes",
            bytes,
            "no memory is that large",
            "pass the size of the copy",
        ));
    }
    pointer::check(to, to_name, "the address of the copy")?;
    pointer::check(from, from_name, "the address of what is copied")?;
    Ok(true)
}
