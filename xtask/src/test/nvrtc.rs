//! The run-time compiler, loaded from its shared library.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use fa3_sys::Arch;
use libloading::{Library, Symbol};

use crate::error::{Error, Result};

/// `nvrtcProgram`, an opaque pointer.
type Program = *mut c_void;
/// `nvrtcResult`; zero is success.
type Status = c_int;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type LogSize = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Log = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Program) -> Status;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;

pub(crate) struct Nvrtc {
    library: Library,
    pub(crate) version: (c_int, c_int),
}

impl Nvrtc {
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let fault = |why: String| Error::Answer { program: path.display().to_string(), why };
        // SAFETY: the path is that of NVIDIA's library, whose initialisers have no preconditions.
        let library = unsafe { Library::new(path) }.map_err(|error| fault(error.to_string()))?;
        let mut nvrtc = Self { library, version: (0, 0) };
        let (mut major, mut minor) = (0, 0);
        let version: Symbol<'_, Version> = nvrtc.symbol(c"nvrtcVersion")?;
        // SAFETY: the type is that of the NVRTC documentation, "General Information Query"; both
        // pointers are to live integers.
        let status = unsafe { version(&mut major, &mut minor) };
        if status != 0 {
            return Err(fault(format!("nvrtcVersion answered {status}")));
        }
        nvrtc.version = (major, minor);
        Ok(nvrtc)
    }

    /// Compiles a program for an architecture. Warnings fail, as errors do.
    pub(crate) fn compile(&self, source: &str, arch: Arch, include: &Path) -> Result<()> {
        let fault = |why: String| Error::Answer { program: "NVRTC".to_owned(), why };
        let text = |text: String| CString::new(text).map_err(|error| fault(error.to_string()));
        let source = text(source.to_owned())?;
        let options = [
            text(format!("--gpu-architecture={}", arch.target()))?,
            text("--std=c++17".to_owned())?,
            text(format!("--include-path={}", include.display()))?,
        ];
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let create: Symbol<'_, Create> = self.symbol(c"nvrtcCreateProgram")?;
        let compile: Symbol<'_, Compile> = self.symbol(c"nvrtcCompileProgram")?;
        let destroy: Symbol<'_, Destroy> = self.symbol(c"nvrtcDestroyProgram")?;

        let mut program: Program = ptr::null_mut();
        // SAFETY: types as in the NVRTC documentation, "Compilation". The strings live through the
        // call; no header is passed, so both lists may be null.
        let status = unsafe {
            create(&mut program, source.as_ptr(), c"program.cu".as_ptr(), 0, ptr::null(), ptr::null())
        };
        if status != 0 {
            return Err(fault(format!("nvrtcCreateProgram answered {status}")));
        }
        let count = c_int::try_from(options.len()).unwrap_or(0);
        // SAFETY: the program was created above; `options` holds `count` strings that are alive.
        let status = unsafe { compile(program, count, options.as_ptr()) };
        let log = self.log(program);
        // SAFETY: the program was created above and is not used after this call.
        unsafe { destroy(&mut program) };
        let log = log?;
        if status == 0 && !log.contains("warning") {
            return Ok(());
        }
        Err(fault(format!("status {status}: {log}")))
    }

    fn log(&self, program: Program) -> Result<String> {
        let size_of: Symbol<'_, LogSize> = self.symbol(c"nvrtcGetProgramLogSize")?;
        let get: Symbol<'_, Log> = self.symbol(c"nvrtcGetProgramLog")?;
        let mut size = 0;
        // SAFETY: the program is alive and `size` is a live integer.
        let status = unsafe { size_of(program, &mut size) };
        if status != 0 || size == 0 {
            return Ok(String::new());
        }
        let mut log = vec![0_u8; size];
        // SAFETY: NVRTC writes the log and its terminating zero, `size` bytes in all.
        let status = unsafe { get(program, log.as_mut_ptr().cast()) };
        if status != 0 {
            return Ok(String::new());
        }
        let text = CStr::from_bytes_until_nul(&log).map(|text| text.to_string_lossy().into_owned());
        Ok(text.unwrap_or_default())
    }

    fn symbol<T>(&self, name: &CStr) -> Result<Symbol<'_, T>> {
        // SAFETY: the callers name each function with its documented type.
        unsafe { self.library.get(name.to_bytes_with_nul()) }
            .map_err(|error| Error::Answer { program: "NVRTC".to_owned(), why: error.to_string() })
    }
}
