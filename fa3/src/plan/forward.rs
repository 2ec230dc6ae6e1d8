//! The plan of a forward pass that the target is known to support.

use fa3_kernels::ForwardParams;
use fa3_sys::Arch;

use super::{CpuPlan, Execution, ForwardPlan, GpuPlan, KernelPlan, Tile, heuristics, maps};
use crate::{CudaTarget, Dims, Error, Problem, Result, Target};

pub(super) fn execution(target: &Target, problem: &Problem, dims: &Dims) -> Result<Execution> {
    if dims.is_empty() {
        return Ok(Execution::Nothing);
    }
    match target {
        Target::Cuda(cuda) => gpu(cuda, problem, dims).map(Execution::Gpu),
        Target::Cpu(cpu) => Ok(Execution::Cpu(CpuPlan::forward(cpu))),
    }
}

fn gpu(target: &CudaTarget, problem: &Problem, dims: &Dims) -> Result<GpuPlan> {
    let options = &problem.options;
    let too_many = || {
        Error::argument(
            "q.shape",
            format!("{:?}", problem.q.layout.shape),
            "tiles are counted in 31 bits",
            "split the batch",
        )
    };
    let choice = heuristics::forward(target, dims, problem.q.dtype, options).ok_or_else(too_many)?;
    let kernel = choice.kernel;
    let maps = maps::forward(problem, dims, kernel).into_iter().zip(maps::OPERANDS);
    let maps = maps.map(|(slot, operand)| slot.map_err(|source| Error::TensorMap { operand, source }));
    let maps = maps.collect::<Result<Vec<_>>>()?;
    let field = |value: usize| i32::try_from(value).map_err(|_| too_many());
    let params = ForwardParams {
        lse: 0,
        scale_log2: options.scale_for(dims.d) * core::f32::consts::LOG2_E,
        sq: field(dims.sq)?,
        sk: field(dims.sk)?,
        heads_q: field(dims.heads_q)?,
        group: field(dims.group)?,
        batch_heads: field(dims.batch.saturating_mul(dims.heads_q))?,
        m_tiles: field(choice.m_tiles as usize)?,
        tiles: field(choice.tiles as usize)?,
        section: field(choice.section as usize)?,
        causal: i32::from(options.causal),
    };
    let launch = KernelPlan {
        symbol: kernel.symbol(),
        arch: Arch::Sm90a,
        grid: [choice.grid, 1, 1],
        block: kernel.threads(),
        cluster: 1,
        shared_bytes: kernel.shared_bytes(),
    };
    let tile =
        Tile { m: kernel.tile_m(), n: kernel.tile_n, stages: kernel.stages, consumers: kernel.consumers };
    Ok(GpuPlan { forward: ForwardPlan { kernel: launch, tile, maps, params }, workspace_bytes: 0 })
}
