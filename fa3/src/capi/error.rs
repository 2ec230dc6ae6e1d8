//! Errors as C sees them: a code, and a message of the thread's own.

use core::any::Any;
use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::types::Status;
use crate::Error;

/// Why a call from C failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("{argument} is a null pointer; pass {remedy}")]
    Null { argument: &'static str, remedy: &'static str },

    #[error(
        "{argument} is at {address:#x}, but must be a multiple of {alignment}; pass the address of such a structure"
    )]
    Unaligned { argument: &'static str, address: usize, alignment: usize },

    #[error("args.struct_size is {given}, but {rule}; set it to sizeof(fa3_forward_args)")]
    StructSize { given: usize, rule: String },

    #[error("{argument} is {value}, but {rule}; {remedy}")]
    Argument { argument: String, value: String, rule: String, remedy: &'static str },

    #[error("{0}")]
    Open(Error),

    #[error(transparent)]
    Library(#[from] Error),

    #[error("an error in fa3 itself, which is to be reported: {0}")]
    Panic(String),
}

impl Failure {
    pub(super) fn argument(
        argument: impl Into<String>,
        value: impl core::fmt::Display,
        rule: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self::Argument { argument: argument.into(), value: value.to_string(), rule: rule.into(), remedy }
    }

    fn status(&self) -> Status {
        match self {
            Self::Null { .. } => Status::NullPointer,
            Self::Unaligned { .. } => Status::Address,
            Self::StructSize { .. } => Status::StructSize,
            Self::Argument { .. } => Status::Argument,
            Self::Open(Error::Argument { .. }) => Status::Argument,
            Self::Open(_) => Status::Unavailable,
            Self::Library(error) => library(error),
            Self::Panic(_) => Status::Internal,
        }
    }
}

/// The code of an error of the Rust API.
fn library(error: &Error) -> Status {
    match error {
        Error::Argument { .. } | Error::OperandUnexpected { .. } => Status::Argument,
        Error::Unsupported(_) | Error::TensorMap { .. } => Status::Unsupported,
        Error::Null { .. } | Error::OperandMissing { .. } => Status::NullPointer,
        Error::Misaligned { .. } | Error::Overlap { .. } => Status::Address,
        // Of the arguments of a call from C, only the workspace has a length of its own.
        Error::Length { .. } => Status::Workspace,
        Error::Allocation { .. } => Status::OutOfMemory,
        Error::Kernel(_) => Status::Unavailable,
        Error::Backend { .. } => Status::Device,
        // C's pointers have no place, and its plans are bound where they were made.
        Error::WrongPlace { .. } | Error::PlanMismatch { .. } => Status::Internal,
        #[cfg(feature = "cuda")]
        Error::Driver(fa3_sys::driver::DriverError::OutOfMemory { .. }) => Status::OutOfMemory,
        #[cfg(feature = "cuda")]
        Error::Driver(error) if error.is_fault() => Status::Fault,
        #[cfg(feature = "cuda")]
        Error::Driver(_) => Status::Device,
        #[cfg(feature = "cuda")]
        Error::Fault { .. } => Status::Fault,
        #[cfg(feature = "emu")]
        Error::NotEmulated { .. } => Status::Unavailable,
        #[cfg(feature = "emu")]
        Error::Emulated { .. } => Status::Fault,
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function of the C API: an error becomes its code and the thread's message.
/// So does a panic, which would be an error of this crate.
pub(super) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    let body = || body().map_err(|failure| (failure.status(), failure.to_string()));
    // What a panic leaves behind is either dropped, or shared state whose locks are taken
    // whether poisoned or not.
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let failure = Failure::Panic(panic_message(payload.as_ref()));
        Err((failure.status(), failure.to_string()))
    });
    match outcome {
        Ok(()) => Status::Ok,
        Err((status, message)) => {
            remember(&message);
            status
        }
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

fn remember(message: &str) {
    let message = text(message);
    // A thread that is ending, its variables gone, has nobody to read the message.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            *last = message;
        }
    });
}

/// A string as C has it, without the zeros that end one.
pub(super) fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// `fa3_last_error`.
#[unsafe(no_mangle)]
pub extern "C" fn fa3_last_error() -> *const c_char {
    let pointer = LAST.try_with(|last| last.try_borrow().map_or(c"".as_ptr(), |last| last.as_ptr()));
    pointer.unwrap_or(c"".as_ptr())
}

/// `fa3_status_name`. Takes an integer: C may pass what is no [`Status`].
#[unsafe(no_mangle)]
pub extern "C" fn fa3_status_name(status: i32) -> *const c_char {
    let found = Status::ALL.iter().find(|(known, _)| *known as i32 == status);
    found.map_or(c"unknown", |(_, name): &(Status, &CStr)| name).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the string lives until this thread's next failure.
        unsafe { CStr::from_ptr(fa3_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_is_an_internal_error_with_its_message() {
        assert_eq!(guarded(|| panic!("number {}", 7)), Status::Internal);
        assert!(last().contains("number 7"), "{}", last());
        assert_eq!(guarded(|| std::panic::panic_any(7)), Status::Internal);
        assert!(last().contains("without a message"), "{}", last());
    }

    #[test]
    fn the_message_is_the_thread_s_and_stays_until_the_next_failure() {
        let fail = |what: &'static str| {
            guarded(|| Err(Failure::Null { argument: what, remedy: "one" }));
        };
        fail("here");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(last(), "");
                fail("there");
                assert!(last().starts_with("there"));
            });
        });
        assert_eq!(guarded(|| Ok(())), Status::Ok);
        assert!(last().starts_with("here"));
    }

    #[test]
    fn a_zero_does_not_cut_a_message_off() {
        assert_eq!(
            guarded(|| Err(Failure::argument("name", "a\0b", "it is not", "don't"))),
            Status::Argument
        );
        assert_eq!(last(), "name is a\u{fffd}b, but it is not; don't");
    }

    #[test]
    fn numbers_that_are_no_status_have_no_name() {
        for status in [-1, Status::ALL.len() as i32, i32::MAX, i32::MIN] {
            // SAFETY: the string is static.
            assert_eq!(unsafe { CStr::from_ptr(fa3_status_name(status)) }, c"unknown");
        }
    }
}
