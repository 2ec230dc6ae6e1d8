//! A CUDA device, through the driver.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError, RwLock};

use fa3_sys::TensorMap;
use fa3_sys::driver::{
    Buffer, Context, DevicePtr, DriverError, EncodeError, Function, LaunchConfig, Module, Params, Stream,
};

use super::{Argument, Backend, KernelHandle, Launch, StreamHandle};
use crate::{AnyPlan, CudaTarget, Error, KernelPlan, MapSlot, Place, Pointer, Result, Target};

/// A CUDA device. Its context is the device's primary one, shared with every other CUDA user of
/// the process.
#[derive(Debug)]
pub struct CudaBackend {
    context: Context,
    /// Live allocations by address.
    buffers: Mutex<BTreeMap<u64, Buffer>>,
    /// The kernels prepared on this backend; a [`KernelHandle`] is an index.
    kernels: RwLock<Vec<Function>>,
    /// The plans launched last, the newest last.
    recent: Mutex<VecDeque<AnyPlan>>,
}

const NAME: &str = "cuda";

/// How many plans a fault names.
const RECENT: usize = 4;

impl CudaBackend {
    /// Opens the device of this ordinal.
    ///
    /// # Errors
    /// [`Error::Driver`] where there is no driver, no such device, or one without kernels.
    pub fn open(ordinal: u32) -> Result<Self> {
        Ok(Self::new(Context::open(ordinal)?))
    }

    /// On a context that is open.
    pub fn new(context: Context) -> Self {
        Self {
            context,
            buffers: Mutex::default(),
            kernels: RwLock::default(),
            recent: Mutex::new(VecDeque::with_capacity(RECENT)),
        }
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The error that a driver error means here: a fault of earlier work comes with the plans that
    /// ran last. For calls on the driver that pass this backend by, such as
    /// [`Event::synchronize`](fa3_sys::driver::Event::synchronize).
    pub fn explain(&self, source: DriverError) -> Error {
        if !source.is_fault() {
            return source.into();
        }
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let ran: Vec<String> = recent.iter().rev().map(|plan| plan.to_string()).collect();
        Error::Fault {
            ordinal: self.context.device().ordinal,
            ran: if ran.is_empty() { "no plan of this backend".to_owned() } else { ran.join("\n") },
            source,
        }
    }

    /// Makes the machine code of a kernel known that this build does not embed: one of a plan with a
    /// [`Tuning::kernel`](crate::Tuning::kernel) of the caller's. `image` is as
    /// [`Module::load_image`] takes it. It stays loaded as long as the process.
    ///
    /// # Errors
    /// [`Error::Backend`] if this backend has a kernel of that name; [`Error::Driver`] for an image that
    /// the driver cannot load, or in which there is no such kernel.
    pub fn add_kernel(&self, symbol: &str, image: &[u8]) -> Result<()> {
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        if kernels.iter().any(|function| function.name() == symbol) {
            return Err(Error::Backend {
                backend: NAME,
                request: format!("add `{symbol}`, which it has"),
                remedy: "open a backend for each kernel of one name",
            });
        }
        let module = self.checked(Module::load_image(&self.context, image))?;
        let function = self.checked(module.function(symbol))?;
        OWN.lock().unwrap_or_else(PoisonError::into_inner).push(function.clone());
        kernels.push(function);
        Ok(())
    }

    fn checked<T>(&self, result: Result<T, DriverError>) -> Result<T> {
        result.map_err(|source| self.explain(source))
    }

    fn pointer(&self, pointer: Pointer) -> Result<DevicePtr> {
        super::expect_place(pointer, self.place(), NAME)?;
        Ok(DevicePtr(pointer.address))
    }

    /// # Safety
    /// `stream` is a live stream of this context for as long as the result is used.
    unsafe fn stream(&self, stream: StreamHandle) -> Stream {
        // SAFETY: the caller says that the stream is live.
        unsafe { Stream::from_raw(&self.context, stream.raw()) }
    }
}

/// The kernels loaded in this process, on any context. They stay loaded: a kernel may run on when
/// its backend is dropped, and to wait for the whole context then would disturb the other users of
/// the primary one, down to breaking off a capture of theirs.
static LOADED: Mutex<Vec<(Context, Function)>> = Mutex::new(Vec::new());

/// The kernels that callers added, kept for the same reason. They are found through their backends alone.
static OWN: Mutex<Vec<Function>> = Mutex::new(Vec::new());

/// The kernel on this context, loaded if it is not yet.
fn load(context: &Context, kernel: &KernelPlan) -> Result<Function, Error> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = loaded.iter().find(|(on, function)| on == context && function.name() == kernel.symbol);
    if let Some((_, function)) = found {
        return Ok(function.clone());
    }
    let entry = fa3_kernels::entry(&kernel.symbol, kernel.arch)?;
    let function = Module::load(context, entry)?.function(&kernel.symbol)?;
    loaded.push((context.clone(), function.clone()));
    Ok(function)
}

fn config(kernel: &KernelPlan) -> LaunchConfig {
    let cluster = (kernel.cluster > 1).then_some([kernel.cluster, 1, 1]);
    let shared_bytes = kernel.shared_bytes;
    LaunchConfig { shared_bytes, cluster, ..LaunchConfig::new(kernel.grid, [kernel.block, 1, 1]) }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        Place::Cuda(self.context.device().ordinal)
    }

    fn target(&self) -> Target {
        let device = self.context.device();
        Target::Cuda(CudaTarget {
            arch: self.context.arch(),
            sms: device.sm_count,
            l2_bytes: device.l2_bytes as u64,
        })
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        // Every allocation has an address of its own, even one of no bytes.
        let buffer = match Buffer::new(&self.context, bytes.max(1)) {
            Err(error @ DriverError::OutOfMemory { .. }) => {
                return Err(Error::Allocation { bytes, place: self.place(), why: error.to_string() });
            }
            other => self.checked(other)?,
        };
        let address = buffer.ptr().0;
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).insert(address, buffer);
        Ok(Pointer { address, place: self.place() })
    }

    unsafe fn free(&self, pointer: Pointer) -> Result<()> {
        let address = self.pointer(pointer)?.0;
        let buffer = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
        match buffer {
            Some(buffer) => {
                drop(buffer);
                Ok(())
            }
            None => Err(Error::Backend {
                backend: NAME,
                request: format!("free {address:#x}, which is no live allocation"),
                remedy: "free what `allocate` returned, once",
            }),
        }
    }

    unsafe fn upload(&self, to: Pointer, from: &[u8], stream: StreamHandle) -> Result<()> {
        let to = self.pointer(to)?;
        // SAFETY: the caller says that the stream is live.
        let stream = unsafe { self.stream(stream) };
        // SAFETY: the caller answers for `to`; `from` is borrowed until the stream is synchronised.
        let copied = unsafe { stream.copy_to_device(to, from) };
        self.checked(copied.and_then(|()| stream.synchronize()))
    }

    unsafe fn download(&self, to: &mut [u8], from: Pointer, stream: StreamHandle) -> Result<()> {
        let from = self.pointer(from)?;
        // SAFETY: the caller says that the stream is live.
        let stream = unsafe { self.stream(stream) };
        // SAFETY: the caller answers for `from`; `to` is borrowed until the stream is synchronised.
        let copied = unsafe { stream.copy_to_host(to, from) };
        self.checked(copied.and_then(|()| stream.synchronize()))
    }

    unsafe fn copy(&self, to: Pointer, from: Pointer, bytes: usize, stream: StreamHandle) -> Result<()> {
        let (to, from) = (self.pointer(to)?, self.pointer(from)?);
        // SAFETY: the caller says that the stream is live.
        let stream = unsafe { self.stream(stream) };
        // SAFETY: the caller answers for both ranges.
        self.checked(unsafe { stream.copy_on_device(to, from, bytes) })
    }

    unsafe fn fill(&self, to: Pointer, value: u8, bytes: usize, stream: StreamHandle) -> Result<()> {
        let to = self.pointer(to)?;
        // SAFETY: the caller says that the stream is live.
        let stream = unsafe { self.stream(stream) };
        // SAFETY: the caller answers for the range.
        self.checked(unsafe { stream.fill_u8(to, value, bytes) })
    }

    fn prepare(&self, kernel: &KernelPlan) -> Result<KernelHandle> {
        let mut kernels = self.kernels.write().unwrap_or_else(PoisonError::into_inner);
        let loaded = kernels.iter().position(|function| function.name() == kernel.symbol);
        let index = match loaded {
            Some(index) => index,
            None => {
                kernels.push(load(&self.context, kernel).map_err(|error| match error {
                    Error::Driver(source) => self.explain(source),
                    other => other,
                })?);
                kernels.len() - 1
            }
        };
        // What the loaded kernel cannot give is found out here, not at the first launch.
        let limits = kernels.get(index).map(|function| *function.limits());
        let checked = limits.map_or(Ok(()), |limits| config(kernel).check(&limits));
        checked.map_err(|source| DriverError::Launch { kernel: kernel.symbol.clone(), source })?;
        Ok(KernelHandle(index as u64))
    }

    fn encode(&self, slot: &MapSlot, address: Pointer) -> Result<TensorMap> {
        let address = self.pointer(address)?;
        slot.desc.encode(&self.context, address).map_err(|error| match error {
            EncodeError::Refused { source, .. } => Error::TensorMap { operand: slot.operand, source },
            EncodeError::Driver { source, .. } => self.explain(source),
        })
    }

    unsafe fn launch(&self, launch: &Launch<'_>, stream: StreamHandle) -> Result<()> {
        let Launch::Kernel(launch) = launch else {
            return Err(Error::Backend {
                backend: NAME,
                request: "compute on the CPU".to_owned(),
                remedy: "bind the plan on the CPU backend",
            });
        };
        let kernels = self.kernels.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(launch.kernel.0).ok();
        let function = index.and_then(|index| kernels.get(index));
        let Some(function) = function.filter(|function| function.name() == launch.shape.symbol) else {
            return Err(Error::Backend {
                backend: NAME,
                request: format!("launch `{}`, which it has not loaded", launch.shape.symbol),
                remedy: "bind the plan on the backend that runs it",
            });
        };
        let mut params = Params::new();
        for argument in launch.arguments {
            match argument {
                Argument::Map(map) => params.push(*map),
                Argument::Forward(block) => params.push(*block),
                Argument::Schedule(block) => params.push(*block),
                Argument::Merge(block) => params.push(*block),
            }
        }
        {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            // Once for all of a plan's kernels.
            if recent.back().is_none_or(|last| !last.is(launch.plan)) {
                if recent.len() >= RECENT {
                    recent.pop_front();
                }
                recent.push_back(launch.plan.clone());
            }
        }
        // SAFETY: the caller says that the stream is live.
        let stream = unsafe { self.stream(stream) };
        // SAFETY: the parameters are those that the kernel declares (their number and sizes are
        // compared), and the caller answers for the memory behind them. The kernel stays loaded
        // as long as the process.
        self.checked(unsafe { function.launch(&stream, &config(launch.shape), &params) })
    }

    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller says that the stream is live.
        self.checked(unsafe { self.stream(stream) }.synchronize())
    }
}
