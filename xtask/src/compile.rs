//! Compiling one kernel for one architecture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fa3_sys::Arch;
use fa3_sys::artefact::{Files, Manifest, Resources, Unit};

use crate::error::{At, Error, Result};
use crate::parameters::include_folder;
use crate::toolkit::Toolkit;
use crate::workspace::Workspace;
use crate::{process, ptxas, sass};

/// The dialect and optimisation of all device code.
pub(crate) const LANGUAGE: [&str; 2] = ["-std=c++17", "-O3"];

/// One kernel to be built.
pub(crate) struct Job {
    pub(crate) folder: &'static str,
    pub(crate) unit: Unit,
    pub(crate) arch: Arch,
    /// What the artefact will be known by, see [`fa3_sys::artefact::source_hash`].
    pub(crate) hash: String,
}

/// What building it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) elapsed: Duration,
    pub(crate) peak_bytes: u64,
}

/// A kernel that was compiled and found to be in order.
pub(crate) struct Assembled {
    ptx: String,
    cubin: PathBuf,
    /// The machine code, compressed.
    pub(crate) fatbin: PathBuf,
    resources: Resources,
    cost: Cost,
}

/// Compiles a kernel and installs the artefact's files. One that is refused leaves no artefact.
pub(crate) fn build(workspace: &Workspace, toolkit: &Toolkit, job: &Job) -> Result<(Resources, Cost)> {
    let Job { folder: package, unit, arch, hash } = job;
    let installed = Files::of(&workspace.root.join(package), *arch, &unit.symbol);
    // The manifest makes the artefact; it goes first and comes back last.
    if installed.manifest.exists() {
        fs::remove_file(&installed.manifest).at(&installed.manifest)?;
    }
    let assembled = assemble(workspace, toolkit, package, unit, *arch, &scratch(workspace, job))?;
    let Assembled { ptx, cubin, fatbin, resources, cost } = assembled;
    let manifest =
        Manifest { symbol: unit.symbol.clone(), arch: *arch, source_hash: hash.clone(), resources };
    let target = installed.cubin.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&target).at(&target)?;
    fs::copy(&cubin, &installed.cubin).at(&installed.cubin)?;
    fs::copy(&fatbin, &installed.fatbin).at(&installed.fatbin)?;
    fs::write(&installed.ptx, ptx).at(&installed.ptx)?;
    fs::write(&installed.manifest, manifest.to_string()).at(&installed.manifest)?;
    Ok((resources, cost))
}

/// Compiles to PTX, assembles that PTX, checks the result and compresses it, all in `folder`.
pub(crate) fn assemble(
    workspace: &Workspace,
    toolkit: &Toolkit,
    package: &str,
    unit: &Unit,
    arch: Arch,
    folder: &Path,
) -> Result<Assembled> {
    fs::create_dir_all(folder).at(folder)?;
    let (ptx, cubin) = (folder.join("kernel.ptx"), folder.join("kernel.cubin"));
    let mut command = Command::new(&toolkit.nvcc);
    let virtual_target = arch.virtual_target();
    command.current_dir(workspace.root.join(package)).args(LANGUAGE).args(["-ptx", "-lineinfo"]);
    command.arg(format!("-gencode=arch={virtual_target},code={virtual_target}"));
    command.args(include_flags(workspace, package));
    command.arg(format!("-DFA3_SYMBOL={}", unit.symbol));
    command.args(unit.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    command.arg("-o").arg(&ptx).arg(unit.source);
    let compiled = process::measure(command)?;
    let refuse =
        |reasons| Error::Refused { symbol: unit.symbol.clone(), arch, reasons, folder: folder.to_path_buf() };
    if !compiled.status.success() {
        return Err(refuse(vec![compiled.output]));
    }
    let text = fs::read_to_string(&ptx).at(&ptx)?;
    // Line information names files by absolute paths, which would differ from machine to machine.
    let text = text.replace(&format!("\"{}/", workspace.root.display()), "\"");
    fs::write(&ptx, &text).at(&ptx)?;

    let mut command = Command::new(&toolkit.nvcc);
    command.current_dir(folder).args(["-cubin", "-lineinfo", "--ptxas-options=-v"]);
    command.arg(format!("-gencode=arch={virtual_target},code={}", arch.target()));
    command.args(["-o", "kernel.cubin", "kernel.ptx"]);
    let assembled = process::measure(command)?;
    let report = ptxas::parse(&format!("{}{}", compiled.output, assembled.output), &unit.symbol);
    if !assembled.status.success() {
        return Err(refuse(vec![assembled.output]));
    }
    let mut reasons = report.complaints;
    reasons.extend(missing_instructions(workspace, toolkit, &cubin, unit)?);
    if !reasons.is_empty() {
        return Err(refuse(reasons));
    }
    let fatbin = folder.join("kernel.fatbin");
    compress(workspace, toolkit, &cubin, arch, &fatbin)?;
    let cost = Cost {
        elapsed: compiled.elapsed + assembled.elapsed,
        peak_bytes: compiled.peak_bytes.max(assembled.peak_bytes),
    };
    Ok(Assembled { ptx: text, cubin, fatbin, resources: report.resources, cost })
}

/// Wraps a cubin into a fat binary as small as it gets; the driver unpacks it when it loads it (CUDA Compiler
/// Driver NVCC, "--compress-mode").
fn compress(workspace: &Workspace, toolkit: &Toolkit, cubin: &Path, arch: Arch, fatbin: &Path) -> Result<()> {
    let mut command = Command::new(toolkit.tool(workspace, "fatbinary")?);
    command.args(["-64", "--compress-mode=size"]).arg(format!("--create={}", fatbin.display()));
    let sm = arch.target().trim_start_matches("sm_");
    command.arg(format!("--image3=kind=elf,sm={sm},file={}", cubin.display()));
    process::output(command).map(drop)
}

/// Checks an artefact that is already there.
pub(crate) fn verify(workspace: &Workspace, toolkit: &Toolkit, job: &Job) -> Result<()> {
    let installed = Files::of(&workspace.root.join(job.folder), job.arch, &job.unit.symbol);
    let reasons = missing_instructions(workspace, toolkit, &installed.cubin, &job.unit)?;
    if reasons.is_empty() {
        return Ok(());
    }
    let folder = installed.cubin.parent().map(PathBuf::from).unwrap_or_default();
    Err(Error::Refused { symbol: job.unit.symbol.clone(), arch: job.arch, reasons, folder })
}

fn missing_instructions(
    workspace: &Workspace,
    toolkit: &Toolkit,
    cubin: &Path,
    unit: &Unit,
) -> Result<Vec<String>> {
    if unit.expect_sass.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = Command::new(toolkit.tool(workspace, "nvdisasm")?);
    command.arg("-c").arg(cubin);
    let disassembly = process::output(command)?;
    let missing = sass::missing(&disassembly, unit.expect_sass);
    Ok(missing.into_iter().map(|opcode| format!("its machine code has no {opcode}")).collect())
}

/// Where headers are found: the crate's own, those of `fa3-tma`, and the generated ones.
pub(crate) fn include_flags(workspace: &Workspace, package: &str) -> Vec<String> {
    let root = workspace.root.join(package);
    let folders = [
        root.join("kernels"),
        root.join("include"),
        workspace.root.join("fa3-tma/include"),
        include_folder(workspace, package),
    ];
    let mut flags: Vec<String> = folders.iter().map(|folder| format!("-I{}", folder.display())).collect();
    flags.dedup();
    flags.push("-DFA3_PARAMS_CHECK".to_owned());
    flags
}

/// Where the compiler's output lies before it is checked.
fn scratch(workspace: &Workspace, job: &Job) -> PathBuf {
    workspace.target.join("fa3-cubins").join(job.folder).join(job.arch.target()).join(&job.unit.symbol)
}
