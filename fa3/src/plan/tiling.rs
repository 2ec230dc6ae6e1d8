//! How a problem's rows are cut into tiles, and by whom they are computed.

use fa3_kernels::{CHUNK_BYTES, ForwardKernel};

use super::heuristics::{self, Traits};
use super::{Tuning, Walk};
use crate::{CudaTarget, Dims, Problem, Sequences};

/// The kernel and the tiles of a forward pass on SM90.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tiling {
    /// The row of the kernel table.
    pub(crate) kernel: ForwardKernel,
    /// Query heads that share a tile.
    pub(crate) pack: u32,
    /// Heads of tiles: query heads over `pack`.
    pub(crate) heads: u32,
    /// Queries a tile, those of a cluster counted as one.
    pub(crate) queries: u32,
    /// Where tiles come from.
    pub(crate) source: TileSource,
    /// CTAs.
    pub(crate) grid: u32,
    /// Whether a CTA takes tiles two by two, a long and a short one.
    pub(crate) paired: bool,
}

/// Where the forward kernel gets its tiles from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TileSource {
    /// Sequences of one length: tiles are counted.
    Counted {
        /// Rows of tiles a head.
        m_tiles: u32,
        /// Tiles in all.
        tiles: u32,
        /// Heads that are worked on together.
        section: u32,
    },
    /// Sequences of lengths that only the device knows: it lists their rows of tiles.
    Listed {
        /// The most rows of tiles that there can be, heads aside.
        capacity: u32,
        /// Keys times heads whose K and V fit their part of L2.
        section_keys: u32,
    },
}

impl TileSource {
    /// Bytes of workspace that the list takes.
    pub(crate) fn workspace_bytes(&self) -> usize {
        match *self {
            Self::Counted { .. } => 0,
            Self::Listed { capacity, .. } => {
                (capacity as usize).saturating_add(1).saturating_mul(CHUNK_BYTES)
            }
        }
    }
}

impl Tiling {
    /// `None` where the table has no kernel for the problem, or tiles are more than 31 bits count.
    pub(crate) fn new(target: &CudaTarget, problem: &Problem, dims: &Dims, tuning: &Tuning) -> Option<Self> {
        let traits = Traits::new(problem.q.dtype, dims, &problem.options);
        let kernel = tuning.kernel.or_else(|| heuristics::kernel(&traits).copied())?;
        let pack = heuristics::pack(&traits, &kernel);
        let heads = dims.heads_q.checked_div(pack)?;
        let queries = kernel.tile_queries(u32::try_from(pack).ok()?).checked_mul(kernel.cluster)?;
        let section_keys = heuristics::section_keys(target, &traits, pack, tuning.section_of_l2);
        let (source, grid, walk) = if problem.sequences == Sequences::Dense {
            let m_tiles = dims.sq.div_ceil(queries as usize);
            let all_heads = dims.batch.checked_mul(heads)?;
            let tiles = counted(m_tiles.checked_mul(all_heads)?)?;
            let section = section(section_keys, dims.sk, all_heads);
            let walk = tuning.walk.unwrap_or_else(|| heuristics::walk(target, &traits, &kernel, tiles));
            let clusters = target.sms.checked_div(kernel.cluster)?;
            let grid = walk.grid(tiles, clusters.max(1)).checked_mul(kernel.cluster)?;
            (TileSource::Counted { m_tiles: counted(m_tiles)?, tiles, section }, grid, walk)
        } else {
            let capacity = capacity(&problem.sequences, dims, queries as usize)?;
            let grid = counted(capacity.checked_mul(heads)?.checked_mul(kernel.cluster as usize)?)?;
            // A cast from floating point saturates.
            let section_keys = (section_keys as u32).min(i32::MAX.unsigned_abs());
            (TileSource::Listed { capacity: counted(capacity)?, section_keys }, grid, Walk::TileEach)
        };
        let paired = walk == Walk::Pairs;
        Some(Self { kernel, pack: counted(pack)?, heads: counted(heads)?, queries, source, grid, paired })
    }
}

/// What the kernels count in 31 bits.
fn counted(value: usize) -> Option<u32> {
    i32::try_from(value).ok().map(i32::unsigned_abs)
}

/// The largest power of two of heads whose K and V fit, no more than there are.
fn section(section_keys: f64, keys: usize, heads: usize) -> u32 {
    let heads = u32::try_from(heads).unwrap_or(u32::MAX);
    // Casts from floating point saturate.
    let fitting = (section_keys / keys.max(1) as f64) as u32;
    1 << fitting.clamp(1, heads.max(1)).ilog2()
}

/// The most rows of tiles that sequences can have, whatever lengths of theirs the device finds.
fn capacity(sequences: &Sequences, dims: &Dims, queries: usize) -> Option<usize> {
    match *sequences {
        Sequences::Dense | Sequences::UsedKeys => dims.batch.checked_mul(dims.sq.div_ceil(queries)),
        Sequences::Packed { count, max_q, .. } => {
            // Every sequence may be the longest, or begin a tile of its own after whole ones.
            let longest = count.checked_mul(max_q.div_ceil(queries))?;
            let begun = count.checked_mul(queries.saturating_sub(1))?.checked_add(dims.sq)? / queries;
            Some(longest.min(begun))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Options, Sizes};
    use proptest::prelude::*;

    const H200: CudaTarget = CudaTarget::H200;

    fn packed(lengths: &[usize], heads_k: usize, group: usize, d: usize) -> Problem {
        let total = lengths.iter().sum();
        let sizes = Sizes { heads_k, ..Sizes::new(1, total, heads_k * group, d) };
        let max = lengths.iter().copied().max().unwrap_or(0);
        let sequences = Sequences::Packed { count: lengths.len(), max_q: max, max_k: max };
        Problem { sequences, ..Problem::dense(DType::Bf16, sizes, Options::default()) }
    }

    proptest! {
        #[test]
        fn a_list_has_room_for_any_lengths(
            lengths in prop::collection::vec(prop_oneof![0usize..4, 0usize..700, Just(128), Just(129)], 1..40),
            heads_k in 1usize..3, group in prop::sample::select(vec![1usize, 3, 8, 128]),
            d in prop::sample::select(vec![64usize, 256]),
        ) {
            prop_assume!(lengths.iter().sum::<usize>() > 0);
            let problem = packed(&lengths, heads_k, group, d);
            let tiling = Tiling::new(&H200, &problem, &problem.dims().unwrap(), &Tuning::default()).unwrap();
            let TileSource::Listed { capacity, .. } = tiling.source else { panic!("not listed") };
            let needed: usize = lengths.iter().map(|len| len.div_ceil(tiling.queries as usize)).sum();
            prop_assert!(needed <= capacity as usize, "{needed} of {capacity}");
            // Each sequence begins one tile more than it fills, at most.
            let total: usize = lengths.iter().sum();
            prop_assert!(capacity as usize <= total / tiling.queries as usize + lengths.len());
            prop_assert_eq!(tiling.grid, capacity * tiling.heads);
            prop_assert_eq!(tiling.source.workspace_bytes(), 32 + 32 * capacity as usize);
        }
    }
}
