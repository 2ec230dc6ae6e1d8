//! What a plan is made for.

use core::fmt;

use fa3_sys::Arch;

/// What planning needs to know of the machine that will run the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// A CUDA device.
    Cuda(CudaTarget),
    /// This machine's processor.
    Cpu(CpuTarget),
}

/// A CUDA device, as planning sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CudaTarget {
    /// The architecture.
    pub arch: Arch,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Level-2 cache, bytes.
    pub l2_bytes: u64,
}

impl CudaTarget {
    /// An H200 SXM: to ask what would run there, on a machine that has none.
    pub const H200: Self = Self { arch: Arch::Sm90a, sms: 132, l2_bytes: 50 << 20 };
}

/// The processor, as planning sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpuTarget {
    /// Worker threads.
    pub threads: usize,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cuda(cuda) => {
                write!(f, "{} with {} SMs and {} MiB of L2", cuda.arch, cuda.sms, cuda.l2_bytes >> 20)
            }
            Self::Cpu(CpuTarget { threads: 1 }) => f.write_str("the CPU with one thread"),
            Self::Cpu(cpu) => write!(f, "the CPU with {} threads", cpu.threads),
        }
    }
}
