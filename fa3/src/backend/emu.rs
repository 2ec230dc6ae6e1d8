//! An emulated GPU: the embedded kernels' PTX, executed by `fa3-emu`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use fa3_emu::ir::Program;
use fa3_emu::{FaultKind, Memory, Options, ptx};
use fa3_sys::TensorMap;

use super::{Argument, Backend, KernelHandle, KernelLaunch, Launch, StreamHandle};
use crate::{CudaTarget, Error, KernelPlan, MapSlot, Place, Pointer, Result, Target};

/// An emulated CUDA device, on a machine that needs none: its plans are those of the real one, its
/// kernels the embedded ones, its memory this process's.
///
/// Every call is complete when it returns; streams are ignored, and launches take turns. An access
/// outside live allocations is an error, by copies and by kernels.
///
/// ```
/// use std::sync::Arc;
/// use fa3::fa3_emu::{self, Order};
/// use fa3::{CudaTarget, Device, EmuBackend, HostTensor, Options, attention};
/// use half::f16;
///
/// // One SM: a kernel that persists works on all tiles in one CTA.
/// let target = CudaTarget { sms: 1, ..CudaTarget::H200 };
/// // What is asynchronous happens at the last moment that the kernel's waits allow.
/// let options = fa3_emu::Options { order: Order::Lazy, ..Default::default() };
/// let device = Device::new(Arc::new(EmuBackend::new(target, options)), "a small Hopper");
/// let kv = [f16::ONE; 3 * 64];
/// let q = HostTensor::new([1, 1, 1, 64], &kv[..64])?;
/// let kv = HostTensor::new([1, 3, 1, 64], &kv)?;
/// match attention(&device, q, kv, kv, &Options::default()) {
///     Ok(output) => assert_eq!(output.o, [f16::ONE; 64]),
///     // A checkout whose kernels are not built yet.
///     Err(error) => assert!(error.to_string().contains("cargo xtask cubins")),
/// }
/// # Ok::<(), fa3::Error>(())
/// ```
#[derive(Debug)]
pub struct EmuBackend {
    target: CudaTarget,
    options: Options,
    place: Place,
    memory: Mutex<Memory>,
    /// The kernels prepared on this backend; a [`KernelHandle`] is an index.
    programs: RwLock<Vec<Arc<Program>>>,
}

const NAME: &str = "emu";

/// The byte of memory that nothing was written to: NaN in every type of float.
const UNWRITTEN: u8 = 0xff;

impl EmuBackend {
    /// A device like `target`, with memory of its own, whose kernels run with these options. By default
    /// all that can be checked is.
    pub fn new(target: CudaTarget, options: Options) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self {
            target,
            options,
            place: Place::Emulated(COUNT.fetch_add(1, Ordering::Relaxed)),
            memory: Mutex::default(),
            programs: RwLock::default(),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self, pointer: Pointer) -> Result<u64> {
        super::expect_place(pointer, self.place, NAME)?;
        Ok(pointer.address)
    }

    fn program(&self, launch: &KernelLaunch<'_>) -> Result<Arc<Program>> {
        let programs = self.programs.read().unwrap_or_else(PoisonError::into_inner);
        let program = usize::try_from(launch.kernel.0).ok().and_then(|index| programs.get(index));
        let program = program.filter(|program| program.entry == launch.shape.symbol);
        program.cloned().ok_or_else(|| Error::Backend {
            backend: NAME,
            request: format!("launch `{}`, which it has not loaded", launch.shape.symbol),
            remedy: "bind the plan on the backend that runs it",
        })
    }
}

/// A copy that touches what is not allocated.
fn outside(kind: FaultKind) -> Error {
    Error::Backend {
        backend: NAME,
        request: format!("copy: {kind}"),
        remedy: "pass the address of live memory of that size",
    }
}

/// A parameter as the kernel sees it.
fn bytes<'a>(argument: &Argument<'a>) -> &'a [u8] {
    match argument {
        Argument::Map(map) => map.as_bytes(),
        Argument::Forward(block) => bytemuck::bytes_of(*block),
        Argument::Schedule(block) => bytemuck::bytes_of(*block),
        Argument::Merge(block) => bytemuck::bytes_of(*block),
    }
}

fn compile(kernel: &KernelPlan) -> Result<Program> {
    let _span = tracing::debug_span!("compile", kernel = kernel.symbol, arch = %kernel.arch).entered();
    let text = fa3_kernels::ptx(&kernel.symbol, kernel.arch)?;
    let program = ptx::parse(text).and_then(|module| Program::compile(&module, &kernel.symbol));
    program.map_err(|source| Error::NotEmulated { kernel: kernel.symbol.clone(), source })
}

impl Backend for EmuBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        self.place
    }

    fn target(&self) -> Target {
        Target::Cuda(self.target)
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        let address = self.memory().allocate_filled(bytes, UNWRITTEN).map_err(|error| Error::Allocation {
            bytes,
            place: self.place,
            why: error.to_string(),
        })?;
        Ok(Pointer { address, place: self.place })
    }

    unsafe fn free(&self, pointer: Pointer) -> Result<()> {
        let address = self.address(pointer)?;
        self.memory().free(address).map_err(|_| Error::Backend {
            backend: NAME,
            request: format!("free {address:#x}, which is no live allocation"),
            remedy: "free what `allocate` returned, once",
        })
    }

    unsafe fn upload(&self, to: Pointer, from: &[u8], _: StreamHandle) -> Result<()> {
        let to = self.address(to)?;
        self.memory().write(to, from).map_err(outside)
    }

    unsafe fn download(&self, to: &mut [u8], from: Pointer, _: StreamHandle) -> Result<()> {
        let from = self.address(from)?;
        to.copy_from_slice(self.memory().read(from, to.len()).map_err(outside)?);
        Ok(())
    }

    unsafe fn copy(&self, to: Pointer, from: Pointer, bytes: usize, _: StreamHandle) -> Result<()> {
        let (to, from) = (self.address(to)?, self.address(from)?);
        let mut memory = self.memory();
        let source = memory.read(from, bytes).map_err(outside)?;
        let mut copied = crate::memory::zeros::<u8>(bytes)?;
        copied.copy_from_slice(source);
        memory.write(to, &copied).map_err(outside)
    }

    unsafe fn fill(&self, to: Pointer, value: u8, bytes: usize, _: StreamHandle) -> Result<()> {
        let to = self.address(to)?;
        self.memory().fill(to, value, bytes).map_err(outside)
    }

    fn prepare(&self, kernel: &KernelPlan) -> Result<KernelHandle> {
        let mut programs = self.programs.write().unwrap_or_else(PoisonError::into_inner);
        let known = programs.iter().position(|program| program.entry == kernel.symbol);
        let index = match known {
            Some(index) => index,
            None => {
                programs.push(Arc::new(compile(kernel)?));
                programs.len() - 1
            }
        };
        Ok(KernelHandle(index as u64))
    }

    fn encode(&self, slot: &MapSlot, address: Pointer) -> Result<TensorMap> {
        let encoded = slot.desc.to_map_bytes(self.address(address)?);
        encoded.map_err(|source| Error::TensorMap { operand: slot.operand, source })
    }

    unsafe fn launch(&self, launch: &Launch<'_>, _: StreamHandle) -> Result<()> {
        let Launch::Kernel(launch) = launch else {
            return Err(Error::Backend {
                backend: NAME,
                request: "compute on the CPU".to_owned(),
                remedy: "bind the plan on the CPU backend",
            });
        };
        let program = self.program(launch)?;
        let KernelPlan { symbol, grid, block, cluster, shared_bytes, .. } = launch.shape;
        let shape = fa3_emu::Launch {
            cluster: Some([*cluster, 1, 1]),
            dynamic_shared: *shared_bytes,
            ..fa3_emu::Launch::new(*grid, [*block, 1, 1])
        };
        let arguments: Vec<&[u8]> = launch.arguments.iter().map(bytes).collect();
        let _span =
            tracing::debug_span!("emulate", kernel = symbol, ?grid, options = ?self.options).entered();
        let ran = fa3_emu::run(&program, &shape, &arguments, &mut self.memory(), &self.options);
        let report =
            ran.map_err(|source| Error::Emulated { plan: launch.plan.clone(), source: Box::new(source) })?;
        tracing::debug!(steps = report.steps, "emulated");
        Ok(())
    }

    unsafe fn synchronize(&self, _: StreamHandle) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyPlan, DType, Operands, Plan, Problem, Sizes, Tensor, Workspace};

    const DEFAULT: StreamHandle = StreamHandle::DEFAULT;

    fn small() -> EmuBackend {
        EmuBackend::new(CudaTarget { sms: 2, ..CudaTarget::H200 }, Options::default())
    }

    #[test]
    fn bytes_go_there_and_back_and_not_beyond() {
        let emu = small();
        let (a, b) = (emu.allocate(8).unwrap(), emu.allocate(4).unwrap());
        assert!(a.address.is_multiple_of(256) && b.address.is_multiple_of(256));
        let mut back = [0; 4];
        let past = Pointer { address: a.address + 5, ..a };
        // SAFETY: the emulator checks every access.
        unsafe {
            emu.upload(a, &[1, 2, 3, 4], DEFAULT).unwrap();
            emu.copy(b, a, 4, DEFAULT).unwrap();
            emu.fill(b, 9, 2, DEFAULT).unwrap();
            emu.download(&mut back, b, DEFAULT).unwrap();
            assert_eq!(back, [9, 9, 3, 4]);
            for refused in [
                emu.upload(past, &back, DEFAULT),
                emu.download(&mut back, past, DEFAULT),
                emu.copy(b, past, 4, DEFAULT),
                emu.copy(past, b, 4, DEFAULT),
                emu.fill(past, 0, 4, DEFAULT),
                emu.copy(b, a, usize::MAX, DEFAULT),
                emu.free(past),
            ] {
                assert!(matches!(refused, Err(Error::Backend { backend: "emu", .. })), "{refused:?}");
            }
            emu.free(a).unwrap();
            assert!(emu.free(a).is_err());
            assert!(emu.upload(a, &[1], DEFAULT).is_err());
        }
    }

    #[test]
    fn unwritten_memory_is_not_a_number() {
        let emu = small();
        let mut back = [0.0_f32; 2];
        let pointer = emu.allocate(8).unwrap();
        // SAFETY: the emulator checks every access.
        unsafe { emu.download(bytemuck::cast_slice_mut(&mut back), pointer, DEFAULT).unwrap() };
        assert!(back.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn two_emulated_devices_do_not_share_pointers() {
        let (one, other) = (small(), small());
        let pointer = one.allocate(4).unwrap();
        // SAFETY: the emulator checks every access.
        let refused = unsafe { other.upload(pointer, &[0], DEFAULT) }.unwrap_err().to_string();
        assert!(refused.contains("emulated device"), "{refused}");
    }

    #[test]
    fn more_memory_than_there_is_is_refused() {
        assert!(matches!(small().allocate(usize::MAX), Err(Error::Allocation { bytes: usize::MAX, .. })));
    }

    /// Q, K and V of one key; O, too small, is the last allocation.
    #[test]
    fn a_fault_names_the_plan_and_the_site() {
        let backend: Arc<dyn Backend> = Arc::new(small());
        let sizes = Sizes::new(1, 64, 1, 64);
        let problem = Problem { lse: false, ..Problem::dense(DType::F16, sizes, crate::Options::default()) };
        let plan = Arc::new(Plan::forward(&backend.target(), &problem).unwrap());
        let tensor = |bytes, spec| Tensor { pointer: backend.allocate(bytes).unwrap(), spec };
        let all = 64 * 64 * 2;
        let operands = Operands::new(
            tensor(all, problem.q),
            tensor(all, problem.k),
            tensor(all, problem.v),
            tensor(all - 16, problem.o),
        );
        let binding = match plan.bind(&backend, &operands, Workspace::Own) {
            Ok(binding) => binding,
            Err(error) => {
                assert!(matches!(error, Error::Kernel(_)), "{error}");
                assert!(error.to_string().contains("cargo xtask cubins"), "{error}");
                return;
            }
        };
        // SAFETY: the emulator checks every access.
        let error = unsafe { binding.run(DEFAULT) }.unwrap_err();
        let Error::Emulated { plan: ran, source } = &error else { panic!("{error}") };
        assert_eq!(*ran, AnyPlan::from(&plan));
        assert!(matches!(**source, fa3_emu::RunError::Fault { .. }), "{source}");
        let text = error.to_string();
        assert!(
            text.contains("fa3_fwd_sm90_f16_d64_m192 CTA (0, 0, 0)") && text.contains("PTX line"),
            "{text}"
        );
    }
}
