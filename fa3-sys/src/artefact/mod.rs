//! Kernel artefacts: what a crate that owns kernels builds, embeds and hands to the launcher.
//!
//! A crate describes its kernels as [`Unit`]s. The build step turns each unit and architecture
//! into machine code, its PTX and a manifest under `artifacts/`; the crate's build script embeds
//! those whose source hash is today's as [`KernelEntry`] and [`KernelPtx`] values, and lists the
//! others as [`Missing`].

pub mod manifest;

#[cfg(feature = "embed")]
mod embed;
#[cfg(feature = "embed")]
mod hash;
#[cfg(feature = "embed")]
mod script;

#[cfg(feature = "embed")]
pub use embed::{EmbedError, Embedded, embed, up_to_date};
#[cfg(feature = "embed")]
pub use hash::{HashError, source_hash, source_roots};
pub use manifest::{Files, Manifest, ManifestError};
#[cfg(feature = "embed")]
pub use script::build_script;

use crate::Arch;

/// One compilation: a source file and the definitions that turn it into one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The `extern "C"` name of the kernel, unique in its crate; also the artefact's file name.
    pub symbol: String,
    /// The source, relative to the crate's root: `kernels/sm90/forward.cu`.
    pub source: &'static str,
    /// The architectures it is built for.
    pub arches: &'static [Arch],
    /// Preprocessor definitions, in order. `FA3_SYMBOL` is added with the value of `symbol`.
    pub defines: Vec<(&'static str, String)>,
    /// Opcodes that the machine code must hold, as the disassembler prints them (`HGMMA`,
    /// `USETMAXREG.DEALLOC`): each has to begin one of the kernel's instructions.
    pub expect_sass: &'static [&'static str],
}

/// What the compiler said of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers a thread at launch.
    pub registers: u32,
    /// Static shared memory, bytes.
    pub static_shared_bytes: u32,
    /// Stack frame a thread, bytes. The build refuses anything but zero.
    pub stack_bytes: u32,
    /// Bytes of spill stores and loads a thread. The build refuses anything but zero.
    pub spill_bytes: u32,
}

/// An embedded kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    /// The `extern "C"` name to look up in the module.
    pub symbol: &'static str,
    /// The one architecture it runs on.
    pub arch: Arch,
    /// Machine code, for `cuModuleLoadData`: a fat binary that holds one cubin, compressed.
    pub image: &'static [u8],
    /// What the compiler said of it.
    pub resources: Resources,
    /// The hash of the sources and flags it was built from, in hexadecimal.
    pub source_hash: &'static str,
}

/// The PTX that an embedded kernel was assembled from. It is no part of [`KernelEntry`], so that
/// the linker leaves it out of programs that launch kernels and never ask for their PTX.
#[derive(Clone, Copy, Debug)]
pub struct KernelPtx {
    /// The kernel's name.
    pub symbol: &'static str,
    /// The architecture it was compiled for.
    pub arch: Arch,
    /// The PTX, with line information.
    pub text: &'static str,
}

/// Why a kernel of the table is not embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{symbol}` for {arch} {why}; build it with `cargo xtask cubins`, then build again")]
pub struct Missing {
    /// The kernel's name.
    pub symbol: &'static str,
    /// The architecture it is missing for.
    pub arch: Arch,
    /// The reason.
    pub why: MissingReason,
}

/// The reason of [`Missing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingReason {
    /// There is no artefact.
    NotBuilt,
    /// The artefact was built from other sources or flags than today's.
    Stale,
}

impl core::fmt::Display for MissingReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NotBuilt => "was not built",
            Self::Stale => "was built from other sources than these",
        })
    }
}

#[cfg(test)]
#[cfg(feature = "embed")]
mod tests {
    use std::path::{Path, PathBuf};

    use super::Unit;
    use crate::Arch;

    /// A unit without definitions, for sm_90a.
    pub(super) fn unit(symbol: &str) -> Unit {
        Unit {
            symbol: symbol.to_owned(),
            source: "kernels/k.cu",
            arches: &[Arch::Sm90a],
            defines: Vec::new(),
            expect_sass: &[],
        }
    }

    /// A folder that is deleted when it goes out of scope.
    pub(super) struct TemporaryFolder(PathBuf);

    impl TemporaryFolder {
        pub(super) fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("fa3-sys-{}-{test}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        pub(super) fn path(&self) -> &Path {
            &self.0
        }

        pub(super) fn write(&self, relative: &str, contents: &str) {
            let path = self.0.join(relative);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, contents).unwrap();
        }
    }

    impl Drop for TemporaryFolder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }
}
