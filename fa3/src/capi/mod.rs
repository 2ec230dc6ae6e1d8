//! The C API: the functions that `include/fa3.h` declares and documents.
//!
//! Every function is a thin layer over the Rust API: [`pointer`] turns C's pointers into references
//! or errors, [`request`] C's structure into operands and options. `cargo xtask capi` builds the
//! library; a test holds the header's structures and constants against [`types`].

mod current;
mod device;
mod error;
mod forward;
#[cfg(all(test, feature = "cpu"))]
mod hostile;
#[cfg(test)]
mod layout;
mod memory;
mod pointer;
mod request;
mod types;

/// `fa3_version`: as `FA3_VERSION` counts it.
#[unsafe(no_mangle)]
pub extern "C" fn fa3_version() -> u32 {
    VERSION
}

const VERSION: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
    + number(env!("CARGO_PKG_VERSION_PATCH"));

/// The value of decimal digits.
const fn number(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => 0,
    }
}
