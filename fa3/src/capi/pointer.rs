//! Pointers from C: references, or errors that name the argument.

use core::ffi::{CStr, c_char, c_void};

use super::error::Failure;
use crate::{Place, Pointer};

/// What an argument points to.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for reads of `T` during `'a`, and nothing
/// writes it.
pub(super) unsafe fn shared<'a, T>(
    pointer: *const T,
    argument: &'static str,
    remedy: &'static str,
) -> Result<&'a T, Failure> {
    check(pointer, argument, remedy)?;
    // SAFETY: neither null nor misaligned, so valid as the caller says.
    Ok(unsafe { &*pointer })
}

/// Where a result goes. It is set to `initial` at once, so that no failure leaves it undefined.
///
/// # Safety
/// A pointer that is neither null nor misaligned is valid for writes of `T` during `'a`, and nothing
/// else uses it.
pub(super) unsafe fn result<'a, T: Copy>(
    pointer: *mut T,
    argument: &'static str,
    initial: T,
) -> Result<&'a mut T, Failure> {
    check(pointer, argument, "the address of a variable for the result")?;
    // SAFETY: neither null nor misaligned, so valid for writes as the caller says; `T` needs no drop.
    unsafe { pointer.write(initial) };
    // SAFETY: as above, and initialised.
    Ok(unsafe { &mut *pointer })
}

/// Neither null nor misaligned.
pub(super) fn check<T>(
    pointer: *const T,
    argument: &'static str,
    remedy: &'static str,
) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::Null { argument, remedy });
    }
    if !pointer.is_aligned() {
        let (address, alignment) = (pointer.addr(), align_of::<T>());
        return Err(Failure::Unaligned { argument, address, alignment });
    }
    Ok(())
}

/// A string.
///
/// # Safety
/// A pointer that is not null is to a string that ends in a zero and lives during `'a`.
pub(super) unsafe fn string<'a>(pointer: *const c_char, argument: &'static str) -> Result<&'a str, Failure> {
    check(pointer, argument, "a string")?;
    // SAFETY: not null, so a string as the caller says.
    let string = unsafe { CStr::from_ptr(pointer) };
    string.to_str().map_err(|error| {
        Failure::argument(
            argument,
            format!("`{}`", string.to_string_lossy()),
            format!("it must be UTF-8: {error}"),
            "pass such a string",
        )
    })
}

/// An address in a device's memory.
pub(super) fn device<T>(pointer: *const T, place: Place) -> Pointer {
    // Host addresses are read through pointers made of the number.
    Pointer { address: pointer.expose_provenance() as u64, place }
}

/// As [`device`]; null is an absent operand.
pub(super) fn optional<T>(pointer: *const T, place: Place) -> Option<Pointer> {
    (!pointer.is_null()).then(|| device(pointer, place))
}

/// A stream as C has it: a `CUstream`.
pub(super) fn stream(stream: *mut c_void) -> crate::StreamHandle {
    crate::StreamHandle::from_raw(stream.addr() as u64)
}
