//! The run-time compiler, loaded from its shared library. (`cargo xtask test` compiles the headers with it.)

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::{Library, Symbol};

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
type SizeOf = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Program) -> Status;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;

/// The compiler.
pub struct Nvrtc {
    library: Library,
    /// Major and minor.
    pub version: (c_int, c_int),
}

impl Nvrtc {
    /// Loads the library of that name or path.
    pub fn load(name: &Path) -> Result<Self, String> {
        // SAFETY: the name is that of NVIDIA's library, whose initialisers have no preconditions.
        let library =
            unsafe { Library::new(name) }.map_err(|error| format!("{}: {error}", name.display()))?;
        let mut nvrtc = Self { library, version: (0, 0) };
        let (mut major, mut minor) = (0, 0);
        let version: Symbol<'_, Version> = nvrtc.symbol(c"nvrtcVersion")?;
        // SAFETY: the type is that of the NVRTC documentation, "General Information Query"; both
        // pointers are to live integers.
        answered("nvrtcVersion", unsafe { version(&mut major, &mut minor) })?;
        nvrtc.version = (major, minor);
        Ok(nvrtc)
    }

    /// Compiles a program to machine code (`--gpu-architecture` among the options names a real
    /// architecture), with headers given by name and text. Warnings fail, as errors do.
    pub fn compile(
        &self,
        source: &str,
        headers: &[(&str, &str)],
        options: &[&str],
    ) -> Result<Vec<u8>, String> {
        let source = text(source)?;
        let names = headers.iter().map(|(name, _)| text(name)).collect::<Result<Vec<_>, _>>()?;
        let texts = headers.iter().map(|(_, header)| text(header)).collect::<Result<Vec<_>, _>>()?;
        let options = options.iter().map(|option| text(option)).collect::<Result<Vec<_>, _>>()?;
        let [names, texts, options] = [&names, &texts, &options].map(|list| pointers(list));
        let create: Symbol<'_, Create> = self.symbol(c"nvrtcCreateProgram")?;
        let compile: Symbol<'_, Compile> = self.symbol(c"nvrtcCompileProgram")?;
        let destroy: Symbol<'_, Destroy> = self.symbol(c"nvrtcDestroyProgram")?;

        let mut program: Program = ptr::null_mut();
        let (count, title) = (length(&names)?, c"program.cu");
        // SAFETY: types as in the NVRTC documentation, "Compilation". The strings live through the
        // call, which copies them; both lists hold `count`.
        let status = unsafe {
            create(&mut program, source.as_ptr(), title.as_ptr(), count, texts.as_ptr(), names.as_ptr())
        };
        answered("nvrtcCreateProgram", status)?;
        let compiled = length(&options).and_then(|count| {
            // SAFETY: the program was created above; `options` holds `count` strings that are alive.
            let status = unsafe { compile(program, count, options.as_ptr()) };
            let log = self.bytes(program, (c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog"))?;
            let log = String::from_utf8_lossy(&log);
            if status != 0 || log.contains("warning") {
                return Err(format!("nvrtcCompileProgram answered {status}: {log}"));
            }
            self.bytes(program, (c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN"))
        });
        // SAFETY: the program was created above and is not used after this call.
        unsafe { destroy(&mut program) };
        compiled
    }

    /// A part of a program, by the functions that tell its size and copy it.
    fn bytes(&self, program: Program, (size_of, get): (&CStr, &CStr)) -> Result<Vec<u8>, String> {
        let (size_of, get): (Symbol<'_, SizeOf>, Symbol<'_, Get>) =
            (self.symbol(size_of)?, self.symbol(get)?);
        let mut size = 0;
        // SAFETY: the program is alive and `size` is a live integer.
        answered("the size of NVRTC's output", unsafe { size_of(program, &mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: NVRTC writes `size` bytes.
        answered("NVRTC's output", unsafe { get(program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    fn symbol<T>(&self, name: &CStr) -> Result<Symbol<'_, T>, String> {
        // SAFETY: the callers name each function with its documented type.
        unsafe { self.library.get(name.to_bytes_with_nul()) }.map_err(|error| error.to_string())
    }
}

fn answered(what: &str, status: Status) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("{what}: status {status}")) }
}

fn text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|error| error.to_string())
}

fn pointers(list: &[CString]) -> Vec<*const c_char> {
    list.iter().map(|text| text.as_ptr()).collect()
}

fn length<T>(list: &[T]) -> Result<c_int, String> {
    c_int::try_from(list.len()).map_err(|error| error.to_string())
}
