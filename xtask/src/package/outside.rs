//! Programs outside the workspace, each of which depends on one packed crate.

use super::machine::{Machine, write};
use crate::error::Result;
use crate::process::output;
use crate::tally::Tally;
use crate::test::test_command;
use crate::toolkit;
use crate::workspace::Workspace;

/// A program that uses one crate.
struct Case {
    name: &'static str,
    package: &'static str,
    /// What stands behind the version in the program's manifest.
    features: &'static str,
    /// What the program uses besides.
    also: &'static str,
    program: &'static str,
    /// Packages that must not be built for it.
    forbidden: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "data-of-fa3-sys",
        package: "fa3-sys",
        features: ", default-features = false",
        also: "",
        program: include_str!("../../outside/fa3_sys_data.rs"),
        forbidden: &["cudarc", "libloading", "sha2", "tracing", "fa3", "fa3-tma", "fa3-kernels"],
    },
    Case {
        name: "driver-of-fa3-sys",
        package: "fa3-sys",
        features: "",
        also: "",
        program: include_str!("../../outside/fa3_sys_driver.rs"),
        forbidden: &["fa3", "fa3-tma", "fa3-kernels"],
    },
    Case {
        name: "ring-of-fa3-tma",
        package: "fa3-tma",
        features: "",
        also: "",
        program: include_str!("../../outside/fa3_tma.rs"),
        forbidden: &["cudarc", "libloading", "fa3", "fa3-kernels"],
    },
    Case {
        name: "table-of-fa3-kernels",
        package: "fa3-kernels",
        features: "",
        also: "",
        program: include_str!("../../outside/fa3_kernels.rs"),
        forbidden: &["cudarc", "libloading", "fa3"],
    },
    Case {
        name: "programs-of-fa3-emu",
        package: "fa3-emu",
        features: ", default-features = false",
        also: "",
        program: include_str!("../../outside/fa3_emu.rs"),
        forbidden: &["cudarc", "libloading", "clap", "serde_json", "rand", "fa3", "fa3-tma", "fa3-kernels"],
    },
    Case {
        name: "cpu-of-fa3",
        package: "fa3",
        features: ", default-features = false, features = [\"cpu\"]",
        also: "",
        program: include_str!("../../outside/fa3_cpu.rs"),
        forbidden: &["cudarc", "libloading"],
    },
    Case {
        name: "emulator-of-fa3",
        package: "fa3",
        features: ", default-features = false, features = [\"emu\"]",
        also: "",
        program: include_str!("../../outside/fa3_emulated.rs"),
        forbidden: &["cudarc", "libloading", "gemm", "rayon", "clap"],
    },
    Case {
        name: "kernels-of-fa3",
        package: "fa3",
        features: ", features = [\"emu\"]",
        also: "half = \"2\"\n",
        program: include_str!("../../outside/fa3_kernels_agree.rs"),
        forbidden: &["clap", "proptest", "criterion"],
    },
    Case {
        name: "default-of-fa3",
        package: "fa3",
        features: "",
        also: "",
        program: include_str!("../../outside/fa3_default.rs"),
        forbidden: &["fa3-emu", "proptest", "criterion", "rand_pcg", "clap", "safetensors"],
    },
];

pub(super) fn run(workspace: &Workspace, machine: &Machine) -> Result<Tally> {
    let mut tally = Tally::default();
    for case in CASES {
        tally += use_crate(workspace, machine, case)?;
    }
    tally += compile_headers(workspace, machine)?;
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
fn use_crate(workspace: &Workspace, machine: &Machine, case: &Case) -> Result<Tally> {
    let Case { name, package, features, also, program, forbidden } = case;
    println!("\n-- {name}: {package}{features}");
    let folder = machine.dependant(workspace, name, (package, features), also)?;
    write(&folder.join("tests/program.rs"), program)?;
    let mut tally = test_command(machine.cargo(&folder, &["test", "--quiet", "--test", "program"]))?;
    let tree =
        machine.cargo(&folder, &["tree", "--quiet", "--edges=normal,build", "--prefix=none", "--format={p}"]);
    let found = present(&output(tree)?, forbidden);
    if !found.is_empty() {
        println!("FAILED: {package} must not need {}", found.join(", "));
    }
    tally += Tally::of(found.is_empty());
    Ok(tally)
}

/// The one program whose build script has nvcc: it finds the headers of the packed `fa3-tma` and compiles
/// the kernel of its README with them.
fn compile_headers(workspace: &Workspace, machine: &Machine) -> Result<Tally> {
    println!("\n-- headers-of-fa3-tma: fa3-tma, with nvcc");
    let folder = machine.dependant(workspace, "headers-of-fa3-tma", ("fa3-tma", ""), "")?;
    write(&folder.join("build.rs"), include_str!("../../outside/fa3_tma_nvcc/build.rs"))?;
    write(&folder.join("rows.cu"), include_str!("../../../fa3-tma/tests/device/ring.cu"))?;
    write(&folder.join("tests/program.rs"), include_str!("../../outside/fa3_tma_nvcc/program.rs"))?;
    let mut test = machine.cargo(&folder, &["test", "--quiet", "--test", "program"]);
    // A compiler that is named without its folder is on PATH.
    test.env("NVCC", toolkit::find(workspace)?.nvcc)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    test_command(test)
}

/// Those of `forbidden` that a list of packages, one a line, begins a line with.
fn present(tree: &str, forbidden: &[&'static str]) -> Vec<&'static str> {
    let built: Vec<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    forbidden.iter().copied().filter(|name| built.contains(name)).collect()
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
