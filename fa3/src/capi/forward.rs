//! The forward pass: at once, or bound and run.

use core::ffi::{c_char, c_void};
use std::ffi::CString;
use std::sync::OnceLock;

use super::current;
use super::device::{Handle, opened};
use super::error::{Failure, guarded, text};
use super::pointer;
use super::request::Request;
use super::types::{RawForward, Status};
use crate::Binding;

/// `fa3_binding`.
pub struct BindingHandle {
    binding: Binding,
    /// Written when it is first asked for.
    plan: OnceLock<CString>,
}

/// `fa3_forward_workspace`.
///
/// # Safety
/// `device` is null or an open device; `args` is null or of as many bytes as its `struct_size` says;
/// `bytes` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_forward_workspace(
    device: *const Handle,
    args: *const RawForward,
    bytes: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let result = unsafe { pointer::result(bytes, "bytes", 0)? };
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        // SAFETY: as the caller says.
        let request = unsafe { Request::read(args, handle.backend().place())? };
        *result = handle.device.plan(&request.problem())?.workspace_bytes();
        Ok(())
    })
}

/// # Safety
/// As [`fa3_forward_bind`].
unsafe fn bind(handle: &Handle, args: *const RawForward) -> Result<Binding, Failure> {
    let backend = handle.backend();
    // SAFETY: as the caller says.
    let request = unsafe { Request::read(args, backend.place())? };
    let plan = handle.device.plan(&request.problem())?;
    Ok(plan.bind(backend, &request.operands, request.workspace)?)
}

/// `fa3_forward`.
///
/// # Safety
/// As [`fa3_forward_bind`] and [`fa3_binding_run`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_forward(
    device: *const Handle,
    args: *const RawForward,
    stream: *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        // SAFETY: as the caller says.
        let binding = unsafe { bind(handle, args)? };
        // SAFETY: as the caller says. The binding's own workspace is freed here only when the
        // device is done with it; everything else of the binding was copied by the launch.
        unsafe { binding.run(pointer::stream(stream))? };
        Ok(())
    })
}

/// `fa3_forward_bind`.
///
/// # Safety
/// `device` is null or an open device; `args` is null or of as many bytes as its `struct_size` says;
/// `binding` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_forward_bind(
    device: *const Handle,
    args: *const RawForward,
    binding: *mut *mut BindingHandle,
) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let result = unsafe { pointer::result(binding, "binding", core::ptr::null_mut())? };
        // SAFETY: as the caller says.
        let (handle, _current) = unsafe { opened(device)? };
        // SAFETY: as the caller says.
        let binding = unsafe { bind(handle, args)? };
        *result = Box::into_raw(Box::new(BindingHandle { binding, plan: OnceLock::new() }));
        Ok(())
    })
}

/// `fa3_binding_run`.
///
/// # Safety
/// `binding` is null or a live binding. Its operands and workspace are memory of its device, as
/// large as their layouts span, which lives and is used by nothing else until `stream`, which is null
/// or a live stream of the device, has done the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_binding_run(binding: *const BindingHandle, stream: *mut c_void) -> Status {
    guarded(|| {
        // SAFETY: as the caller says.
        let handle = unsafe { pointer::shared(binding, "binding", "what fa3_forward_bind gave")? };
        let _current = current::keep(handle.binding.backend().place())?;
        // SAFETY: as the caller says.
        unsafe { handle.binding.run(pointer::stream(stream))? };
        Ok(())
    })
}

/// `fa3_binding_plan`.
///
/// # Safety
/// `binding` is null or a live binding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_binding_plan(binding: *const BindingHandle) -> *const c_char {
    let mut plan = c"".as_ptr();
    guarded(|| {
        // SAFETY: as the caller says.
        if let Some(handle) = unsafe { binding.as_ref() } {
            plan = handle.plan.get_or_init(|| text(&handle.binding.plan().to_string())).as_ptr();
        }
        Ok(())
    });
    plan
}

/// `fa3_binding_free`.
///
/// # Safety
/// `binding` is null or what `fa3_forward_bind` gave, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fa3_binding_free(binding: *mut BindingHandle) {
    guarded(|| {
        if !binding.is_null() {
            // SAFETY: made by `Box::into_raw`, and given back once, as the caller says.
            let handle = unsafe { Box::from_raw(binding) };
            let _current = current::keep(handle.binding.backend().place())?;
            drop(handle);
        }
        Ok(())
    });
}
