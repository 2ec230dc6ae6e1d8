//! `cargo xtask package`: the crates as they are published, with their kernels inside, and the proof that
//! they work where this repository, nvcc and the network are not.

mod contents;
mod documentation;
mod machine;
mod outside;
mod pack;
mod unpack;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cubins;
use crate::error::{At, Result};
use crate::tally::Tally;
use crate::workspace::Workspace;

/// Packs each library crate with its kernels into a `.crate`, and uses them as others would: programs
/// outside the workspace, without nvcc (but for one that compiles a kernel of its own with fa3-tma's headers),
/// that depend on what was packed; and the documentation as docs.rs builds it, from sources that it may not
/// write to, without network. Fails for a `.crate` of 10 MB or more.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Where to put the `.crate` files besides `target/package`.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also when files of git are changed and not committed.
    #[arg(long)]
    allow_dirty: bool,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let tally = check(workspace, arguments)?;
    if let Some(out) = &arguments.out {
        fs::create_dir_all(out).at(out)?;
        for package in workspace.libraries() {
            let from = pack::archive(workspace, package);
            let to = out.join(from.file_name().unwrap_or_default());
            fs::copy(&from, &to).at(&to)?;
        }
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    Ok(if tally.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The part of `cargo xtask test`.
pub(crate) fn test(workspace: &Workspace) -> Result<Tally> {
    check(workspace, &Arguments { out: None, allow_dirty: true })
}

fn check(workspace: &Workspace, arguments: &Arguments) -> Result<Tally> {
    cubins::build(workspace, &cubins::Arguments::default())?;
    pack::pack(workspace, arguments.allow_dirty)?;
    let machine = machine::Machine::prepare(workspace)?;
    let mut tally = Tally::default();
    let mut table = contents::Table::default();
    let mut unpacked = Vec::new();
    for package in workspace.libraries() {
        let archive = pack::archive(workspace, package);
        let folder = machine.crates.join(&package.name);
        let files = unpack::unpack(&archive, &folder)?;
        let bytes = fs::metadata(&archive).at(&archive)?.len();
        table.add(&package.name, bytes, &files);
        for violation in contents::violations(&package.name, bytes, &files) {
            println!("FAILED: {violation}");
            tally += Tally::failed(1);
        }
        tally += Tally::passed(1);
        unpacked.push((folder, files));
    }
    println!("{table}");
    tally += outside::run(workspace, &machine)?;
    tally += documentation::run(workspace, &machine)?;
    for (folder, files) in unpacked {
        let unchanged = unpack::files(&folder)? == files;
        if !unchanged {
            println!("FAILED: a build wrote into {}", folder.display());
        }
        tally += Tally::of(unchanged);
    }
    Ok(tally)
}
