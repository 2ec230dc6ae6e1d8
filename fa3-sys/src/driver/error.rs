//! The error of every driver operation.

use super::config::LaunchError;
use super::image::ImageError;
use super::probe::{self, DriverVersion};
use crate::{Arch, UnsupportedArch};

/// What went wrong, with the values that a person needs to mend it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver library is missing or is no library.
    #[error(
        "the CUDA driver library `{library}` could not be loaded: {reason}; install an NVIDIA driver \
         for CUDA {needed} or newer (in a container: start it with GPU access), or run without a GPU"
    )]
    DriverNotFound {
        /// The name that was asked of the loader.
        library: String,
        /// What the loader said.
        reason: String,
        /// The oldest version that would do.
        needed: DriverVersion,
    },
    /// The driver library lacks a function that this crate calls.
    #[error(
        "the CUDA driver library `{library}` has no function `{symbol}`: it is not a complete driver; \
         install the NVIDIA driver again, and look for another `libcuda` on the library path"
    )]
    DriverIncomplete {
        /// The name that was asked of the loader.
        library: String,
        /// The first function that is missing.
        symbol: &'static str,
    },
    /// The driver is older than the kernels need.
    #[error(
        "the CUDA driver supports CUDA {found}, and CUDA {needed} or newer is needed; \
         install a newer NVIDIA driver or the matching `cuda-compat` package"
    )]
    DriverTooOld {
        /// What the driver says it supports.
        found: DriverVersion,
        /// The oldest version that would do.
        needed: DriverVersion,
    },
    /// The driver works and sees no device.
    #[error(
        "the CUDA driver sees no device (CUDA_VISIBLE_DEVICES is {}); `nvidia-smi` lists what is installed",
        .visible.as_deref().map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"))
    )]
    NoDevice {
        /// The environment variable that hides devices from the driver.
        visible: Option<String>,
    },
    /// There is no device of this ordinal.
    #[error("there is no CUDA device {ordinal}: the driver sees {count}, numbered from 0")]
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// How many devices there are.
        count: u32,
    },
    /// The device is of an architecture that there are no kernels for.
    #[error("CUDA device {ordinal} ({name}) cannot be opened: {source}")]
    UnsupportedDevice {
        /// The device's ordinal.
        ordinal: u32,
        /// The device's name.
        name: String,
        /// Its compute capability, and what is supported.
        source: UnsupportedArch,
    },
    /// The kernel was built for another architecture than the device's.
    #[error(
        "kernel `{symbol}` was built for {built_for} and runs on no other architecture; \
         device {ordinal} ({name}) is {arch}"
    )]
    WrongArch {
        /// The kernel's name.
        symbol: String,
        /// The architecture it was built for.
        built_for: Arch,
        /// The device's ordinal.
        ordinal: u32,
        /// The device's name.
        name: String,
        /// The device's architecture.
        arch: Arch,
    },
    /// Two values that must belong to one context do not.
    #[error("{what} belongs to another CUDA context than {other}; make both with the same device's context")]
    WrongContext {
        /// The one value.
        what: &'static str,
        /// The other value.
        other: &'static str,
    },
    /// Device memory is used up.
    #[error(
        "device memory is used up: {requested} bytes were asked for, {free} of {total} are free \
         (and may be in pieces)"
    )]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes free on the device.
        free: usize,
        /// Bytes the device has.
        total: usize,
    },
    /// A copy or fill would leave the buffer.
    #[error("{operation} of {bytes} bytes at offset {offset} leaves the buffer, which has {size} bytes")]
    OutOfRange {
        /// What was asked for.
        operation: &'static str,
        /// Where it would start, in bytes.
        offset: usize,
        /// How many bytes it would touch.
        bytes: usize,
        /// The bytes there are.
        size: usize,
    },
    /// A buffer's size is no whole number of elements.
    #[error("{operation}: a buffer of {size} bytes is no whole number of elements of {element} bytes")]
    PartialElement {
        /// What was asked for.
        operation: &'static str,
        /// The bytes there are.
        size: usize,
        /// Bytes an element.
        element: usize,
    },
    /// An address is not a multiple of what the operation needs.
    #[error("{operation}: address {address:#x} is not a multiple of {alignment}")]
    Misaligned {
        /// What was asked for.
        operation: &'static str,
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// An event without timing was asked for a time.
    #[error("elapsed time: the {which} event records no time; make it with `Event::with_timing`")]
    EventWithoutTiming {
        /// `start` or `end`.
        which: &'static str,
    },
    /// The bytes are no complete cubin, fat binary or PTX text.
    #[error("module image: {0}")]
    Image(#[from] ImageError),
    /// The driver refused a module image that looked whole.
    #[error("the driver refused the module image: {name} ({code}): {text}{}", show_log(.log))]
    ImageRefused {
        /// The driver's error code.
        code: u32,
        /// The code's name.
        name: String,
        /// What the driver says it means.
        text: String,
        /// What the driver's assembler and linker said, often empty.
        log: String,
    },
    /// The module holds no kernel of this name.
    #[error("the module holds no kernel `{symbol}`; kernels need `extern \"C\"`, or their mangled name")]
    NoSuchKernel {
        /// The name asked for.
        symbol: String,
    },
    /// A launch was refused before it reached the driver.
    #[error("kernel `{kernel}` was not launched: {source}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// Which rule it broke.
        source: LaunchError,
    },
    /// Work that was submitted earlier failed on the device.
    #[error(
        "{call} reports {name} ({code}): {text}. The device runs asynchronously: a kernel or copy submitted \
         earlier failed, and this call is where it surfaced. The context cannot be used any more; \
         `compute-sanitizer` names the kernel and the instruction"
    )]
    Fault {
        /// The driver function that reported it.
        call: &'static str,
        /// The driver's error code.
        code: u32,
        /// The code's name.
        name: String,
        /// What the driver says it means.
        text: String,
    },
    /// Any other error of a driver function.
    #[error("{call} failed with {name} ({code}): {text}")]
    Api {
        /// The driver function.
        call: &'static str,
        /// The driver's error code, a `CUresult`.
        code: u32,
        /// The code's name: `CUDA_ERROR_INVALID_VALUE`.
        name: String,
        /// What the driver says it means.
        text: String,
    },
}

fn show_log(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_NO_DEVICE`.
pub(crate) const NO_DEVICE: u32 = 100;
/// `CUDA_ERROR_NOT_FOUND`.
pub(crate) const NOT_FOUND: u32 = 500;
/// `CUDA_ERROR_NOT_READY`.
pub(crate) const NOT_READY: u32 = 600;

/// The codes that a kernel or copy leaves behind and that every later call of the context returns:
/// those which the driver documentation ("CUresult") describes as leaving the process in an
/// inconsistent state, and uncorrectable hardware errors.
const FAULTS: [u32; 14] = [
    214, // CUDA_ERROR_ECC_UNCORRECTABLE
    220, // CUDA_ERROR_NVLINK_UNCORRECTABLE
    226, // CUDA_ERROR_CONTAINED
    700, // CUDA_ERROR_ILLEGAL_ADDRESS
    702, // CUDA_ERROR_LAUNCH_TIMEOUT
    710, // CUDA_ERROR_ASSERT
    714, // CUDA_ERROR_HARDWARE_STACK_ERROR
    715, // CUDA_ERROR_ILLEGAL_INSTRUCTION
    716, // CUDA_ERROR_MISALIGNED_ADDRESS
    717, // CUDA_ERROR_INVALID_ADDRESS_SPACE
    718, // CUDA_ERROR_INVALID_PC
    719, // CUDA_ERROR_LAUNCH_FAILED
    721, // CUDA_ERROR_TENSOR_MEMORY_LEAK
    911, // CUDA_ERROR_EXTERNAL_DEVICE
];

impl DriverError {
    /// The error of a driver function that returned `code`.
    pub(crate) fn from_code(call: &'static str, code: u32) -> Self {
        let (name, text) = probe::describe(code);
        Self::from_parts(call, code, name, text)
    }

    /// As [`from_code`](Self::from_code), with the code's name and meaning already looked up.
    pub(crate) fn from_parts(call: &'static str, code: u32, name: String, text: String) -> Self {
        if FAULTS.contains(&code) {
            Self::Fault { call, code, name, text }
        } else {
            Self::Api { call, code, name, text }
        }
    }

    /// Whether the context is lost: every later call on it fails as well.
    ///
    /// ```
    /// # use fa3_sys::driver::{DriverError, DriverVersion};
    /// assert!(!DriverError::NoSuchDevice { ordinal: 3, count: 1 }.is_fault());
    /// ```
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Fault { .. })
    }
}

/// An error for every code but zero.
pub(crate) fn check(call: &'static str, code: u32) -> Result<(), DriverError> {
    if code == 0 { Ok(()) } else { Err(DriverError::from_code(call, code)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_earlier_work_say_so_and_others_do_not() {
        let fault = DriverError::from_code("cuStreamSynchronize", 700);
        assert!(fault.is_fault());
        assert!(fault.to_string().contains("submitted earlier"), "{fault}");
        let plain = DriverError::from_code("cuStreamSynchronize", 400);
        assert!(matches!(plain, DriverError::Api { code: 400, .. }));
        assert!(!plain.to_string().contains("submitted earlier"), "{plain}");
        assert_eq!(check("cuInit", 0), Ok(()));
    }

    #[test]
    fn messages_name_values_and_what_would_do() {
        let text = DriverError::OutOfMemory { requested: 1 << 40, free: 17, total: 99 }.to_string();
        for part in ["1099511627776", "17", "99"] {
            assert!(text.contains(part), "{text}");
        }
        let hidden = DriverError::NoDevice { visible: Some("7".to_owned()) }.to_string();
        assert!(hidden.contains("CUDA_VISIBLE_DEVICES is `7`"), "{hidden}");
        let open = DriverError::NoDevice { visible: None }.to_string();
        assert!(open.contains("not set"), "{open}");
        let device = DriverError::UnsupportedDevice {
            ordinal: 1,
            name: "NVIDIA L40S".to_owned(),
            source: Arch::from_compute_capability(8, 9).unwrap_err(),
        };
        for part in ["device 1", "NVIDIA L40S", "8.9", "sm_90a"] {
            assert!(device.to_string().contains(part), "{device}");
        }
    }
}
