//! `cargo xtask sweep`: forward kernels of other tiles than the table's, timed in turns with the table's.

mod variants;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use fa3_sys::Arch;
use rayon::prelude::*;

use crate::bench::compare;
use crate::error::{At, Error, Result};
use crate::process::pass_through;
use crate::tables::fa3_kernels_table::ForwardKernel;
use crate::toolkit::{self, Toolkit};
use crate::workspace::Workspace;
use crate::{compile, devices, parameters, tables};
use variants::Variant;

/// The crate whose table is swept.
const PACKAGE: &str = "fa3-kernels";
const ARCH: Arch = Arch::Sm90a;
/// The variants, in a bundle's folder; their machine code lies beside it.
const FILE: &str = "variants.json";

/// Times bf16 forward kernels of every combination of the values given, in turns with what planning
/// chooses ("ours"), and prints TFLOP/s: a row a kernel, a column a cell. What is given no value is as in
/// the table, one kernel for each of its rows with such heads.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The width of heads: 128, or 192x128 where those of V differ.
    #[arg(long, value_parser = variants::heads)]
    heads: (u32, u32),
    #[command(flatten)]
    values: variants::Values,
    #[command(flatten)]
    timing: compare::Timing,
    /// Time nothing; pack kernels, server and scripts into this folder, for a GPU machine without Rust.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
}

pub(crate) fn main(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { heads, values, timing, bundle } = arguments;
    let variants = values.variants(*heads)?;
    if let Some(folder) = bundle {
        let call = compare::pack(workspace, folder, timing)?;
        let built = build(workspace, &variants, folder)?;
        write(&built, folder)?;
        println!(
            "{}: {} variants; on the GPU machine: {call} --peers none --variants {FILE}",
            folder.display(),
            built.len()
        );
        return Ok(ExitCode::SUCCESS);
    }
    devices::require(workspace)?;
    let server = compare::server(workspace)?;
    let folder = workspace.target.join("fa3-sweep");
    let file = write(&build(workspace, &variants, &folder)?, &folder)?;
    let mut command = compare::script(workspace, timing, &server);
    command.args(["--peers", "none", "--variants"]).arg(&file);
    pass_through(command)
}

fn write(variants: &[&Variant], folder: &Path) -> Result<PathBuf> {
    let file = folder.join(FILE);
    fs::write(&file, variants::json(variants)).at(&file)?;
    Ok(file)
}

/// Compiles the variants whose kernel is not in the table, and returns those that are in order. The others
/// are named with the reason.
fn build<'a>(workspace: &Workspace, variants: &'a [Variant], folder: &Path) -> Result<Vec<&'a Variant>> {
    let toolkit = toolkit::find(workspace)?;
    for owner in tables::crates().iter().filter(|owner| owner.folder == PACKAGE) {
        parameters::check(workspace, &toolkit, owner)?;
    }
    fs::create_dir_all(folder).at(folder)?;
    let own: Vec<&Variant> = variants.iter().filter(|variant| variant.image().is_some()).collect();
    let done = AtomicUsize::new(0);
    let refused: Vec<(&str, Error)> = own
        .par_iter()
        .filter_map(|variant| {
            let result = build_one(workspace, &toolkit, variant, folder);
            eprintln!("[{}/{}] {}", done.fetch_add(1, Ordering::Relaxed) + 1, own.len(), variant.name);
            result.err().map(|error| (variant.name.as_str(), error))
        })
        .collect();
    for (name, why) in &refused {
        eprintln!("without {name}: {}", brief(why));
    }
    let built: Vec<_> =
        variants.iter().filter(|variant| refused.iter().all(|(name, _)| *name != variant.name)).collect();
    if built.is_empty() {
        return Err(Error::Refusal("no variant is left: the reasons are above".to_owned()));
    }
    Ok(built)
}

/// Of what a compiler says, the line that says what is wrong.
fn brief(why: &Error) -> String {
    let Error::Refused { reasons, folder, .. } = why else { return why.to_string() };
    let lines = || reasons.iter().flat_map(|reason| reason.lines()).map(str::trim);
    let line = lines().find(|line| line.contains("error")).or_else(|| lines().next()).unwrap_or_default();
    format!("{line} (in {})", folder.display())
}

fn build_one(workspace: &Workspace, toolkit: &Toolkit, variant: &Variant, folder: &Path) -> Result<()> {
    let Some(image) = variant.image() else { return Ok(()) };
    let most = ARCH.max_shared_bytes();
    let kernel: &ForwardKernel = &variant.kernel;
    if kernel.shared_bytes() > most {
        let bytes = kernel.shared_bytes();
        return Err(Error::Refusal(format!("{bytes} bytes of shared memory, and a CTA has {most}")));
    }
    let scratch = workspace.target.join("fa3-sweep").join(image.trim_end_matches(".fatbin"));
    let assembled = compile::assemble(workspace, toolkit, PACKAGE, &kernel.unit(), ARCH, &scratch)?;
    let path = folder.join(image);
    fs::copy(&assembled.fatbin, &path).at(&path).map(drop)
}
