//! The plan of a forward pass that the target is known to support.

use fa3_kernels::{ForwardParams, SCHEDULE_SYMBOL, SCHEDULE_THREADS, STAGES, ScheduleParams};
use fa3_sys::Arch;

use super::scores::Scores;
use super::tiling::{TileSource, Tiling};
use super::{CpuPlan, Execution, ForwardPlan, GpuPlan, KernelPlan, SchedulePlan, Tile, Tuning, maps};
use crate::{CudaTarget, Dims, Error, Layout, Problem, Result, Target};

pub(super) fn execution(
    target: &Target,
    problem: &Problem,
    dims: &Dims,
    tuning: &Tuning,
) -> Result<Execution> {
    if dims.is_empty() {
        return Ok(Execution::Nothing);
    }
    match target {
        Target::Cuda(cuda) => gpu(cuda, problem, dims, tuning).map(|gpu| Execution::Gpu(Box::new(gpu))),
        Target::Cpu(cpu) => Ok(Execution::Cpu(CpuPlan::forward(cpu))),
    }
}

fn gpu(target: &CudaTarget, problem: &Problem, dims: &Dims, tuning: &Tuning) -> Result<GpuPlan> {
    let tiling = Tiling::new(target, problem, dims, tuning).ok_or_else(|| too_many(problem))?;
    let kernel = &tiling.kernel;
    let maps = maps::forward(problem, dims, kernel, tiling.pack).into_iter().zip(maps::OPERANDS);
    let maps = maps.map(|(slot, operand)| slot.map_err(|source| Error::TensorMap { operand, source }));
    let launch = KernelPlan {
        symbol: kernel.symbol(),
        arch: Arch::Sm90a,
        grid: [tiling.grid, 1, 1],
        block: kernel.threads(),
        cluster: kernel.cluster,
        shared_bytes: kernel.shared_bytes(),
    };
    let forward = ForwardPlan {
        kernel: launch,
        tile: Tile {
            m: kernel.tile_m(),
            n: kernel.tile_n,
            pack: tiling.pack,
            stages: STAGES,
            consumers: kernel.consumers,
        },
        maps: maps.collect::<Result<Vec<_>>>()?,
        params: params(problem, dims, &tiling)?,
    };
    let schedule = schedule(problem, dims, &tiling)?;
    Ok(GpuPlan { schedule, forward, workspace_bytes: tiling.source.workspace_bytes() })
}

fn too_many(problem: &Problem) -> Error {
    Error::argument(
        "q.shape",
        format!("{:?}", problem.q.layout.shape),
        "tiles are counted in 31 bits",
        "split the batch",
    )
}

/// A number that the kernels hold in 32 bits.
fn field<T: TryInto<i32>>(value: T, problem: &Problem) -> Result<i32> {
    value.try_into().map_err(|_| too_many(problem))
}

fn params(problem: &Problem, dims: &Dims, tiling: &Tiling) -> Result<ForwardParams> {
    let field = |value: usize| field(value, problem);
    let counted = |value: u32| field(value as usize);
    let scores = Scores::of(problem, dims);
    let window = problem.options.effective_window();
    // No sequence is that long: beyond, a side is unbounded.
    let side = |keys: Option<usize>| keys.and_then(|keys| i32::try_from(keys).ok()).unwrap_or(i32::MAX);
    let [o_batch, o_row, o_head] = steps(&problem.o.layout);
    let (m_tiles, tiles, section, batch_heads) = match tiling.source {
        TileSource::Counted { m_tiles, tiles, section } => {
            (m_tiles, tiles, section, dims.batch.saturating_mul(tiling.heads as usize))
        }
        TileSource::Listed { .. } => (0, 0, 0, 0),
    };
    Ok(ForwardParams {
        o_batch,
        o_row,
        o_head,
        scale_log2: scores.scale_log2,
        score_scale: scores.score_scale,
        softcap_log2: scores.softcap_log2,
        edit: i32::from(scores.edit),
        sq: field(dims.sq)?,
        sk: field(dims.sk)?,
        dv: field(dims.dv)?,
        pack: counted(tiling.pack)?,
        pack_reciprocal: ForwardParams::reciprocal(tiling.pack),
        heads: counted(tiling.heads)?,
        group: field(dims.group)?,
        window_left: side(window.left),
        window_right: side(window.right),
        batch_heads: field(batch_heads)?,
        m_tiles: counted(m_tiles)?,
        tiles: counted(tiles)?,
        section: counted(section)?,
        paired: i32::from(tiling.paired),
        ..ForwardParams::default()
    })
}

/// Elements from one batch entry, row and head to the next; zero where there is but one.
fn steps(layout: &Layout) -> [i64; 3] {
    let step = |dimension: usize| match (layout.shape.get(dimension), layout.strides.get(dimension)) {
        (Some(&extent), Some(&stride)) if extent > 1 => i64::try_from(stride).unwrap_or(i64::MAX),
        _ => 0,
    };
    [0, 1, 2].map(step)
}

/// The kernel that lists tiles, where lengths are known to the device alone.
fn schedule(problem: &Problem, dims: &Dims, tiling: &Tiling) -> Result<Option<SchedulePlan>> {
    let TileSource::Listed { capacity, section_keys } = tiling.source else { return Ok(None) };
    let kernel = KernelPlan {
        symbol: SCHEDULE_SYMBOL.to_owned(),
        arch: Arch::Sm90a,
        grid: [1, 1, 1],
        block: SCHEDULE_THREADS,
        cluster: 1,
        shared_bytes: 0,
    };
    let field = |value: usize| field(value, problem);
    let params = ScheduleParams {
        sequences: field(dims.sequences)?,
        sq: field(dims.sq)?,
        sk: field(dims.sk)?,
        max_q: field(dims.max_q)?,
        tile_queries: field(tiling.queries as usize)?,
        heads: field(tiling.heads as usize)?,
        section_keys: field(section_keys as usize)?,
        capacity: field(capacity as usize)?,
        ..ScheduleParams::default()
    };
    Ok(Some(SchedulePlan { kernel, params }))
}
