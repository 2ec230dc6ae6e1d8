//! Each device header compiles alone, for each architecture, with nvcc and with NVRTC; and every
//! instruction they wrap reaches the assembler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fa3_sys::Arch;
use rayon::prelude::*;

use super::nvrtc::Nvrtc;
use crate::compile::LANGUAGE;
use crate::error::{At, Error, Result};
use crate::tally::Tally;
use crate::toolkit::{self, Toolkit};
use crate::workspace::Workspace;
use crate::{process, ptxas};

/// The crate with headers to export, and the folder they are included from.
const INCLUDE: &str = "fa3-tma/include";
/// Calls every function of the headers.
const INSTRUCTIONS: &str = "fa3-tma/tests/device/instructions.cu";

pub(crate) fn run(workspace: &Workspace) -> Result<Tally> {
    let toolkit = toolkit::find(workspace)?;
    let include = workspace.root.join(INCLUDE);
    let headers = headers(&include)?;
    let scratch = workspace.target.join("fa3-headers");
    fs::create_dir_all(&scratch).at(&scratch)?;

    let mut tally = Tally::default();
    let refused = |why| Error::Answer { program: "NVRTC".to_owned(), why };
    let nvrtc = Nvrtc::load(&toolkit.nvrtc(workspace)?).map_err(refused)?;
    println!("NVRTC {}.{}, {} headers", nvrtc.version.0, nvrtc.version.1, headers.len());
    for arch in Arch::ALL {
        for header in &headers {
            let source = format!("#include <{header}>\nextern \"C\" __global__ void k() {{}}\n");
            let options = [
                &format!("--gpu-architecture={}", arch.target()),
                "--std=c++17",
                &format!("--include-path={}", include.display()),
            ];
            let result = nvrtc.compile(&source, &[], &options).map(drop).map_err(refused);
            tally += report(result, &format!("{header} with NVRTC for {arch}"));
        }
    }
    let cases: Vec<(Arch, &String)> =
        Arch::ALL.iter().flat_map(|arch| headers.iter().map(move |header| (*arch, header))).collect();
    let results: Vec<_> = cases
        .par_iter()
        .map(|(arch, header)| {
            let name = format!("{}-{arch}", header.replace('/', "_"));
            let source = scratch.join(format!("{name}.cu"));
            fs::write(&source, format!("#include <{header}>\n")).at(&source)?;
            compile(&toolkit, &source, *arch, &include, &scratch.join(format!("{name}.ptx")))
        })
        .collect();
    for ((arch, header), result) in cases.iter().zip(results) {
        tally += report(result, &format!("{header} with nvcc for {arch}"));
    }
    for arch in Arch::ALL {
        let output = scratch.join(format!("instructions-{arch}.cubin"));
        let result = compile(&toolkit, &workspace.root.join(INSTRUCTIONS), arch, &include, &output);
        tally += report(result, &format!("every instruction, assembled for {arch}"));
    }
    Ok(tally)
}

fn report(result: Result<()>, what: &str) -> Tally {
    if let Err(error) = &result {
        println!("FAILED {what}: {error}");
    }
    Tally::of(result.is_ok())
}

/// The headers' names as an `#include` has them, sorted.
fn headers(include: &Path) -> Result<Vec<String>> {
    let folder = include.join("fa3/tma");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).at(&folder)? {
        let name = entry.at(&folder)?.file_name().to_string_lossy().into_owned();
        names.push(format!("fa3/tma/{name}"));
    }
    names.sort();
    Ok(names)
}

/// Compiles a file; the extension of `output` says to PTX or on to machine code. Warnings fail.
fn compile(toolkit: &Toolkit, source: &Path, arch: Arch, include: &Path, output: &PathBuf) -> Result<()> {
    let machine_code = output.extension().is_some_and(|extension| extension == "cubin");
    let (mode, code) = if machine_code { ("-cubin", arch.target()) } else { ("-ptx", arch.virtual_target()) };
    let mut command = Command::new(&toolkit.nvcc);
    command.args(LANGUAGE).arg(mode).arg(format!("-gencode=arch={},code={code}", arch.virtual_target()));
    command.arg(format!("-I{}", include.display())).arg("-o").arg(output).arg(source);
    let text = process::output(command)?;
    let complaints: Vec<&str> = text.lines().filter(|line| ptxas::is_refused(line)).collect();
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Error::Refusal(complaints.join("\n")))
}
