//! A backend that records every call and computes nothing: what would reach a GPU, on a machine
//! that has none. Its device memory is host memory, so that copies and fills are real.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fa3_kernels::{ForwardParams, MergeParams, ScheduleParams};
use fa3_sys::TensorMap;
use fa3_sys::tensormap::TensorMapDesc;

use super::host::{self, HostMemory};
use super::{Argument, Backend, KernelHandle, Launch, StreamHandle};
use crate::{
    Error, KernelPlan, MapSlot, MergeOperands, MergePlan, Operands, Place, Plan, Pointer, Result, Target,
};

/// One recorded call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Call {
    /// [`Backend::allocate`].
    Allocate {
        /// How many bytes.
        bytes: usize,
        /// What was returned.
        pointer: Pointer,
    },
    /// [`Backend::free`].
    Free {
        /// What was freed.
        pointer: Pointer,
    },
    /// [`Backend::upload`].
    Upload {
        /// Where to.
        to: Pointer,
        /// How many bytes.
        bytes: usize,
    },
    /// [`Backend::download`].
    Download {
        /// Where from.
        from: Pointer,
        /// How many bytes.
        bytes: usize,
    },
    /// [`Backend::copy`].
    Copy {
        /// Where to.
        to: Pointer,
        /// Where from.
        from: Pointer,
        /// How many bytes.
        bytes: usize,
    },
    /// [`Backend::fill`].
    Fill {
        /// Where.
        to: Pointer,
        /// With what.
        value: u8,
        /// How many bytes.
        bytes: usize,
    },
    /// [`Backend::prepare`].
    Prepare {
        /// The kernel.
        symbol: String,
    },
    /// [`Backend::encode`].
    Encode {
        /// The description.
        desc: TensorMapDesc,
        /// The address.
        address: Pointer,
    },
    /// [`Backend::launch`] of a kernel.
    Launch(Box<RecordedLaunch>),
    /// [`Backend::launch`] of the CPU's attention.
    Cpu {
        /// The plan.
        plan: Arc<Plan>,
        /// The operands.
        operands: Box<Operands>,
    },
    /// [`Backend::launch`] of the CPU's merge.
    CpuMerge {
        /// The plan.
        plan: Arc<MergePlan>,
        /// The operands.
        operands: Box<MergeOperands>,
    },
    /// [`Backend::synchronize`].
    Synchronize {
        /// Of which stream.
        stream: StreamHandle,
    },
}

/// A recorded kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedLaunch {
    /// The kernel.
    pub symbol: String,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads a CTA.
    pub block: u32,
    /// CTAs a cluster.
    pub cluster: u32,
    /// Dynamic shared memory, bytes.
    pub shared_bytes: u32,
    /// The tensor maps among the parameters, described, with their addresses.
    pub maps: Vec<(TensorMapDesc, Pointer)>,
    /// The parameter blocks, in order.
    pub params: Vec<RecordedParams>,
    /// The stream.
    pub stream: StreamHandle,
}

/// A recorded parameter block, its addresses filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordedParams {
    /// [`Argument::Forward`].
    Forward(ForwardParams),
    /// [`Argument::Schedule`].
    Schedule(ScheduleParams),
    /// [`Argument::Merge`].
    Merge(MergeParams),
}

/// The recording backend.
///
/// ```
/// use fa3::{Backend, Call, CudaTarget, MockBackend, StreamHandle, Target};
/// let mock = MockBackend::new(Target::Cuda(CudaTarget::H200));
/// let pointer = mock.allocate(4)?;
/// let mut back = [0u8; 4];
/// // SAFETY: four bytes, allocated above.
/// unsafe {
///     mock.upload(pointer, &[1, 2, 3, 4], StreamHandle::DEFAULT)?;
///     mock.download(&mut back, pointer, StreamHandle::DEFAULT)?;
///     mock.free(pointer)?;
/// }
/// assert_eq!(back, [1, 2, 3, 4]);
/// assert_eq!(mock.calls()[0], Call::Allocate { bytes: 4, pointer });
/// # Ok::<(), fa3::Error>(())
/// ```
#[derive(Debug)]
pub struct MockBackend {
    target: Target,
    memory: HostMemory,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    calls: Vec<Call>,
    symbols: Vec<String>,
    maps: Vec<(TensorMapDesc, Pointer)>,
}

const NAME: &str = "mock";

impl MockBackend {
    /// A mock of this target, with nothing recorded.
    pub fn new(target: Target) -> Self {
        Self { target, memory: HostMemory::new(Place::Mock, NAME), record: Mutex::default() }
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.record().calls.clone()
    }

    /// The kernel launches so far, in order.
    pub fn launches(&self) -> Vec<RecordedLaunch> {
        let launch = |call: &Call| match call {
            Call::Launch(launch) => Some((**launch).clone()),
            _ => None,
        };
        self.record().calls.iter().filter_map(launch).collect()
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, call: Call) {
        self.record().calls.push(call);
    }

    /// Refuses an access outside live allocations, which a GPU would answer with a fault.
    fn access(&self, pointer: Pointer, bytes: usize) -> Result<()> {
        super::expect_place(pointer, Place::Mock, NAME)?;
        if self.memory.contains(pointer, bytes) {
            return Ok(());
        }
        Err(Error::Backend {
            backend: NAME,
            request: format!("access {bytes} bytes at {:#x}, outside every live allocation", pointer.address),
            remedy: "allocate the memory first",
        })
    }
}

/// A mock's map holds the index of its description among those encoded.
fn encode_index(index: usize) -> TensorMap {
    let mut bytes = [0; 128];
    if let Some(start) = bytes.first_chunk_mut::<8>() {
        *start = (index as u64).to_le_bytes();
    }
    TensorMap::from_bytes(bytes)
}

fn decode_index(map: &TensorMap) -> Option<usize> {
    map.as_bytes().first_chunk::<8>().and_then(|start| usize::try_from(u64::from_le_bytes(*start)).ok())
}

impl Backend for MockBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn place(&self) -> Place {
        Place::Mock
    }

    fn target(&self) -> Target {
        self.target
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        let pointer = self.memory.allocate(bytes)?;
        // Contents are undefined on a device; a fixed pattern keeps the mock's downloads defined.
        // SAFETY: the allocation was made just now, of that many bytes.
        unsafe { host::fill(pointer, 0xcd, bytes) };
        self.push(Call::Allocate { bytes, pointer });
        Ok(pointer)
    }

    unsafe fn free(&self, pointer: Pointer) -> Result<()> {
        self.push(Call::Free { pointer });
        self.memory.free(pointer)
    }

    unsafe fn upload(&self, to: Pointer, from: &[u8], _: StreamHandle) -> Result<()> {
        self.access(to, from.len())?;
        self.push(Call::Upload { to, bytes: from.len() });
        // SAFETY: checked to lie in a live allocation; the caller says that nothing else uses it.
        unsafe { host::upload(to, from) };
        Ok(())
    }

    unsafe fn download(&self, to: &mut [u8], from: Pointer, _: StreamHandle) -> Result<()> {
        self.access(from, to.len())?;
        self.push(Call::Download { from, bytes: to.len() });
        // SAFETY: checked to lie in a live allocation, which `allocate` initialised.
        unsafe { host::download(to, from) };
        Ok(())
    }

    unsafe fn copy(&self, to: Pointer, from: Pointer, bytes: usize, _: StreamHandle) -> Result<()> {
        self.access(to, bytes)?;
        self.access(from, bytes)?;
        self.push(Call::Copy { to, from, bytes });
        // SAFETY: both checked to lie in live allocations; the caller says they do not overlap.
        unsafe { host::copy(to, from, bytes) };
        Ok(())
    }

    unsafe fn fill(&self, to: Pointer, value: u8, bytes: usize, _: StreamHandle) -> Result<()> {
        self.access(to, bytes)?;
        self.push(Call::Fill { to, value, bytes });
        // SAFETY: checked to lie in a live allocation; the caller says that nothing else uses it.
        unsafe { host::fill(to, value, bytes) };
        Ok(())
    }

    fn prepare(&self, kernel: &KernelPlan) -> Result<KernelHandle> {
        let mut record = self.record();
        record.calls.push(Call::Prepare { symbol: kernel.symbol.clone() });
        let known = record.symbols.iter().position(|symbol| *symbol == kernel.symbol);
        let index = known.unwrap_or_else(|| {
            record.symbols.push(kernel.symbol.clone());
            record.symbols.len() - 1
        });
        Ok(KernelHandle(index as u64))
    }

    fn encode(&self, slot: &MapSlot, address: Pointer) -> Result<TensorMap> {
        super::expect_place(address, Place::Mock, NAME)?;
        let valid = slot.desc.validate(address.address);
        valid.map_err(|source| Error::TensorMap { operand: slot.operand, source })?;
        let desc = slot.desc;
        let mut record = self.record();
        record.calls.push(Call::Encode { desc, address });
        record.maps.push((desc, address));
        Ok(encode_index(record.maps.len() - 1))
    }

    unsafe fn launch(&self, launch: &Launch<'_>, stream: StreamHandle) -> Result<()> {
        let launch = match launch {
            Launch::Cpu(cpu) => {
                let operands = Box::new(*cpu.operands);
                self.push(Call::Cpu { plan: Arc::clone(cpu.plan), operands });
                return Ok(());
            }
            Launch::CpuMerge(cpu) => {
                let operands = Box::new(*cpu.operands);
                self.push(Call::CpuMerge { plan: Arc::clone(cpu.plan), operands });
                return Ok(());
            }
            Launch::Kernel(launch) => launch,
        };
        let foreign = |what: &str| Error::Backend {
            backend: NAME,
            request: format!("launch `{}` with {what} of another backend", launch.shape.symbol),
            remedy: "bind the plan on the backend that runs it",
        };
        let mut record = self.record();
        let index = usize::try_from(launch.kernel.0).ok();
        if index.and_then(|index| record.symbols.get(index)) != Some(&launch.shape.symbol) {
            return Err(foreign("a kernel"));
        }
        let (mut maps, mut params) = (Vec::new(), Vec::new());
        for argument in launch.arguments {
            match argument {
                Argument::Map(map) => {
                    let known = decode_index(map).and_then(|index| record.maps.get(index));
                    maps.push(*known.ok_or_else(|| foreign("a tensor map"))?);
                }
                Argument::Forward(block) => params.push(RecordedParams::Forward(**block)),
                Argument::Schedule(block) => params.push(RecordedParams::Schedule(**block)),
                Argument::Merge(block) => params.push(RecordedParams::Merge(**block)),
            }
        }
        record.calls.push(Call::Launch(Box::new(RecordedLaunch {
            symbol: launch.shape.symbol.clone(),
            grid: launch.shape.grid,
            block: launch.shape.block,
            cluster: launch.shape.cluster,
            shared_bytes: launch.shape.shared_bytes,
            maps,
            params,
            stream,
        })));
        Ok(())
    }

    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        self.push(Call::Synchronize { stream });
        Ok(())
    }
}
