//! Whether there is a CUDA driver to call, found out without calling into `cudarc`, whose loader
//! panics where there is none.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::fmt;
use std::ffi::OsStr;
use std::sync::OnceLock;

use libloading::Library;

use super::call;
use super::error::{DriverError, NO_DEVICE};
use super::symbols::REQUIRED;

/// The oldest driver that will do: CUDA 13.0 (driver branch 580). The kernels are cubins of a
/// CUDA 13 compiler, which run on every driver of the same major version (CUDA Compatibility,
/// "Minor Version Compatibility").
pub const MIN_DRIVER_VERSION: DriverVersion = DriverVersion { major: 13, minor: 0 };

#[cfg(not(windows))]
const LIBRARY: &str = "libcuda.so.1";
#[cfg(windows)]
const LIBRARY: &str = "nvcuda.dll";

/// The newest CUDA version that a driver supports, as `cuDriverGetVersion` returns it.
///
/// ```
/// use fa3_sys::driver::{DriverVersion, MIN_DRIVER_VERSION};
/// let version = DriverVersion { major: 12, minor: 8 };
/// assert!(version < MIN_DRIVER_VERSION);
/// assert_eq!(version.to_string(), "12.8");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl DriverVersion {
    /// From `1000 * major + 10 * minor` (CUDA Driver API, `cuDriverGetVersion`).
    fn from_number(number: c_int) -> Self {
        let number = u32::try_from(number).unwrap_or(0);
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Proof that the driver is loaded, is new enough and sees a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    version: DriverVersion,
    device_count: u32,
}

impl Driver {
    /// The CUDA version that the driver supports.
    pub fn version(self) -> DriverVersion {
        self.version
    }

    /// How many devices the driver sees, at least one. `CUDA_VISIBLE_DEVICES` hides some.
    pub fn device_count(self) -> u32 {
        self.device_count
    }
}

/// Loads the CUDA driver, once a process, and looks at its version and devices.
///
/// # Errors
/// [`DriverError::DriverNotFound`], [`DriverIncomplete`](DriverError::DriverIncomplete),
/// [`DriverTooOld`](DriverError::DriverTooOld), [`NoDevice`](DriverError::NoDevice), and
/// [`Api`](DriverError::Api) for every other code of `cuInit`, by name. A failed probe can be
/// repeated.
///
/// ```
/// match fa3_sys::driver::probe() {
///     Ok(driver) => println!("CUDA {}, {} device(s)", driver.version(), driver.device_count()),
///     Err(error) => println!("no GPU: {error}"),
/// }
/// ```
pub fn probe() -> Result<Driver, DriverError> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Ok(*driver);
    }
    let driver = entry()?.examine()?;
    // `cudarc` opens the library by its own list of names, which another `libcuda` (the toolkit's
    // stub) may answer first; the driver's own code says so here, before anything depends on it.
    // SAFETY: `cuInit` may be called any number of times, with 0 as its only legal argument.
    unsafe { call!(cuInit(0)) }?;
    tracing::debug!(version = %driver.version, devices = driver.device_count, "CUDA driver loaded");
    Ok(*DRIVER.get_or_init(|| driver))
}

/// The library, loaded for the rest of the process: the driver does not expect to be unloaded.
static ENTRY: OnceLock<Entry> = OnceLock::new();

/// The name and meaning of a driver error code, as the driver gives them.
pub(crate) fn describe(code: u32) -> (String, String) {
    ENTRY.get().map_or_else(|| unnamed(code), |entry| entry.describe(code))
}

/// The library, loaded now if it was not yet.
pub(crate) fn entry() -> Result<&'static Entry, DriverError> {
    if let Some(entry) = ENTRY.get() {
        return Ok(entry);
    }
    let entry = Entry::load(LIBRARY.as_ref())?;
    Ok(ENTRY.get_or_init(|| entry))
}

/// `cuTensorMapEncodeTiled`, its enumerations as the integers they are in C, so that types newer
/// than `cudarc`'s bindings are no invalid values.
pub(crate) type TensorMapEncodeTiledFn = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    u32,
    *mut c_void,
    *const u64,
    *const u64,
    *const u32,
    *const u32,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
) -> c_uint;

/// `cuTensorMapEncodeIm2col`, likewise.
pub(crate) type TensorMapEncodeIm2colFn = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    u32,
    *mut c_void,
    *const u64,
    *const u64,
    *const c_int,
    *const c_int,
    u32,
    u32,
    *const u32,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
) -> c_uint;

type ErrorTextFn = unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint;

/// The loaded library and the functions that are called without `cudarc`: before it may be, and
/// those that its bindings for some CUDA versions lack.
pub(crate) struct Entry {
    init: unsafe extern "C" fn(c_uint) -> c_uint,
    device_get_count: unsafe extern "C" fn(*mut c_int) -> c_uint,
    get_error_name: ErrorTextFn,
    get_error_string: ErrorTextFn,
    /// `cuEventElapsedTime_v2(out milliseconds, start, end)`.
    pub(crate) event_elapsed_time: unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> c_uint,
    /// `cuFuncGetParamInfo(function, index, out offset, out size)`.
    pub(crate) func_get_param_info:
        unsafe extern "C" fn(*mut c_void, usize, *mut usize, *mut usize) -> c_uint,
    pub(crate) tensor_map_encode_tiled: TensorMapEncodeTiledFn,
    pub(crate) tensor_map_encode_im2col: TensorMapEncodeIm2colFn,
    version: DriverVersion,
    /// Declared last, so that it is closed after the pointers into it are gone.
    _library: Library,
}

impl Entry {
    /// Opens `library`, checks its version and that no function is missing.
    fn load(library: &OsStr) -> Result<Self, DriverError> {
        // SAFETY: a library of this name is the CUDA driver, whose initialisation and termination
        // routines ask nothing of the caller; `dlerror` is thread-safe on the platforms with CUDA.
        let loaded = unsafe { Library::new(library) }.map_err(|error| not_found(library, chain(&error)))?;
        // SAFETY: each type below is the function's C prototype in the CUDA Driver API, with
        // `CUresult` as the unsigned integer that it is in C, so that an unknown code is no
        // invalid value. The copied pointers stay in one value with the library they point into.
        unsafe {
            let get_version: unsafe extern "C" fn(*mut c_int) -> c_uint =
                find(&loaded, library, "cuDriverGetVersion")?;
            let mut number = 0;
            let code = get_version(&raw mut number);
            // An old driver lacks newer functions; say that it is old, not that they are missing.
            let version = accept_version(code, number)?;
            for symbol in REQUIRED {
                find::<unsafe extern "C" fn() -> c_uint>(&loaded, library, symbol)?;
            }
            Ok(Self {
                init: find(&loaded, library, "cuInit")?,
                device_get_count: find(&loaded, library, "cuDeviceGetCount")?,
                get_error_name: find(&loaded, library, "cuGetErrorName")?,
                get_error_string: find(&loaded, library, "cuGetErrorString")?,
                event_elapsed_time: find(&loaded, library, "cuEventElapsedTime_v2")?,
                func_get_param_info: find(&loaded, library, "cuFuncGetParamInfo")?,
                tensor_map_encode_tiled: find(&loaded, library, "cuTensorMapEncodeTiled")?,
                tensor_map_encode_im2col: find(&loaded, library, "cuTensorMapEncodeIm2col")?,
                version,
                _library: loaded,
            })
        }
    }

    /// Initialises the driver and counts the devices.
    fn examine(&self) -> Result<Driver, DriverError> {
        // SAFETY: `cuInit` may be called any number of times, with 0 as its only legal argument.
        self.accept("cuInit", unsafe { (self.init)(0) })?;
        let mut count = 0;
        // SAFETY: the driver is initialised, and `count` is valid for the write.
        self.accept("cuDeviceGetCount", unsafe { (self.device_get_count)(&raw mut count) })?;
        match u32::try_from(count) {
            Ok(device_count @ 1..) => Ok(Driver { version: self.version, device_count }),
            _ => Err(no_device()),
        }
    }

    fn accept(&self, call: &'static str, code: c_uint) -> Result<(), DriverError> {
        match code {
            0 => Ok(()),
            NO_DEVICE => Err(no_device()),
            _ => {
                let (name, text) = self.describe(code);
                Err(DriverError::from_parts(call, code, name, text))
            }
        }
    }

    fn describe(&self, code: c_uint) -> (String, String) {
        let (unnamed, unexplained) = unnamed(code);
        (
            read(self.get_error_name, code).unwrap_or(unnamed),
            read(self.get_error_string, code).unwrap_or(unexplained),
        )
    }
}

fn read(function: ErrorTextFn, code: c_uint) -> Option<String> {
    let mut text: *const c_char = core::ptr::null();
    // SAFETY: `function` is `cuGetErrorName` or `cuGetErrorString` of a loaded driver; both may be
    // called at any time and set the pointer to a string constant, or to null for unknown codes.
    let result = unsafe { function(code, &raw mut text) };
    if result != 0 || text.is_null() {
        return None;
    }
    // SAFETY: a non-null pointer from a successful call is a NUL-terminated constant of the library.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Looks up a function.
///
/// # Safety
/// `T` is the type of a function pointer with the prototype of `symbol`.
unsafe fn find<T: Copy>(loaded: &Library, library: &OsStr, symbol: &'static str) -> Result<T, DriverError> {
    // SAFETY: the caller answers for the type.
    let found = unsafe { loaded.get::<T>(symbol) };
    found.map(|function| *function).map_err(|_| DriverError::DriverIncomplete {
        library: library.to_string_lossy().into_owned(),
        symbol,
    })
}

/// Judges what `cuDriverGetVersion` returned.
fn accept_version(code: c_uint, number: c_int) -> Result<DriverVersion, DriverError> {
    if code != 0 {
        let (name, text) = unnamed(code);
        return Err(DriverError::from_parts("cuDriverGetVersion", code, name, text));
    }
    let found = DriverVersion::from_number(number);
    if found < MIN_DRIVER_VERSION {
        return Err(DriverError::DriverTooOld { found, needed: MIN_DRIVER_VERSION });
    }
    Ok(found)
}

/// What to say of a code that the driver itself cannot describe.
fn unnamed(code: u32) -> (String, String) {
    /// `CUDA_ERROR_STUB_LIBRARY`, which the stub answers to every call, this question included.
    const STUB_LIBRARY: u32 = 34;
    if code == STUB_LIBRARY {
        let text = "this libcuda is the CUDA toolkit's stub for linking, not the driver; \
                    take its folder off the library path";
        return ("CUDA_ERROR_STUB_LIBRARY".to_owned(), text.to_owned());
    }
    (format!("CUresult {code}"), "the driver gives no description".to_owned())
}

fn no_device() -> DriverError {
    let visible = std::env::var_os("CUDA_VISIBLE_DEVICES");
    DriverError::NoDevice { visible: visible.map(|value| value.to_string_lossy().into_owned()) }
}

fn not_found(library: &OsStr, reason: String) -> DriverError {
    DriverError::DriverNotFound {
        library: library.to_string_lossy().into_owned(),
        reason,
        needed: MIN_DRIVER_VERSION,
    }
}

/// An error and its sources, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
