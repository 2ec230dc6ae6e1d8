//! The GPU architectures that kernels are built for.

use core::fmt;
use core::str::FromStr;

/// An architecture-specific target. Kernels built for one run on no other: the `a` suffix
/// enables instructions (`wgmma`, `tcgen05`, `setmaxnreg`) that have no forward compatibility
/// (PTX ISA, "PTX Module Directives: .target").
///
/// ```
/// use fa3_sys::Arch;
/// assert_eq!(Arch::from_compute_capability(9, 0)?, Arch::Sm90a);
/// assert_eq!(Arch::Sm100a.target(), "sm_100a");
/// assert!(Arch::from_compute_capability(12, 0).is_err());
/// # Ok::<(), fa3_sys::UnsupportedArch>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// Hopper, compute capability 9.0 (H100, H200, GH200).
    Sm90a,
    /// Blackwell, compute capability 10.0 (B100, B200, GB200).
    Sm100a,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Self; 2] = [Self::Sm90a, Self::Sm100a];

    /// The architecture of a device of compute capability `major.minor`.
    ///
    /// # Errors
    /// [`UnsupportedArch`] for every capability but 9.0 and 10.0.
    pub fn from_compute_capability(major: u32, minor: u32) -> Result<Self, UnsupportedArch> {
        match (major, minor) {
            (9, 0) => Ok(Self::Sm90a),
            (10, 0) => Ok(Self::Sm100a),
            _ => Err(UnsupportedArch { found: format!("compute capability {major}.{minor}") }),
        }
    }

    /// The compiler's name for it: `sm_90a`.
    pub const fn target(self) -> &'static str {
        match self {
            Self::Sm90a => "sm_90a",
            Self::Sm100a => "sm_100a",
        }
    }

    /// The virtual architecture that PTX is emitted for: `compute_90a`.
    pub const fn virtual_target(self) -> &'static str {
        match self {
            Self::Sm90a => "compute_90a",
            Self::Sm100a => "compute_100a",
        }
    }

    /// The most dynamic shared memory one CTA may have, in bytes (CUDA Programming Guide,
    /// "Compute Capabilities": 227 KB on both).
    pub const fn max_shared_bytes(self) -> u32 {
        match self {
            Self::Sm90a | Self::Sm100a => 227 * 1024,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.target())
    }
}

impl FromStr for Arch {
    type Err = UnsupportedArch;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|arch| arch.target() == text)
            .ok_or_else(|| UnsupportedArch { found: format!("`{text}`") })
    }
}

/// A device or a target name for which there are no kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found} is not supported: kernels exist for compute capability 9.0 (sm_90a: H100, H200) \
     and 10.0 (sm_100a: B100, B200)"
)]
pub struct UnsupportedArch {
    /// What was found, as a person would say it: `compute capability 8.9`.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for arch in Arch::ALL {
            assert_eq!(arch.target().parse(), Ok(arch));
        }
    }

    #[test]
    fn neighbours_are_refused_and_named() {
        for (major, minor) in [(8, 9), (9, 1), (10, 1), (10, 3), (12, 0)] {
            let error = Arch::from_compute_capability(major, minor).unwrap_err();
            assert!(error.to_string().contains(&format!("{major}.{minor}")), "{error}");
        }
    }
}
