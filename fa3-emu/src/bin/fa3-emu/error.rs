//! What can go wrong, and the exit code that says so.

use std::io;
use std::path::PathBuf;

use fa3_emu::ptx::PtxError;
use fa3_emu::{OutOfMemory, RunError};

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Ptx { path: PathBuf, source: PtxError },
    #[error("--{option} {value}: {rule}")]
    Option { option: &'static str, value: String, rule: String },
    #[error("{}: {fault}", path.display())]
    TensorMap { path: PathBuf, fault: String },
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    #[error("{source}{buffers}")]
    Run {
        source: Box<RunError>,
        /// Where the buffers are, a line each.
        buffers: String,
    },
    #[error("standard output: {0}")]
    Output(io::Error),
}

impl Error {
    /// 1 where the kernel ran and failed, or its results could not be printed; 2 where it could not
    /// be run as asked.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Run { source, .. } if matches!(**source, RunError::Launch { .. }) => 2,
            Self::Run { .. } | Self::Output(_) => 1,
            _ => 2,
        }
    }

    pub(crate) fn option(option: &'static str, value: impl ToString, rule: impl Into<String>) -> Self {
        Self::Option { option, value: value.to_string(), rule: rule.into() }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Says which file an operation was about.
pub(crate) trait At<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::File { path: path.into(), source })
    }
}
