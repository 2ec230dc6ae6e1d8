//! A merge as a person wants to read it.

use core::fmt;

use super::{MergeExecution, MergePlan, MergeProblem};
use crate::KernelPlan;

impl fmt::Display for MergePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MergeProblem { parts, part, part_stride: _, o, lse, sinks } = self.problem();
        let [batch, sq, heads, dv] = o.layout.shape;
        write!(f, "merge {parts} × {} to {}, batch {batch}, sq {sq}", part.dtype, o.dtype)?;
        write!(f, ", heads {heads}, dv {dv}")?;
        for (on, name) in [(sinks, "sinks"), (lse, "lse")] {
            if *on {
                write!(f, ", {name}")?;
            }
        }
        writeln!(f, "\n  target    {}", self.target())?;
        match self.execution() {
            MergeExecution::Nothing => write!(f, "  nothing to do: the output has no element"),
            MergeExecution::Cpu => write!(f, "  cpu       row by row"),
            MergeExecution::Gpu(gpu) => {
                let KernelPlan { symbol, arch, grid: [x, y, z], block, .. } = &gpu.kernel;
                writeln!(f, "  kernel    {symbol} ({arch})")?;
                write!(f, "  launch    grid {x}×{y}×{z}, {block} threads, {} a row", gpu.params.lanes)
            }
        }
    }
}
