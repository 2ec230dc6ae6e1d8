//! Making the `.crate` files.

use std::path::PathBuf;
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::output;
use crate::workspace::{Package, Workspace};

/// Packs every library of the workspace, in the order of their dependencies.
pub(super) fn pack(workspace: &Workspace, allow_dirty: bool) -> Result<()> {
    if !allow_dirty {
        refuse_changes(workspace)?;
    }
    // Each is built from its `.crate` afterwards, and more thoroughly than cargo would. For a lock file, cargo
    // before 1.90 looks in the registry for the packages that are not there yet; dependants use their own.
    let mut command = workspace.cargo(["package", "--no-verify", "--exclude-lockfile", "--quiet"]);
    for package in workspace.libraries() {
        command.args(["--package", &package.name]);
    }
    // Cargo takes the artefacts, which git ignores, for changes that are not committed.
    command.arg("--allow-dirty");
    output(command).map(drop)
}

/// What is published should be what git has.
fn refuse_changes(workspace: &Workspace) -> Result<()> {
    let mut command = Command::new("git");
    command.current_dir(&workspace.root).args(["status", "--porcelain"]);
    let changes = output(command)?;
    if changes.is_empty() {
        return Ok(());
    }
    let advice = "commit them, or pass --allow-dirty";
    Err(Error::Refusal(format!("files are changed and not committed; {advice}:\n{}", changes.trim_end())))
}

/// Where cargo puts the `.crate` of a package.
pub(super) fn archive(workspace: &Workspace, package: &Package) -> PathBuf {
    workspace.target.join("package").join(format!("{}-{}.crate", package.name, package.version))
}
