//! Where things are: the workspace, its packages and their targets, as cargo tells.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::process::{cargo, stdout};

#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) license: Option<String>,
    manifest_path: PathBuf,
    pub(crate) targets: Vec<Target>,
    pub(crate) features: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    pub(crate) required_features: Vec<String>,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        // This crate lies in the workspace, so its folder finds it wherever xtask is started.
        let mut command = cargo(["metadata", "--no-deps", "--format-version", "1"]);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        let text = stdout(command)?;
        serde_json::from_str(&text).map_err(|error| Error::Answer {
            program: "cargo metadata".into(),
            why: error.to_string(),
        })
    }

    /// A `cargo` command that runs at the root.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> std::process::Command {
        let mut command = cargo(arguments);
        command.current_dir(&self.root);
        command
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// The packages that are for others to use: all but this one.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| package.name != env!("CARGO_PKG_NAME"))
    }
}

impl Package {
    pub(crate) fn root(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    pub(crate) fn has_target(&self, kind: &str, name: &str) -> bool {
        self.targets
            .iter()
            .any(|target| target.name == name && target.kind.iter().any(|found| found == kind))
    }
}
