//! Each crate alone. A workspace build unites the features of all members, which hides what a
//! crate forgot to ask for; so each one is tested by itself, and used by a small program that
//! lies outside the workspace and depends on nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::suites::test_command;
use crate::error::{At, Result};
use crate::process::{cargo, output};
use crate::tally::Tally;
use crate::toolkit::on_path;
use crate::workspace::Workspace;

/// A program that uses one crate.
struct Case {
    name: &'static str,
    package: &'static str,
    /// What stands behind the path in the program's manifest.
    features: &'static str,
    program: &'static str,
    /// Packages that must not be built for it.
    forbidden: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "data-of-fa3-sys",
        package: "fa3-sys",
        features: ", default-features = false",
        program: include_str!("../../outside/fa3_sys_data.rs"),
        forbidden: &["cudarc", "libloading", "sha2", "tracing", "fa3", "fa3-tma", "fa3-kernels"],
    },
    Case {
        name: "driver-of-fa3-sys",
        package: "fa3-sys",
        features: "",
        program: include_str!("../../outside/fa3_sys_driver.rs"),
        forbidden: &["fa3", "fa3-tma", "fa3-kernels"],
    },
    Case {
        name: "ring-of-fa3-tma",
        package: "fa3-tma",
        features: "",
        program: include_str!("../../outside/fa3_tma.rs"),
        forbidden: &["cudarc", "libloading", "fa3", "fa3-kernels"],
    },
    Case {
        name: "table-of-fa3-kernels",
        package: "fa3-kernels",
        features: "",
        program: include_str!("../../outside/fa3_kernels.rs"),
        forbidden: &["cudarc", "libloading", "fa3"],
    },
    Case {
        name: "programs-of-fa3-emu",
        package: "fa3-emu",
        features: ", default-features = false",
        program: include_str!("../../outside/fa3_emu.rs"),
        forbidden: &["cudarc", "libloading", "clap", "serde_json", "rand", "fa3", "fa3-tma", "fa3-kernels"],
    },
    Case {
        name: "cpu-of-fa3",
        package: "fa3",
        features: ", default-features = false, features = [\"cpu\"]",
        program: include_str!("../../outside/fa3_cpu.rs"),
        forbidden: &["cudarc", "libloading"],
    },
    Case {
        name: "emulator-of-fa3",
        package: "fa3",
        features: ", default-features = false, features = [\"emu\"]",
        program: include_str!("../../outside/fa3_emulated.rs"),
        forbidden: &["cudarc", "libloading", "gemm", "rayon", "clap"],
    },
    Case {
        name: "default-of-fa3",
        package: "fa3",
        features: "",
        program: include_str!("../../outside/fa3_cpu.rs"),
        forbidden: &["fa3-emu", "proptest", "criterion", "rand_pcg", "clap", "safetensors"],
    },
];

pub(crate) fn run(workspace: &Workspace) -> Result<Tally> {
    let mut tally = Tally::default();
    for package in workspace.libraries() {
        tally += test_command(workspace.cargo(["test", "--no-fail-fast", "--package", &package.name]))?;
    }
    let folder = std::env::temp_dir().join(format!("fa3-outside-{}", std::process::id()));
    for case in CASES {
        tally += outside(workspace, case, &folder.join(case.name))?;
    }
    fs::remove_dir_all(&folder).at(&folder)?;
    for package in workspace.libraries() {
        let used = CASES.iter().any(|case| case.package == package.name);
        if !used {
            println!("FAILED: no program uses {}; add one to xtask/outside", package.name);
        }
        tally += Tally::of(used);
    }
    Ok(tally)
}

/// Writes the program, runs it, and looks at what was built for it.
fn outside(workspace: &Workspace, case: &Case, folder: &Path) -> Result<Tally> {
    let Case { name, package, features, program, forbidden } = case;
    let path = workspace.root.join(package);
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{package} = {{ path = {path:?}{features} }}\n"
    );
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    write(&folder.join("tests/program.rs"), program)?;
    // The same versions as in the workspace.
    let lock = folder.join("Cargo.lock");
    fs::copy(workspace.root.join("Cargo.lock"), &lock).at(&lock)?;

    let target = workspace.target.join("fa3-outside");
    println!("\n-- {name}: {package}{features}");
    let mut tally = test_command(command(folder, &target, &["test", "--quiet", "--test", "program"]))?;
    let tree = command(folder, &target, &["tree", "--edges=normal,build", "--prefix=none", "--format={p}"]);
    let found = present(&output(tree)?, forbidden);
    if !found.is_empty() {
        println!("FAILED: {package} must not need {}", found.join(", "));
    }
    tally += Tally::of(found.is_empty());
    Ok(tally)
}

/// Those of `forbidden` that a list of packages, one a line, begins a line with.
fn present(tree: &str, forbidden: &[&'static str]) -> Vec<&'static str> {
    let built: Vec<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    forbidden.iter().copied().filter(|name| built.contains(name)).collect()
}

fn command(folder: &Path, target: &PathBuf, arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.current_dir(folder).env("CARGO_TARGET_DIR", target);
    // What the documentation tells users of a compiler that cudarc does not know.
    if on_path("nvcc").next().is_some() {
        command.env("CUDARC_CUDA_VERSION", "13000");
    }
    command
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).at(folder)?;
    fs::write(path, text).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_count() {
        let tree = "program v0.0.0 (/x)\nfa3-sys v0.1.0 (/y)\nthiserror v2.0.0\ncudarc v0.19.10 (*)\n";
        assert_eq!(present(tree, &["cudarc", "fa3", "sha2", "fa3-sys"]), ["cudarc", "fa3-sys"]);
    }
}
