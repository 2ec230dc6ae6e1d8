//! `fa3-emu list`: what the kernels of a module ask of a launch.

use std::fmt::Write as _;
use std::path::PathBuf;

use fa3_emu::ir::Program;
use fa3_emu::ptx;

use crate::error::{Error, Result};

/// Lists the kernels of a module: what a launch of each needs, and its parameters, or why it cannot be run.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file of PTX.
    ptx: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> Result<String> {
    let text = crate::read(&arguments.ptx)?;
    let refused = |source| Error::Ptx { path: arguments.ptx.clone(), source };
    let module = ptx::parse(&text).map_err(refused)?;
    let mut list =
        format!("{}: {}, kernels: {}\n", arguments.ptx.display(), module.arch, module.kernels.len());
    let mut unknown = None;
    let mut known = module.kernels.is_empty();
    for kernel in &module.kernels {
        list.push('\n');
        match Program::compile(&module, kernel.name) {
            Ok(program) => {
                known = true;
                list.push_str(&described(&program));
            }
            Err(error) => {
                // Writing to a string does not fail.
                let _ = writeln!(list, "{}\n  cannot be run: {error}", kernel.name);
                unknown.get_or_insert(error);
            }
        }
    }
    if let Some(error) = unknown.filter(|_| !known) {
        return Err(refused(error));
    }
    Ok(list)
}

fn described(program: &Program) -> String {
    let mut text = format!("{}\n", program.entry);
    let mut row = |what: &str, says: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {what:<8} {says}");
    };
    let extents = |extents: [u32; 3]| extents.map(|extent| extent.to_string()).join(",");
    match (program.required_threads, program.max_threads) {
        (Some(required), _) => row("block", format!("{} (.reqntid)", extents(required))),
        (None, Some(most)) => {
            let threads: u64 = most.iter().map(|&extent| u64::from(extent)).product();
            row("block", format!("at most {threads} threads (.maxntid)"));
        }
        (None, None) => row("block", "any".to_owned()),
    }
    match program.required_cluster {
        Some(required) => row("cluster", format!("{} (.reqnctapercluster)", extents(required))),
        None if program.explicit_cluster => row("cluster", "the launch says (.explicitcluster)".to_owned()),
        None => row("cluster", "any".to_owned()),
    }
    let shared = &program.shared;
    let dynamic_from = shared.dynamic_offset.unwrap_or(shared.static_bytes);
    let room = program.arch.max_shared_bytes().saturating_sub(dynamic_from);
    let dynamic = match shared.dynamic_offset {
        Some(offset) => format!("dynamic from byte {offset} on, room for {room}"),
        None => "none dynamic".to_owned(),
    };
    row("shared", format!("{} bytes static, {dynamic}", shared.static_bytes));
    if program.params.is_empty() {
        row("args", "none".to_owned());
    }
    for param in &program.params {
        row("args", format!("{}: {} bytes at {}", param.name, param.size, param.offset));
    }
    text
}
