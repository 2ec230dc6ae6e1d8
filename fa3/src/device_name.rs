//! Devices by the names that a person types.

use core::fmt;
use core::str::FromStr;

use fa3_sys::Arch;

use crate::{Device, Error, Result};

/// The name of a device: `cpu`, `cuda:1`, `emu:sm_90a`. Known in every build;
/// [`open`](Self::open) says which feature a build lacks.
///
/// ```
/// use fa3::DeviceName;
/// use fa3_sys::Arch;
/// assert_eq!("cuda".parse::<DeviceName>()?, DeviceName::Cuda(0));
/// assert_eq!("emu:sm_90a".parse::<DeviceName>()?, DeviceName::Emulated(Arch::Sm90a));
/// let error = "emu:sm_89".parse::<DeviceName>().unwrap_err();
/// assert!(error.to_string().contains("emu:sm_90a"));
/// # Ok::<(), fa3::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceName {
    /// This machine's processor.
    Cpu,
    /// The CUDA device of this ordinal; `cuda` alone is the first.
    Cuda(u32),
    /// An emulated CUDA device of this architecture, else like an H200, with every check on, on
    /// all threads of this machine.
    Emulated(Arch),
}

impl DeviceName {
    /// Opens the device.
    ///
    /// # Errors
    /// [`Error::Backend`] where the build lacks the backend; `Error::Driver` and [`Error::Kernel`] as
    /// the opening of such a device has them.
    pub fn open(self) -> Result<Device> {
        match self {
            #[cfg(feature = "cpu")]
            Self::Cpu => Ok(Device::cpu()),
            #[cfg(feature = "cuda")]
            Self::Cuda(ordinal) => Device::cuda(ordinal),
            #[cfg(feature = "emu")]
            Self::Emulated(arch) => {
                let target = crate::CudaTarget { arch, ..crate::CudaTarget::H200 };
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                let threads = threads.min(fa3_emu::Options::MAX_THREADS);
                Device::emulated(target, fa3_emu::Options { threads, ..fa3_emu::Options::default() })
            }
            #[cfg(not(feature = "cpu"))]
            Self::Cpu => Err(left_out("cpu", "build with feature `cpu`")),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda(_) => Err(left_out("cuda", "build with feature `cuda`")),
            #[cfg(not(feature = "emu"))]
            Self::Emulated(_) => Err(left_out("emu", "build with feature `emu`")),
        }
    }
}

#[cfg(not(all(feature = "cpu", feature = "cuda", feature = "emu")))]
fn left_out(backend: &'static str, remedy: &'static str) -> Error {
    Error::Backend { backend, request: "open a device, but this build leaves it out".to_owned(), remedy }
}

impl FromStr for DeviceName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = |rule: String| {
            Error::argument("the device", format!("`{text}`"), rule, "name cpu, cuda:N or emu:sm_90a")
        };
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::Cpu),
            None if text == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", ordinal)) => {
                let ordinal = ordinal.parse().map_err(|_| refused("an ordinal is a number".to_owned()))?;
                Ok(Self::Cuda(ordinal))
            }
            Some(("emu", arch)) => {
                Ok(Self::Emulated(arch.parse().map_err(|error: fa3_sys::UnsupportedArch| {
                    refused(format!("it must be of an architecture: {error}"))
                })?))
            }
            _ => Err(refused("no device is called so".to_owned())),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Emulated(arch) => write!(f, "emu:{arch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [DeviceName::Cpu, DeviceName::Cuda(3), DeviceName::Emulated(Arch::Sm90a)] {
            assert_eq!(name.to_string().parse::<DeviceName>().unwrap(), name);
        }
    }

    #[test]
    fn other_names_are_refused_with_what_would_do() {
        for text in ["", "gpu", "cpu:0", "cuda:", "cuda:-1", "cuda:x", "emu", "emu:", "emu:sm_89", "CPU"] {
            let error = text.parse::<DeviceName>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("cuda:N"), "{error}");
        }
    }

    #[test]
    #[cfg(not(feature = "emu"))]
    fn a_build_without_the_emulator_names_the_feature() {
        let error = DeviceName::Emulated(Arch::Sm90a).open().unwrap_err().to_string();
        assert!(error.contains("feature `emu`"), "{error}");
    }
}
