//! Exact softmax attention for Rust programs.

pub mod backend;
pub mod binding;
#[cfg(feature = "cpu")]
mod cpu;
pub mod device;
pub mod device_tensor;
pub mod dims;
pub mod dtype;
pub mod error;
pub mod host;
mod lengths;
pub mod memory;
pub mod options;
mod overlap;
pub mod plan;
pub mod problem;
pub mod reference;
pub mod support;
pub mod target;
pub mod tensor;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(feature = "cpu")]
pub use backend::CpuBackend;
#[cfg(feature = "cuda")]
pub use backend::CudaBackend;
pub use backend::{
    Argument, Backend, Call, CpuLaunch, KernelHandle, KernelLaunch, Launch, MockBackend, RecordedLaunch,
    StreamHandle,
};
pub use binding::{Binding, Workspace};
pub use device::{Choice, Device, Rejected};
pub use device_tensor::{DeviceOutput, DeviceTensor};
pub use dims::Dims;
pub use dtype::{DType, Element};
pub use error::{Error, Reason, Result, Unsupported};
pub use host::{HostInputs, HostSequences, HostTensor, Output, attention, attention_with};
pub use memory::Buffer;
pub use options::{Options, Window};
pub use plan::{CpuPlan, Execution, KernelPlan, MapSlot, Plan, Tile, Work};
pub use problem::{Operand, Operands, Problem, Sequences, Sizes};
pub use support::support;
pub use target::{CpuTarget, CudaTarget, Target};
pub use tensor::{Layout, Place, Pointer, Tensor, TensorSpec};
