//! `cargo xtask cubins`: builds every kernel of the tables, and prints what each one takes.

mod table;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fa3_sys::Arch;
use fa3_sys::artefact::manifest::folder;
use fa3_sys::artefact::{Files, Missing, source_hash, source_roots, up_to_date};
use rayon::prelude::*;

use crate::compile::{self, Job, verify};
use crate::error::{At, Error, Result};
use crate::parameters;
use crate::tables::{self, KernelCrate};
use crate::toolkit::{self, Toolkit};
use crate::workspace::Workspace;
pub(crate) use table::Row;

/// Builds the kernels: compiles what is not up to date, in parallel, and prints the resource
/// table. Fails on a spill, a stack frame, any assembler advisory or warning, and on machine code
/// that lacks an instruction the kernel is built around.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Only this architecture: sm_90a or sm_100a.
    #[arg(long)]
    pub(crate) arch: Option<Arch>,
    /// Only kernels whose name contains this.
    #[arg(long, value_name = "SUBSTRING")]
    pub(crate) only: Option<String>,
    /// Build nothing; fail when an artefact is missing, stale or lacks an instruction.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Prints the resource table. Returns how many kernels were built or found up to date.
pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<usize> {
    let rows = build(workspace, arguments)?;
    println!("{}", table::render(&rows));
    Ok(rows.len())
}

/// Builds or checks the selected kernels, and writes the resource table into the target folder.
pub(crate) fn build(workspace: &Workspace, arguments: &Arguments) -> Result<Vec<Row>> {
    let toolkit = toolkit::find(workspace)?;
    eprintln!("compiler: {} {} (from {})", toolkit.nvcc.display(), toolkit.version, toolkit.origin);
    let crates = tables::crates();
    for owner in &crates {
        parameters::check(workspace, &toolkit, owner)?;
    }
    let jobs = select(workspace, &crates, arguments)?;
    if jobs.is_empty() {
        if let Some(text) = &arguments.only {
            let arch = arguments.arch.map(|arch| format!(" for {arch}")).unwrap_or_default();
            return Err(Error::NoSuchKernel { text: text.clone(), arch });
        }
        eprintln!(
            "the tables have no kernel{}",
            arguments.arch.map(|arch| format!(" for {arch}")).unwrap_or_default()
        );
        return Ok(Vec::new());
    }
    if arguments.arch.is_none() && arguments.only.is_none() {
        remove_unlisted(workspace, &crates)?;
    }
    let rows = if arguments.check {
        check(workspace, &toolkit, &jobs)?
    } else {
        build_all(workspace, &toolkit, &jobs)?
    };
    let path = workspace.target.join("fa3-cubins/resources.txt");
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).at(parent)?;
    }
    fs::write(&path, format!("{}\n", table::render(&rows))).at(&path)?;
    Ok(rows)
}

/// The selected kernels with the hashes of their sources.
fn select(workspace: &Workspace, crates: &[KernelCrate], arguments: &Arguments) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for owner in crates {
        let roots =
            source_roots(&workspace.root.join(owner.folder), &[workspace.root.join("fa3-tma/include")]);
        for unit in &owner.units {
            if arguments.only.as_ref().is_some_and(|text| !unit.symbol.contains(text.as_str())) {
                continue;
            }
            for &arch in unit.arches.iter().filter(|arch| arguments.arch.is_none_or(|only| only == **arch)) {
                let hash = source_hash(&roots, unit, arch)?;
                jobs.push(Job { folder: owner.folder, unit: unit.clone(), arch, hash });
            }
        }
    }
    Ok(jobs)
}

fn files(workspace: &Workspace, job: &Job) -> Files {
    Files::of(&workspace.root.join(job.folder), job.arch, &job.unit.symbol)
}

fn build_all(workspace: &Workspace, toolkit: &Toolkit, jobs: &[Job]) -> Result<Vec<Row>> {
    let begin = Instant::now();
    let done = AtomicUsize::new(0);
    let results: Vec<Result<Row>> = jobs
        .par_iter()
        .map(|job| {
            // A manifest that cannot be read is replaced like a stale one.
            let (resources, cost) = match up_to_date(&files(workspace, job), &job.hash) {
                Ok(Ok(manifest)) => (manifest.resources, None),
                Ok(Err(_)) | Err(_) => {
                    let (resources, cost) = compile::build(workspace, toolkit, job)?;
                    (resources, Some(cost))
                }
            };
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(cost) = cost {
                let seconds = cost.elapsed.as_secs_f64();
                eprintln!("[{count}/{}] {} {} in {seconds:.1} s", jobs.len(), job.unit.symbol, job.arch);
            }
            Row::new(job, resources, cost, &files(workspace, job))
        })
        .collect();
    let mut rows = Vec::new();
    let mut failed = 0;
    for result in results {
        match result {
            Ok(row) => rows.push(row),
            Err(error) => {
                failed += 1;
                eprintln!("error: {error}");
            }
        }
    }
    if failed > 0 {
        return Err(Error::Kernels { count: failed });
    }
    let built = rows.iter().filter(|row| row.cost.is_some()).count();
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!("{built} kernels built, {} up to date, {seconds:.1} s", rows.len() - built);
    Ok(rows)
}

fn check(workspace: &Workspace, toolkit: &Toolkit, jobs: &[Job]) -> Result<Vec<Row>> {
    let results: Vec<Result<Row>> = jobs
        .par_iter()
        .map(|job| {
            let files = files(workspace, job);
            match up_to_date(&files, &job.hash)? {
                Ok(manifest) => {
                    verify(workspace, toolkit, job)?;
                    Row::new(job, manifest.resources, None, &files)
                }
                Err(why) => {
                    let symbol = job.unit.symbol.clone().leak();
                    Err(Error::Refusal(Missing { symbol, arch: job.arch, why }.to_string()))
                }
            }
        })
        .collect();
    results.into_iter().collect()
}

/// Deletes artefacts of kernels that are no longer in a table.
fn remove_unlisted(workspace: &Workspace, crates: &[KernelCrate]) -> Result<()> {
    for owner in crates {
        let root = workspace.root.join(owner.folder);
        for arch in Arch::ALL {
            let keep: Vec<PathBuf> = owner
                .units
                .iter()
                .filter(|unit| unit.arches.contains(&arch))
                .map(|unit| Files::of(&root, arch, &unit.symbol))
                .flat_map(|files| [files.cubin, files.fatbin, files.ptx, files.manifest])
                .collect();
            let folder = folder(&root).join(arch.target());
            if !folder.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&folder).at(&folder)? {
                let path = entry.at(&folder)?.path();
                if !keep.contains(&path) {
                    fs::remove_file(&path).at(&path)?;
                }
            }
        }
    }
    Ok(())
}
