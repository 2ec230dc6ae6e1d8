//! `fa3-emu run`: launches a kernel.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use fa3_emu::ir::Program;
use fa3_emu::ptx;
use fa3_emu::{Checks, Launch, Memory, Options, Order, RunError};

use crate::buffer::{self, Buffer};
use crate::error::{At, Error, Result};
use crate::{argument, summary};

const SYNTAX: &str = "\
Buffers: --buffer NAME=CONTENTS, where CONTENTS is
  zero:COUNTxTYPE         zeros
  poison:COUNTxTYPE       every byte 0xff, which is NaN in every float type
  random:COUNTxTYPE:SEED  standard normal floats, or integers of any value
  file:TYPE:PATH          the bytes of a file
and TYPE u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32 or f64.

Arguments: --args, one for each parameter of the kernel, in order:
  NAME                    the address of a buffer
  TYPE:NUMBER             a number
  hex:BYTES               bytes, two digits each
  map:FILE                the tensor map that a JSON file describes
  bytes:FILE              the bytes of a file
Buffers, numbers and hex joined by commas are a structure, laid out as in C;
a number without a type has that of the one before: NAME,f32:1.5,i32:1,2,3.

A tensor map is described, innermost dimension first and strides in bytes, as
  {\"buffer\": \"q\", \"data_type\": \"bf16\", \"extents\": [64, 512],
   \"strides\": [128], \"box\": [64, 128], \"swizzle\": \"128B\"}
where offset (bytes into the buffer), strides, element_strides, swizzle,
interleave, l2_promotion and fill may be left out.

Exit code: 0 done; 1 the kernel went wrong; 2 it could not be run as asked.

Example:
  fa3-emu run axpy.ptx --grid 4 --block 128 \\
    --buffer x=random:500xf32:1 --buffer y=zero:500xf32 \\
    --args f32:2.5 x y u32:500 --write y=y.bin";

/// Runs a kernel, and prints what its buffers hold then.
#[derive(Debug, clap::Args)]
#[command(after_help = SYNTAX)]
pub(crate) struct Arguments {
    /// A file of PTX.
    ptx: PathBuf,
    /// The kernel; may be left out where the module has one.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// CTAs.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    grid: Extents,
    /// Threads of a CTA; may be left out where the kernel requires a shape.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    block: Option<Extents>,
    /// CTAs of a cluster; what the kernel requires, or else one, if left out.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    cluster: Option<Extents>,
    /// Dynamic shared memory of a CTA.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// A buffer in the device's memory.
    #[arg(long = "buffer", value_name = "NAME=CONTENTS")]
    buffers: Vec<buffer::Spec>,
    /// The kernel's arguments.
    #[arg(long, value_name = "ARG", num_args = 0.., allow_negative_numbers = true)]
    args: Vec<argument::Spec>,
    /// Writes a buffer to a file after the run.
    #[arg(long, value_name = "NAME=PATH")]
    write: Vec<Output>,
    /// When asynchronous operations take effect: eager, lazy or seed:N.
    #[arg(long, value_name = "ORDER", default_value_t = Order::Eager)]
    order: Order,
    /// What is checked beside what always is: all, none, or checks by name, separated by commas.
    #[arg(long, value_name = "CHECKS", default_value_t = Checks::ALL)]
    check: Checks,
    /// Writes a timeline by warp and engine to a file, for Perfetto; of the eager order.
    #[arg(long, value_name = "PATH")]
    trace: Option<PathBuf>,
    /// Clusters that run at the same time.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Warp instructions after which a cluster is given up.
    #[arg(long, value_name = "N")]
    step_limit: Option<u64>,
}

/// `X`, `X,Y` or `X,Y,Z`.
#[derive(Clone, Copy, Debug)]
struct Extents([u32; 3]);

impl FromStr for Extents {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let mut extents = [1; 3];
        let parts: Vec<_> = text.split(',').collect();
        if parts.len() > extents.len() {
            return Err("there are at most three extents, x,y,z".to_owned());
        }
        for (extent, part) in extents.iter_mut().zip(parts) {
            *extent = part.parse().map_err(|_| format!("`{part}` is no number of 32 bits"))?;
        }
        Ok(Self(extents))
    }
}

/// `NAME=PATH`.
#[derive(Clone, Debug)]
struct Output {
    name: String,
    path: PathBuf,
}

impl FromStr for Output {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (name, path) = text.split_once('=').ok_or("NAME=PATH")?;
        Ok(Self { name: name.to_owned(), path: path.into() })
    }
}

pub(crate) fn main(arguments: &Arguments) -> Result<String> {
    let program = load(arguments)?;
    let mut memory = Memory::new();
    let buffers = allocate(&arguments.buffers, &mut memory)?;
    for Output { name, .. } in &arguments.write {
        Buffer::named(&buffers, name).map_err(|rule| Error::option("write", name, rule))?;
    }
    let bytes = argument::bytes(&arguments.args, &program.params, &buffers)?;
    let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let launch = launch(arguments, &program)?;
    let report = fa3_emu::run(&program, &launch, &bytes, &mut memory, &options(arguments))
        .map_err(|source| failed(source, &buffers))?;

    if let (Some(path), Some(trace)) = (&arguments.trace, &report.trace) {
        fs::write(path, trace.to_json()).at(path)?;
    }
    let ctas: u64 = launch.grid.iter().map(|&extent| u64::from(extent)).product();
    let mut text = format!("{}: CTAs: {ctas}, warp instructions: {}\n", program.entry, report.steps);
    for buffer in &buffers {
        let now = memory.read(buffer.address, buffer.initial.len());
        let now = now.map_err(|kind| Error::option("buffer", &buffer.name, kind.to_string()))?;
        for output in arguments.write.iter().filter(|output| output.name == buffer.name) {
            fs::write(&output.path, now).at(&output.path)?;
        }
        text.push_str(&summary::line(buffer, now));
        text.push('\n');
    }
    Ok(text)
}

fn load(arguments: &Arguments) -> Result<Program> {
    let text = crate::read(&arguments.ptx)?;
    let refused = |source| Error::Ptx { path: arguments.ptx.clone(), source };
    let module = ptx::parse(&text).map_err(refused)?;
    let entry = match (&arguments.entry, &module.kernels[..]) {
        (Some(entry), _) => entry,
        (None, [kernel]) => kernel.name,
        (None, []) => return Err(Error::option("entry", "NAME", "the module has no kernel")),
        (None, kernels) => {
            let found: Vec<_> = kernels.iter().map(|kernel| kernel.name).collect();
            let rule = format!("the module has several kernels; say which of {}", found.join(", "));
            return Err(Error::option("entry", "NAME", rule));
        }
    };
    Program::compile(&module, entry).map_err(refused)
}

fn allocate(specs: &[buffer::Spec], memory: &mut Memory) -> Result<Vec<Buffer>> {
    let mut buffers: Vec<Buffer> = Vec::new();
    for spec in specs {
        if buffers.iter().any(|buffer| buffer.name == spec.name) {
            return Err(Error::option("buffer", &spec.name, "there is one of this name already"));
        }
        buffers.push(Buffer::new(spec, memory)?);
    }
    Ok(buffers)
}

/// The error of a run. An access at a wrong address is understood by where the buffers are.
fn failed(source: RunError, buffers: &[Buffer]) -> Error {
    let buffers = match source {
        RunError::Fault { .. } => buffers.iter().map(|buffer| format!("\n  {}", buffer.place())).collect(),
        _ => String::new(),
    };
    Error::Run { source: Box::new(source), buffers }
}

fn launch(arguments: &Arguments, program: &Program) -> Result<Launch> {
    let block = arguments.block.map(|Extents(block)| block).or(program.required_threads);
    let block = block.ok_or_else(|| {
        let rule = format!("{} can have many (no .reqntid); say how many threads", program.entry);
        Error::option("block", "X", rule)
    })?;
    Ok(Launch {
        cluster: arguments.cluster.map(|Extents(cluster)| cluster),
        dynamic_shared: arguments.shared,
        ..Launch::new(arguments.grid.0, block)
    })
}

fn options(arguments: &Arguments) -> Options {
    let mut options = Options {
        order: arguments.order,
        checks: arguments.check,
        trace: arguments.trace.is_some(),
        threads: arguments.threads,
        ..Options::default()
    };
    if let Some(limit) = arguments.step_limit {
        options.step_limit = limit;
    }
    options
}
