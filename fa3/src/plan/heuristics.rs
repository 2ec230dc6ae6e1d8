//! Every choice that planning makes by measurement rather than by need, in one place.

use fa3_kernels::{ForwardKernel, Operand as KernelType, forward_kernels};

use crate::{CudaTarget, DType, Dims, Options};

/// How the SM90 forward kernels run a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForwardChoice {
    /// The row of the kernel table.
    pub(crate) kernel: &'static ForwardKernel,
    /// CTAs.
    pub(crate) grid: u32,
    /// Tiles of rows a head.
    pub(crate) m_tiles: u32,
    /// Tiles in all.
    pub(crate) tiles: u32,
    /// Query heads worked on together, so that their K and V stay in L2.
    pub(crate) section: u32,
}

/// Under a causal mask, d=64 runs on two consumer warpgroups below this many keys: the tiles on the
/// diagonal are smaller. On an H200: two against three consumers 309/276 TFLOP/s at 1k keys,
/// 394/429 at 4k.
const THREE_CONSUMERS_FROM_CAUSAL_KEYS: usize = 4096;

/// Whether CTAs persist, one an SM, rather than work on one tile each. It saves the start of a CTA,
/// and where O has shared memory of its own one tile's end overlaps the next one's start: on an H200,
/// d64 412/391 TFLOP/s at 1k keys, d128 551/523 at 1k but 636/652 at 16k, d256 556/541 at 1k. Under a
/// causal mask one tile a CTA, longest first, balances better (d128 379/391 at 1k, d256 323/399) but
/// for the shortest (d128 296/276 at 512) and for d64 with two consumers (307/272 at 1k).
fn persistent(kernel: &ForwardKernel, keys: usize, causal: bool) -> bool {
    match (kernel.head_dim, causal) {
        (64, false) => true,
        (64, true) => kernel.consumers == 2,
        (128, false) => keys <= 2048,
        (128, true) => keys <= 512,
        (256, false) => keys <= 1024,
        _ => false,
    }
}

/// The part of L2 that the K and V of a section may take; the rest holds Q and O in flight.
const SECTION_OF_L2: f64 = 0.5;

/// The kernels' name of an element type, if there are kernels for it.
pub(crate) fn kernel_type(dtype: DType) -> Option<KernelType> {
    match dtype {
        DType::F16 => Some(KernelType::F16),
        DType::Bf16 => Some(KernelType::Bf16),
        _ => None,
    }
}

/// The rows of the table that compute this type and head dimension.
pub(crate) fn candidates(dtype: DType, d: usize) -> impl Iterator<Item = &'static ForwardKernel> {
    let operand = kernel_type(dtype);
    forward_kernels().filter(move |row| Some(row.operand) == operand && row.head_dim as usize == d)
}

/// The kernel, grid and section for a problem that the kernels support; `None` where the table
/// has no row for it or the tiles are more than a grid can count.
///
/// The row may decide a result's bits, so that batch-invariant problems get the same one at any
/// length. The grid and the section decide only who computes a tile, and when.
pub(crate) fn forward(
    target: &CudaTarget,
    dims: &Dims,
    dtype: DType,
    options: &Options,
) -> Option<ForwardChoice> {
    let causal = options.causal;
    let long = options.batch_invariant || dims.sk >= THREE_CONSUMERS_FROM_CAUSAL_KEYS;
    let kernel = candidates(dtype, dims.d).min_by_key(|row| {
        let three = dims.d == 64 && (!causal || long);
        let wanted = if three { 3 } else { 2 };
        row.consumers.abs_diff(wanted)
    })?;
    let m_tiles = u32::try_from(dims.sq.div_ceil(kernel.tile_m() as usize)).ok()?;
    let heads = u32::try_from(dims.batch.checked_mul(dims.heads_q)?).ok()?;
    let tiles = m_tiles.checked_mul(heads).filter(|&tiles| i32::try_from(tiles).is_ok())?;
    let grid = if persistent(kernel, dims.sk, causal) { tiles.min(target.sms.max(1)) } else { tiles };
    Some(ForwardChoice {
        kernel,
        grid,
        m_tiles,
        tiles,
        section: if causal { section(target, dims, dtype, heads) } else { 1 },
    })
}

/// The largest power of two of query heads whose K and V fit their part of L2, no more than there
/// are. For causal problems, whose longest tiles of many heads run side by side; without a mask one
/// head after the other fills the device by itself.
fn section(target: &CudaTarget, dims: &Dims, dtype: DType, heads: u32) -> u32 {
    let head_bytes = dims.sk as f64 * (dims.d + dims.dv) as f64 * dtype.size() as f64 / dims.group as f64;
    let fitting = SECTION_OF_L2 * target.l2_bytes as f64 / head_bytes.max(1.0);
    // Casts from floating point saturate.
    let fitting = (fitting as u32).clamp(1, heads.max(1));
    1 << fitting.ilog2()
}
