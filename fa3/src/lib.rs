//! Exact softmax attention for Rust programs: `O = softmax(scale · Q·Kᵀ, masked) · V`.
//!
//! On Hopper GPUs it runs kernels of this project's own, through the CUDA driver; anywhere, on all
//! threads of the CPU. [`attention`] takes host slices, [`Device::attention`] tensors that own
//! device memory, and [`Plan`] → [`Binding`] raw device pointers on a stream of the caller's.
//!
//! ```
//! # #[cfg(feature = "cpu")] {
//! use fa3::{Device, HostTensor, Options, attention};
//! let choice = Device::best()?; // the GPU if there is one with kernels, and why not otherwise
//! println!("{choice}");
//! // [batch, sequence, heads, dim]: one query of one head, two keys of equal score.
//! let q = HostTensor::new([1, 1, 1, 2], &[1.0f32, 0.0])?;
//! let k = HostTensor::new([1, 2, 1, 2], &[0.0, 1.0, 0.0, -1.0])?;
//! let v = HostTensor::new([1, 2, 1, 1], &[4.0, 8.0])?;
//! let output = attention(&Device::cpu(), q, k, v, &Options::default())?;
//! assert_eq!(output.o, [6.0]);
//! println!("{}", output.plan);
//! # }
//! # Ok::<(), fa3::Error>(())
//! ```
//!
//! # The life of a call
//! A [`Problem`] says what is computed: types, layouts, options. A [`Plan`], made of a problem and a
//! [`Target`] without touching a device, says how: which kernel, grid, tensor maps, or that the
//! target does not take it, and [why](support()). A [`Binding`] adds addresses, which it checks, and
//! encodes the maps. Running it allocates nothing and waits for nothing, so that a CUDA graph can
//! hold it. A [`Backend`] executes it: [`CudaBackend`], [`CpuBackend`], [`MockBackend`], which records
//! what would reach a GPU, or, with feature `emu`, `EmuBackend`, which emulates one.
//!
//! What a backend does not honour it refuses when the plan is made; nothing falls back by itself.
//! Every [`Error`] names the argument, its value, the rule, and what would do.
//!
//! What the numbers mean, to the last empty row: [`semantics`].
//!
//! From C, and from whatever calls C: feature `capi`, the header `include/fa3.h`.

pub mod backend;
pub mod binding;
#[cfg(feature = "capi")]
mod capi;
#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda_slices;
pub mod device;
pub mod device_inputs;
pub mod device_name;
pub mod device_tensor;
pub mod dims;
pub mod dtype;
pub mod error;
pub mod host;
mod lengths;
pub mod memory;
pub mod merge;
pub mod options;
mod overlap;
pub mod plan;
pub mod problem;
pub mod reference;
pub mod semantics;
pub mod support;
pub mod target;
pub mod tensor;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "cpu")]
pub use backend::CpuBackend;
#[cfg(feature = "cuda")]
pub use backend::CudaBackend;
#[cfg(feature = "emu")]
pub use backend::EmuBackend;
pub use backend::{
    Argument, Backend, Call, CpuLaunch, CpuMerge, KernelHandle, KernelLaunch, Launch, MockBackend,
    RecordedLaunch, RecordedParams, StreamHandle,
};
pub use binding::{Binding, Workspace};
#[cfg(feature = "cuda")]
pub use cuda_slices::CudaSlices;
pub use device::{Choice, Device, Rejected};
pub use device_inputs::{DeviceInputs, DeviceSequences};
pub use device_name::DeviceName;
pub use device_tensor::{DeviceOutput, DeviceTensor};
pub use dims::Dims;
pub use dtype::{DType, Element};
pub use error::{Error, Reason, Result, Unsupported};
pub use host::{HostInputs, HostSequences, HostTensor, Output, attention, attention_with};
pub use memory::Buffer;
pub use merge::{
    HostParts, MergeBinding, MergeExecution, MergeKernel, MergeOperands, MergePlan, MergeProblem, Merged,
    merge,
};
pub use options::{Options, Window};
pub use plan::{
    AnyPlan, CpuPlan, Execution, ForwardPlan, GpuPlan, KernelPlan, MapSlot, Plan, SchedulePlan, Tile, Tuning,
    Walk, Work,
};
pub use problem::{Operand, Operands, Problem, Sequences, Sizes};
pub use support::support;
pub use target::{CpuTarget, CudaTarget, Target};
pub use tensor::{Layout, Place, Pointer, Tensor, TensorSpec};

#[cfg(feature = "emu")]
pub use fa3_emu;
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
