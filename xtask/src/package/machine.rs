//! A machine as a user has it: without nvcc, without this repository's settings, and once the registry's
//! crates are fetched, without network.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{At, Error, Result};
use crate::process::{cargo, output};
use crate::workspace::Workspace;

/// Where build scripts look for CUDA, and what this workspace's `.cargo/config.toml` sets.
const VARIABLES: [&str; 6] =
    ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDARC_CUDA_VERSION", "NVCC"];

pub(super) struct Machine {
    /// The unpacked crates, a folder each, outside the workspace and its configuration.
    pub(super) crates: PathBuf,
    /// The programs that use them.
    pub(super) programs: PathBuf,
    /// What cargo builds for both. Kept from call to call.
    target: PathBuf,
    /// `PATH`, without nvcc.
    path: OsString,
    lock: PathBuf,
}

impl Machine {
    pub(super) fn prepare(workspace: &Workspace) -> Result<Self> {
        // The same folders at every call, so that cargo finds what it has built.
        let mut hasher = DefaultHasher::new();
        workspace.root.hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("fa3-package-{:016x}", hasher.finish()));
        let path = without_nvcc(&std::env::var_os("PATH").unwrap_or_default(), &folder.join("path"))?;
        output(workspace.cargo(["fetch", "--locked"]))?;
        Ok(Self {
            crates: folder.join("crates"),
            programs: folder.join("programs"),
            target: workspace.target.join("fa3-outside"),
            path,
            lock: workspace.root.join("Cargo.lock"),
        })
    }

    /// Cargo, in a package of this machine.
    pub(super) fn cargo(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = cargo(arguments);
        command.current_dir(folder).env("PATH", &self.path);
        command.env("CARGO_TARGET_DIR", &self.target).env("CARGO_NET_OFFLINE", "true");
        // Nobody debugs these programs, and they are many.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        command
    }

    /// Makes a package that depends on one of the crates as on one of the registry, with these features behind
    /// the version, and on what the lines of `also` say. What the registry would answer for this workspace's
    /// packages is replaced by the unpacked ones.
    pub(super) fn dependant(
        &self,
        workspace: &Workspace,
        name: &str,
        (package, features): (&str, &str),
        also: &str,
    ) -> Result<PathBuf> {
        let folder = self.programs.join(name);
        let version = &workspace.package(package)?.version;
        let mut manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{package} = {{ version = \"{version}\"{features} }}\n{also}\n[patch.crates-io]\n"
        );
        for library in workspace.libraries() {
            let path = self.crates.join(&library.name);
            manifest.push_str(&format!("{} = {{ path = {path:?} }}\n", library.name));
        }
        write(&folder.join("Cargo.toml"), &manifest)?;
        write(&folder.join("src/lib.rs"), "")?;
        // The same versions as in the workspace.
        let lock = folder.join("Cargo.lock");
        fs::copy(&self.lock, &lock).at(&lock)?;
        Ok(folder)
    }
}

/// Writes a file unless that is what it holds, and the folders it lies in.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).at(folder)?;
    fs::write(path, text).at(path)
}

/// `PATH` without nvcc. In place of a folder that has one stands a folder, under `links`, of links to all
/// else in it: a distribution's nvcc lies beside the linker.
fn without_nvcc(path: &OsString, links: &Path) -> Result<OsString> {
    if links.exists() {
        fs::remove_dir_all(links).at(links)?;
    }
    let mut folders = Vec::new();
    for (index, folder) in std::env::split_paths(path).enumerate() {
        if !folder.join("nvcc").is_file() {
            folders.push(folder);
            continue;
        }
        let replaced = links.join(index.to_string());
        fs::create_dir_all(&replaced).at(&replaced)?;
        for entry in fs::read_dir(&folder).at(&folder)? {
            let entry = entry.at(&folder)?;
            if entry.file_name() != "nvcc" {
                let link = replaced.join(entry.file_name());
                symlink(entry.path(), &link).at(&link)?;
            }
        }
        folders.push(replaced);
    }
    std::env::join_paths(folders).map_err(|error| Error::Refusal(format!("PATH: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nvcc_disappears() {
        let root = std::env::temp_dir().join(format!("xtask-path-{}", std::process::id()));
        for file in ["a/nvcc", "a/ld", "b/cc"] {
            write(&root.join(file), "").unwrap();
        }
        let path = std::env::join_paths([root.join("a"), root.join("b"), root.join("none")]).unwrap();
        let found = without_nvcc(&path, &root.join("links")).unwrap();
        let folders: Vec<PathBuf> = std::env::split_paths(&found).collect();
        assert_eq!(folders, [root.join("links/0"), root.join("b"), root.join("none")]);
        let names = |folder: &Path| -> Vec<OsString> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        assert_eq!(names(&folders[0]), ["ld"]);
        assert_eq!(names(&folders[1]), ["cc"]);
        fs::remove_dir_all(root).unwrap();
    }
}
