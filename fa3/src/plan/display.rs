//! A plan as a person wants to read it.

use core::fmt;

use super::{Execution, ForwardPlan, GpuPlan, KernelPlan, Plan, SchedulePlan, Tile};
use crate::{Options, Problem, Sequences, Window};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "forward {}", Summary(&self.problem))?;
        writeln!(f, "  target    {}", self.target)?;
        match &self.execution {
            Execution::Nothing => writeln!(f, "  nothing to do: the output has no element")?,
            Execution::Gpu(gpu) => write_gpu(f, gpu)?,
            Execution::Cpu(cpu) => writeln!(f, "  cpu       {cpu}")?,
        }
        write!(f, "  work      {} flop, {} bytes", si(self.work.flops), si(self.work.bytes))
    }
}

fn write_gpu(f: &mut fmt::Formatter<'_>, gpu: &GpuPlan) -> fmt::Result {
    let GpuPlan { schedule, forward, workspace_bytes } = gpu;
    let ForwardPlan { kernel, tile, maps, params } = forward;
    if let Some(SchedulePlan { kernel, params }) = schedule {
        let KernelPlan { symbol, arch, .. } = kernel;
        writeln!(f, "  schedule  {symbol} ({arch}): at most {} rows of tiles", params.capacity)?;
        write_launch(f, kernel, "")?;
    }
    writeln!(f, "  kernel    {} ({})", kernel.symbol, kernel.arch)?;
    write!(f, "  tile      {} rows", tile.m)?;
    let Tile { n, pack, consumers, stages, .. } = tile;
    if *pack > 1 {
        write!(f, " ({} queries of {pack} heads)", tile.queries())?;
    }
    writeln!(f, " × {n} keys, {consumers} consumer warpgroups, {stages} stages")?;
    if params.edit != 0 {
        writeln!(f, "  scores    edited before the softmax")?;
    }
    let mut persists = "";
    if schedule.is_some() {
        writeln!(f, "  tiles     listed on the device, at most {}", kernel.grid[0])?;
    } else {
        writeln!(f, "  tiles     {}, in sections of {} heads", params.tiles, params.section)?;
        if u64::from(kernel.grid[0]) < u64::try_from(params.tiles).unwrap_or(0) {
            persists = if params.paired == 0 { ", persistent" } else { ", persistent, tiles in pairs" };
        }
    }
    write_launch(f, kernel, persists)?;
    for slot in maps {
        write!(f, "  map       {}: {}", slot.operand, slot.desc)?;
        if slot.address != slot.operand {
            write!(f, ", at the address of {}", slot.address)?;
        }
        writeln!(f)?;
    }
    writeln!(f, "  workspace {workspace_bytes} bytes")
}

fn write_launch(f: &mut fmt::Formatter<'_>, kernel: &KernelPlan, persists: &str) -> fmt::Result {
    let KernelPlan { grid: [x, y, z], block, cluster, shared_bytes, .. } = kernel;
    writeln!(
        f,
        "  launch    grid {x}×{y}×{z}{persists}, {block} threads, cluster {cluster}, {shared_bytes} bytes of shared memory"
    )
}

/// A problem in one line.
struct Summary<'a>(&'a Problem);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { q, k, v, o: _, lse, sinks, alibi, sequences, options } = self.0;
        let [batch, sq, heads_q, d] = q.layout.shape;
        let [_, sk, heads_k, _] = k.layout.shape;
        let dv = v.layout.shape[3];
        write!(f, "{}", q.dtype)?;
        match sequences {
            Sequences::Dense => write!(f, ", batch {batch}, sq {sq}, sk {sk}")?,
            Sequences::UsedKeys => write!(f, ", batch {batch}, sq {sq}, sk up to {sk}")?,
            Sequences::Packed { count, max_q, max_k } => {
                write!(f, ", {count} sequences, {sq} queries (at most {max_q}), {sk} keys (at most {max_k})")?
            }
        }
        write!(f, ", heads {heads_q}/{heads_k}, d {d}")?;
        if dv != d {
            write!(f, "/{dv}")?;
        }
        let Options { scale: _, causal, window, softcap, batch_invariant } = options;
        write!(f, ", scale {}", options.scale_for(d))?;
        if *causal {
            f.write_str(", causal")?;
        }
        if *window != Window::default() {
            let side = |keys: Option<usize>| keys.map_or("all".to_owned(), |keys| keys.to_string());
            write!(f, ", window {} before and {} after", side(window.left), side(window.right))?;
        }
        if let Some(cap) = softcap {
            write!(f, ", softcap {cap}")?;
        }
        for (on, name) in
            [(sinks, "sinks"), (alibi, "alibi"), (lse, "lse"), (batch_invariant, "batch-invariant")]
        {
            if *on {
                write!(f, ", {name}")?;
            }
        }
        Ok(())
    }
}

/// A number with three or four digits and an SI prefix: `137.4 G`.
fn si(value: f64) -> String {
    let prefixes = ["", " k", " M", " G", " T", " P"];
    let mut scaled = value;
    let mut prefix = "";
    for next in prefixes {
        prefix = next;
        if scaled < 1000.0 {
            break;
        }
        if next != " P" {
            scaled /= 1000.0;
        }
    }
    if prefix.is_empty() { format!("{scaled}") } else { format!("{scaled:.1}{prefix}") }
}
