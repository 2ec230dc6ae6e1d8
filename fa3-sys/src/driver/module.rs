//! Modules and the kernels in them.

use core::ffi::{c_int, c_void};
use core::fmt;
use std::ffi::CString;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute_enum as Attribute, CUjit_option_enum as Option_};

use super::config::LaunchLimits;
use super::context::Context;
use super::error::{DriverError, NOT_FOUND, check};
use super::probe::entry;
use super::{call, image, report_drop_error};
use crate::artefact::KernelEntry;

/// A loaded module, unloaded when the last clone of it and of its kernels is dropped.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    context: Context,
    raw: sys::CUmodule,
}

// SAFETY: a `CUmodule` may be used from any thread with its context current, which every use sees
// to (CUDA Driver API, "Module Management").
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        let result = self.context.bind().and_then(|()| {
            // SAFETY: `self` owns the module, and no kernel of it is left.
            unsafe { call!(cuModuleUnload(self.raw)) }
        });
        report_drop_error("module", result);
    }
}

impl Module {
    /// Loads the machine code of an embedded kernel. Loading takes long; the caller keeps the result.
    ///
    /// # Errors
    /// [`DriverError::WrongArch`] unless the entry was built for the context's architecture;
    /// otherwise those of [`Module::load_image`].
    pub fn load(context: &Context, kernel: &KernelEntry) -> Result<Self, DriverError> {
        if kernel.arch != context.arch() {
            let device = context.device();
            return Err(DriverError::WrongArch {
                symbol: kernel.symbol.to_owned(),
                built_for: kernel.arch,
                ordinal: device.ordinal,
                name: device.name.clone(),
                arch: context.arch(),
            });
        }
        let _span = tracing::debug_span!("load", kernel = kernel.symbol, arch = %kernel.arch).entered();
        Self::load_image(context, kernel.image)
    }

    /// Loads a cubin, a fat binary, or PTX text, which the driver assembles (a NUL at its end is
    /// added where there is none). The driver reads as far as the image's headers say, so they are
    /// checked against its length first.
    ///
    /// # Errors
    /// [`DriverError::Image`] for bytes that are no whole image; [`DriverError::ImageRefused`],
    /// with the driver's log, for those that it cannot load, such as a cubin of another
    /// architecture; otherwise what the driver says.
    ///
    /// ```no_run
    /// # use fa3_sys::driver::{Context, Module};
    /// # let context = Context::open(0)?;
    /// let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nop() { ret; }\n";
    /// let kernel = Module::load_image(&context, ptx.as_bytes())?.function("nop")?;
    /// println!("{}: {:?}", kernel.name(), kernel.attributes());
    /// # Ok::<(), fa3_sys::driver::DriverError>(())
    /// ```
    pub fn load_image(context: &Context, image: &[u8]) -> Result<Self, DriverError> {
        let image = image::prepare(image)?;
        let mut log = vec![0u8; 8192];
        let mut options = [Option_::CU_JIT_ERROR_LOG_BUFFER, Option_::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
        let mut raw = core::ptr::null_mut();
        context.bind()?;
        // SAFETY: the image is whole (`prepare`); there are two options with one value each, a
        // buffer and its size, as the driver wants them; `raw` is valid for the write.
        let result = unsafe {
            call!(cuModuleLoadDataEx(
                &raw mut raw,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            ))
        };
        match result {
            Ok(()) => {
                tracing::trace!(bytes = image.len(), "module loaded");
                Ok(Self { inner: Arc::new(Loaded { context: context.clone(), raw }) })
            }
            Err(DriverError::Api { code, name, text, .. }) => {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                log.truncate(end);
                let log = String::from_utf8_lossy(&log).trim().to_owned();
                Err(DriverError::ImageRefused { code, name, text, log })
            }
            Err(error) => Err(error),
        }
    }

    /// The context that it is loaded in.
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Looks up a kernel and allows it all the dynamic shared memory that the device has for it.
    ///
    /// # Errors
    /// [`DriverError::NoSuchKernel`]; otherwise what the driver says.
    pub fn function(&self, symbol: &str) -> Result<Function, DriverError> {
        let no_such_kernel = || DriverError::NoSuchKernel { symbol: symbol.to_owned() };
        // The driver calls an empty name an invalid value.
        let name = CString::new(symbol).ok().filter(|name| !name.is_empty()).ok_or_else(no_such_kernel)?;
        let context = self.context();
        context.bind()?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a NUL, and `raw` is valid for the write.
        match unsafe { call!(cuModuleGetFunction(&raw mut raw, self.inner.raw, name.as_ptr())) } {
            Err(DriverError::Api { code: NOT_FOUND, .. }) => return Err(no_such_kernel()),
            result => result?,
        }
        let attributes = FunctionAttributes::read(raw)?;
        let device = context.device();
        let limits = LaunchLimits {
            max_threads_per_block: attributes.max_threads_per_block.min(device.max_threads_per_block),
            max_shared_bytes: device.max_shared_bytes.saturating_sub(attributes.static_shared_bytes),
            required_cluster: attributes.required_cluster,
        };
        let max_shared = c_int::try_from(limits.max_shared_bytes).unwrap_or(c_int::MAX);
        // SAFETY: `raw` is a kernel of the loaded module, and the value is what its device has.
        unsafe {
            call!(cuFuncSetAttribute(
                raw,
                Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                max_shared
            ))
        }?;
        let param_sizes = param_sizes(raw)?;
        let kernel = Kernel {
            module: Arc::clone(&self.inner),
            raw,
            name: symbol.to_owned(),
            attributes,
            limits,
            param_sizes,
        };
        Ok(Function { inner: Arc::new(kernel) })
    }
}

/// What the driver says of a kernel (`cuFuncGetAttribute`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionAttributes {
    /// Registers a thread at launch.
    pub registers: u32,
    /// Static shared memory a block, bytes.
    pub static_shared_bytes: u32,
    /// Local memory a thread, bytes: stack and spills.
    pub local_bytes: u32,
    /// The most threads a block may have, by registers and `.maxntid`.
    pub max_threads_per_block: u32,
    /// The cluster that the kernel was compiled for.
    pub required_cluster: Option<[u32; 3]>,
}

impl FunctionAttributes {
    fn read(raw: sys::CUfunction) -> Result<Self, DriverError> {
        let get = |attribute: Attribute| -> Result<u32, DriverError> {
            let mut value: c_int = 0;
            // SAFETY: `raw` is a kernel of a loaded module, and `value` is valid for the write.
            unsafe { call!(cuFuncGetAttribute(&raw mut value, attribute, raw)) }?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let cluster = [
            get(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?,
            get(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)?,
            get(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)?,
        ];
        Ok(Self {
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            // All are zero where the kernel was compiled for none.
            required_cluster: cluster.iter().all(|&dim| dim > 0).then_some(cluster),
        })
    }
}

/// The size of each parameter of a kernel, in order.
fn param_sizes(raw: sys::CUfunction) -> Result<Vec<usize>, DriverError> {
    const INVALID_VALUE: u32 = 1;
    let info = entry()?.func_get_param_info;
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: `raw` is a kernel of a loaded module, and both pointers are valid for the write.
        let code = unsafe { info(raw.cast(), sizes.len(), &raw mut offset, &raw mut size) };
        // Past the last parameter the index is an invalid value.
        if code == INVALID_VALUE {
            return Ok(sizes);
        }
        check("cuFuncGetParamInfo", code)?;
        sizes.push(size);
    }
}

/// A kernel of a loaded module. Clones are cheap and keep the module loaded.
#[derive(Clone)]
pub struct Function {
    inner: Arc<Kernel>,
}

struct Kernel {
    module: Arc<Loaded>,
    raw: sys::CUfunction,
    name: String,
    attributes: FunctionAttributes,
    limits: LaunchLimits,
    param_sizes: Vec<usize>,
}

// SAFETY: a `CUfunction` may be used from any thread with its context current, which every launch
// sees to (CUDA Driver API, "Execution Control").
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Function {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What the driver says of it.
    pub fn attributes(&self) -> &FunctionAttributes {
        &self.inner.attributes
    }

    /// What a launch of it may ask for on this device.
    pub fn limits(&self) -> &LaunchLimits {
        &self.inner.limits
    }

    /// The size of each parameter that it declares, in bytes.
    pub fn param_sizes(&self) -> &[usize] {
        &self.inner.param_sizes
    }

    /// The context that its module is loaded in.
    pub fn context(&self) -> &Context {
        &self.inner.module.context
    }

    pub(crate) fn handle(&self) -> sys::CUfunction {
        self.inner.raw
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.inner.name)
            .field("attributes", &self.inner.attributes)
            .field("param_sizes", &self.inner.param_sizes)
            .finish()
    }
}
