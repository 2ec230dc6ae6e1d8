//! Where things are: the workspace, its packages and their targets, as cargo tells.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::process::{cargo, stdout};

/// The feature that examples have beyond what they need.
const EMULATOR: &str = "emu";

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
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    manifest_path: PathBuf,
    pub(crate) targets: Vec<Target>,
    features: BTreeMap<String, Vec<String>>,
    /// The registries that it may go to; all, unless the manifest says.
    publish: Option<Vec<String>>,
    /// `package.metadata` of the manifest.
    #[serde(default)]
    metadata: serde_json::Value,
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
        serde_json::from_str(&text)
            .map_err(|error| Error::Answer { program: "cargo metadata".into(), why: error.to_string() })
    }

    /// A `cargo` command that runs at the root.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = cargo(arguments);
        command.current_dir(&self.root);
        command
    }

    pub(crate) fn package(&self, name: &str) -> Result<&Package> {
        let found = self.packages.iter().find(|package| package.name == name);
        found.ok_or_else(|| Error::Refusal(format!("the workspace has no package `{name}`")))
    }

    /// `cargo run` for an example of a package, optimised, with the features it asks for and, where the
    /// package has it, the emulator.
    pub(crate) fn example(&self, package: &str, name: &str) -> Result<Command> {
        self.example_command("run", package, name)
    }

    /// Any cargo command for an example. It keeps the caller's folder: paths among the arguments are
    /// relative to it.
    pub(crate) fn example_command(&self, subcommand: &str, package: &str, name: &str) -> Result<Command> {
        let owner = self.package(package)?;
        let example = owner
            .targets_of("example")
            .find(|example| example.name == name)
            .ok_or_else(|| Error::Refusal(format!("package `{package}` has no example `{name}`")))?;
        let mut command = cargo([subcommand, "--release", "--package", package, "--example", name]);
        command.arg("--manifest-path").arg(self.root.join("Cargo.toml"));
        let mut features = example.required_features.clone();
        features.extend(owner.features.contains_key(EMULATOR).then(|| EMULATOR.to_owned()));
        command.arg(format!("--features={}", features.join(",")));
        Ok(command)
    }

    /// The packages that are for others to depend on: those that can be published.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.publish.as_ref().is_none_or(|to| !to.is_empty()))
    }
}

impl Package {
    pub(crate) fn root(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// The features that docs.rs is asked to build the documentation with, beside the default ones.
    pub(crate) fn documented_features(&self) -> Vec<&str> {
        let features = self.metadata.pointer("/docs/rs/features").and_then(serde_json::Value::as_array);
        features.into_iter().flatten().filter_map(serde_json::Value::as_str).collect()
    }

    /// The targets of a kind: `test`, `bench`, `example`.
    pub(crate) fn targets_of(&self, kind: &'static str) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(move |target| target.kind.iter().any(|found| found == kind))
    }
}
