//! What can go wrong, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use fa3_sys::Arch;
use fa3_sys::artefact::{EmbedError, HashError};

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("`{program}` failed ({status}){output}")]
    Failed { program: String, status: String, output: String },
    #[error("`{program}` answered what cannot be understood: {why}")]
    Answer { program: String, why: String },
    #[error(
        "python3 is needed to fetch the CUDA compiler, and {why}. Install Python 3 with pip \
         (Debian, Ubuntu: `apt install python3 python3-pip`), or install CUDA {oldest} or newer and set CUDA_HOME"
    )]
    Python { why: String, oldest: &'static str },
    #[error(
        "nvcc needs a host C++ compiler and g++ was not found: install it (Debian, Ubuntu: `apt install g++`)"
    )]
    HostCompiler,
    #[error(
        "pip could not install the CUDA compiler. Its output:\n{output}\nCheck the network and pip's settings, or \
         install CUDA {oldest} or newer and set CUDA_HOME"
    )]
    Pip { output: String, oldest: &'static str },
    #[error("the CUDA toolkit around {} has no `{tool}`; unset NVCC and CUDA_HOME to use the pinned one, or reinstall it", nvcc.display())]
    Tool { tool: String, nvcc: PathBuf },
    #[error("the CUDA compiler installed in {} does not run; delete that folder and try again", folder.display())]
    Wheels { folder: PathBuf },
    #[error("kernel `{symbol}` for {arch} is refused:\n  {}\nIntermediate files: {}", reasons.join("\n  "), folder.display())]
    Refused { symbol: String, arch: Arch, reasons: Vec<String>, folder: PathBuf },
    #[error("{count} kernels failed; the messages are above")]
    Kernels { count: usize },
    #[error("no kernel's name contains `{text}`{arch}; `cargo xtask cubins` without --only lists them")]
    NoSuchKernel { text: String, arch: String },
    #[error("the parameter blocks of {package} differ between Rust and device code:\n{output}")]
    Parameters { package: String, output: String },
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error("{0}")]
    Refusal(String),
}

/// Names the file in an I/O error.
pub(crate) trait At<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::File { path: path.as_ref().to_path_buf(), source })
    }
}
