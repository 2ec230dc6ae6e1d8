//! Fetching the pinned compiler: wheels that pip unpacks into the target folder. They are called
//! by path and never put on `PATH`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::version::OLDEST_TEXT;
use crate::error::{At, Error, Result};
use crate::process;
use crate::workspace::Workspace;

/// Wheels that are installed together, into one folder.
pub(crate) struct WheelSet {
    /// What the folder is called, under the target folder.
    folder: &'static str,
    /// What is fetched, for the progress message.
    what: &'static str,
    /// Pinned requirements.
    wheels: &'static [&'static str],
    /// What they unpack into, under `folder`.
    root: &'static str,
}

/// The compiler; NVRTC for the headers' checks and the disassembler for the kernels'.
pub(crate) const COMPILER: WheelSet = WheelSet {
    folder: "cuda-13.5.37",
    what: "the CUDA 13.5.37 compiler (about 200 MB)",
    wheels: &[
        "nvidia-cuda-nvcc==13.5.37",
        "nvidia-nvvm==13.5.37",
        "nvidia-cuda-crt==13.5.37",
        "nvidia-cuda-runtime==13.5.37",
        "nvidia-cuda-nvrtc==13.5.37",
        "nvidia-cuda-nvdisasm==13.5.37",
    ],
    root: "nvidia/cu13",
};

/// The memory checker.
pub(crate) const SANITIZER: WheelSet = WheelSet {
    folder: "cuda-sanitizer-13.5.25",
    what: "compute-sanitizer 13.5.25 (about 20 MB)",
    wheels: &["nvidia-cuda-sanitizer-api==13.5.25"],
    root: "nvidia/cu13",
};

/// The formatter of device code.
pub(crate) const FORMATTER: WheelSet = WheelSet {
    folder: "clang-format-23.1.5",
    what: "clang-format 23.1.5 (about 2 MB)",
    wheels: &["clang-format==23.1.5"],
    root: "clang_format/data/bin",
};

impl WheelSet {
    /// Where the wheels are installed.
    pub(crate) fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target.join(self.folder)
    }

    /// The root of what the wheels unpacked.
    pub(crate) fn root(&self, workspace: &Workspace) -> PathBuf {
        self.folder(workspace).join(self.root)
    }

    pub(crate) fn is_installed(&self, workspace: &Workspace) -> bool {
        self.root(workspace).is_dir()
    }

    /// Installs the wheels unless they are there. The folder appears complete or not at all.
    pub(crate) fn install(&self, workspace: &Workspace) -> Result<()> {
        if self.is_installed(workspace) {
            return Ok(());
        }
        require_pip()?;
        let target = self.folder(workspace);
        let partial = workspace.target.join(format!("{}.partial-{}", self.folder, std::process::id()));
        eprintln!("fetching {} with pip into {} ...", self.what, target.display());
        if partial.exists() {
            fs::remove_dir_all(&partial).at(&partial)?;
        }
        // Where that cannot be made, better to know before the download.
        fs::create_dir_all(&partial).at(&partial)?;
        let mut command = Command::new("python3");
        command
            .args(["-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"])
            .args(["--no-input", "--progress-bar=off", "--target"])
            .arg(&partial)
            .args(self.wheels);
        let finished = process::measure(command)?;
        if !finished.status.success() {
            fs::remove_dir_all(&partial).ok();
            return Err(Error::Pip { output: finished.output, oldest: OLDEST_TEXT });
        }
        if let Err(error) = fs::rename(&partial, &target) {
            fs::remove_dir_all(&partial).ok();
            // Another process may have been as far at the same time; then its copy serves.
            if !self.is_installed(workspace) {
                return Err(Error::File { path: target, source: error });
            }
        }
        eprintln!("fetched in {:.0} s", finished.elapsed.as_secs_f64());
        Ok(())
    }
}

fn require_pip() -> Result<()> {
    let fault = |why: &str| Error::Python { why: why.to_owned(), oldest: OLDEST_TEXT };
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "--version"]);
    match process::measure(command) {
        Err(_) => Err(fault("it was not found")),
        Ok(finished) if !finished.status.success() => Err(fault("its pip module is missing")),
        Ok(_) => Ok(()),
    }
}
