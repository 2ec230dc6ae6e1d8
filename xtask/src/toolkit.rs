//! The CUDA compiler and the programs that come with it.

pub(crate) mod install;
pub(crate) mod version;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;
use install::{COMPILER, WheelSet};
use version::{OLDEST, Version};

/// A compiler that is new enough.
#[derive(Clone, Debug)]
pub(crate) struct Toolkit {
    pub(crate) nvcc: PathBuf,
    pub(crate) version: Version,
    /// Where it was found: `NVCC`, `CUDA_HOME`, `PATH` or the installed wheels.
    pub(crate) origin: &'static str,
    /// The pinned wheels' root, installed or not.
    wheels: PathBuf,
}

/// A compiler that was found and is of no use, and why.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) nvcc: PathBuf,
    pub(crate) origin: &'static str,
    pub(crate) why: String,
}

/// Looks for a compiler in `NVCC`, `CUDA_HOME`, `PATH` and among the installed wheels, in this
/// order, without installing any.
pub(crate) fn look(workspace: &Workspace) -> (Option<Toolkit>, Vec<Rejected>) {
    let wheels = COMPILER.root(workspace);
    let mut candidates: Vec<(&'static str, PathBuf)> = Vec::new();
    // An empty variable is as good as none.
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    candidates.extend(variable("NVCC").map(|nvcc| ("NVCC", callable(nvcc))));
    candidates.extend(variable("CUDA_HOME").map(|home| ("CUDA_HOME", callable(home.join("bin/nvcc")))));
    candidates.extend(on_path("nvcc").map(|nvcc| ("PATH", callable(nvcc))));
    if COMPILER.is_installed(workspace) {
        candidates.push(("the wheels in the target folder", wheels.join("bin/nvcc")));
    }
    let mut rejected = Vec::new();
    for (origin, nvcc) in candidates {
        match version::of(&nvcc) {
            Ok(version) if version >= OLDEST => {
                return (Some(Toolkit { nvcc, version, origin, wheels }), rejected);
            }
            Ok(version) => {
                let why = format!("it is version {version}, and {OLDEST} or newer is needed");
                rejected.push(Rejected { nvcc, origin, why });
            }
            Err(error) => rejected.push(Rejected { nvcc, origin, why: error.to_string() }),
        }
    }
    (None, rejected)
}

/// A path that means the same in every folder: kernels are compiled in their crates' folders. A bare
/// name stays one, to be looked up in `PATH`.
fn callable(nvcc: PathBuf) -> PathBuf {
    if nvcc.components().count() < 2 {
        return nvcc;
    }
    std::path::absolute(&nvcc).unwrap_or(nvcc)
}

/// The compiler to use; fetches the pinned one when the machine has none that is new enough.
pub(crate) fn find(workspace: &Workspace) -> Result<Toolkit> {
    require_host_compiler()?;
    let (found, rejected) = look(workspace);
    for Rejected { nvcc, origin, why } in rejected {
        eprintln!("note: {} (from {origin}) is not used: {why}", nvcc.display());
    }
    if let Some(toolkit) = found {
        return Ok(toolkit);
    }
    COMPILER.install(workspace)?;
    look(workspace).0.ok_or_else(|| Error::Wheels { folder: COMPILER.folder(workspace) })
}

impl Toolkit {
    /// A program beside the compiler, or among the wheels (some toolkits are installed in parts).
    pub(crate) fn tool(&self, workspace: &Workspace, name: &str) -> Result<PathBuf> {
        let beside = self.nvcc.with_file_name(name);
        if beside.is_file() {
            return Ok(beside);
        }
        self.wheel_file(workspace, &format!("bin/{name}"))
    }

    /// NVRTC's shared library.
    pub(crate) fn nvrtc(&self, workspace: &Workspace) -> Result<PathBuf> {
        let root = self.nvcc.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let beside = ["lib64", "lib"].map(|folder| root.join(folder).join("libnvrtc.so.13"));
        if let Some(found) = beside.into_iter().find(|path| path.is_file()) {
            return Ok(found);
        }
        self.wheel_file(workspace, "lib/libnvrtc.so.13")
    }

    fn wheel_file(&self, workspace: &Workspace, relative: &str) -> Result<PathBuf> {
        COMPILER.install(workspace)?;
        let path = self.wheels.join(relative);
        if path.is_file() {
            return Ok(path);
        }
        Err(Error::Tool { tool: relative.to_owned(), nvcc: self.nvcc.clone() })
    }
}

/// The memory checker, fetched when the machine has none. Returns its program.
pub(crate) fn sanitizer(workspace: &Workspace) -> Result<PathBuf> {
    let set: &WheelSet = &install::SANITIZER;
    set.install(workspace)?;
    let path = set.root(workspace).join("compute-sanitizer/compute-sanitizer");
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::Tool { tool: "compute-sanitizer".into(), nvcc: set.root(workspace) })
}

/// The formatter of device code, fetched when it is not there: what another version makes of the same
/// rules differs. Returns its program.
pub(crate) fn clang_format(workspace: &Workspace) -> Result<PathBuf> {
    let set: &WheelSet = &install::FORMATTER;
    set.install(workspace)?;
    let path = set.root(workspace).join("clang-format");
    if path.is_file() {
        return Ok(path);
    }
    let folder = set.root(workspace);
    Err(Error::Refusal(format!("{} has no clang-format; delete the folder and run again", folder.display())))
}

/// Every program of that name in the folders of `PATH`.
pub(crate) fn on_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let name = name.to_owned();
    folders.into_iter().map(move |folder| folder.join(&name)).filter(|file| file.is_file())
}

/// nvcc preprocesses with the host's compiler, device code alone included.
fn require_host_compiler() -> Result<()> {
    let mut command = Command::new("g++");
    command.arg("--version");
    process::output(command).map(drop).map_err(|_| Error::HostCompiler)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_do_not_depend_on_the_folder_and_names_stay_names() {
        assert!(callable("toolkit/bin/nvcc".into()).is_absolute());
        assert!(callable("./nvcc".into()).is_absolute());
        assert_eq!(callable("nvcc".into()), Path::new("nvcc"));
        assert_eq!(callable("/opt/bin/nvcc".into()), Path::new("/opt/bin/nvcc"));
    }
}
