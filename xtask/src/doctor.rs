//! `cargo xtask doctor`: what is there, what is missing, and what to do.

use std::fs;
use std::process::Command;

use fa3_sys::artefact::{Files, MissingReason, source_hash, source_roots, up_to_date};

use crate::error::Result;
use crate::tables;
use crate::toolkit::{self, Rejected, version::OLDEST};
use crate::workspace::Workspace;
use crate::{devices, process};

pub(crate) fn main(workspace: &Workspace) -> Result<()> {
    driver();
    compiler(workspace);
    program("g++", &["--version"], "nvcc needs it: install it (Debian, Ubuntu: `apt install g++`)");
    let pip = "needed to fetch the compiler where there is none: install it (Debian, Ubuntu: `apt install python3-pip`)";
    program("python3", &["-m", "pip", "--version"], pip);
    artefacts(workspace)
}

fn line(what: &str, is_there: bool, text: &str) {
    println!("{} {what:10} {text}", if is_there { "ok     " } else { "missing" });
}

fn driver() {
    match fa3_sys::driver::devices() {
        Err(error) => line("GPU", false, &error.to_string()),
        Ok(devices) => {
            for device in devices {
                match device.arch() {
                    Ok(arch) => line("GPU", true, &format!("{device}: kernels for {arch}")),
                    Err(error) => line("GPU", false, &format!("{device}: {error}")),
                }
            }
        }
    }
    if devices::supported().is_err() {
        println!(
            "        attention runs on the CPU here; `cargo xtask test-gpu --bundle DIR` packs the GPU tests for a machine with one"
        );
    }
}

fn compiler(workspace: &Workspace) {
    let (found, rejected) = toolkit::look(workspace);
    for Rejected { nvcc, origin, why } in rejected {
        line("nvcc", false, &format!("{} (from {origin}) is not used: {why}", nvcc.display()));
    }
    match found {
        Some(toolkit) => {
            let text = format!("{} {} (from {})", toolkit.nvcc.display(), toolkit.version, toolkit.origin);
            line("nvcc", true, &text);
        }
        None => line(
            "nvcc",
            false,
            &format!("`cargo xtask cubins` fetches one; or install CUDA {OLDEST} or newer and set CUDA_HOME"),
        ),
    }
}

fn program(name: &str, arguments: &[&str], advice: &str) {
    let mut command = Command::new(name);
    command.args(arguments);
    match process::output(command) {
        Ok(output) => line(name, true, output.lines().next().unwrap_or("")),
        Err(_) => line(name, false, advice),
    }
}

fn artefacts(workspace: &Workspace) -> Result<()> {
    for owner in tables::crates() {
        let root = workspace.root.join(owner.folder);
        let roots = source_roots(&root, &[workspace.root.join("fa3-tma/include")]);
        let (mut current, mut bytes) = (0, 0);
        let (mut unbuilt, mut stale) = (Vec::new(), Vec::new());
        for unit in &owner.units {
            for &arch in unit.arches {
                let files = Files::of(&root, arch, &unit.symbol);
                match up_to_date(&files, &source_hash(&roots, unit, arch)?) {
                    Ok(Ok(_)) => {
                        current += 1;
                        bytes += fs::metadata(&files.fatbin).map_or(0, |data| data.len());
                    }
                    Ok(Err(MissingReason::NotBuilt)) => unbuilt.push(unit.symbol.as_str()),
                    Ok(Err(MissingReason::Stale)) | Err(_) => stale.push(unit.symbol.as_str()),
                }
            }
        }
        line(
            "kernels",
            unbuilt.is_empty() && stale.is_empty(),
            &format!(
                "{}: {current} up to date ({} KiB), {} not built, {} stale",
                owner.folder,
                bytes / 1024,
                unbuilt.len(),
                stale.len()
            ),
        );
        if !(unbuilt.is_empty() && stale.is_empty()) {
            println!("        `cargo xtask cubins` builds them; the next cargo build embeds them");
        }
    }
    Ok(())
}
