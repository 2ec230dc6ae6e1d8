//! Every choice that planning makes by measurement rather than by need, in one place.

use fa3_kernels::{ForwardKernel, Operand as KernelType, forward_kernels};

use super::Walk;
use crate::{CudaTarget, DType, Dims, Options};

/// What of a problem the choices are made by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    dtype: DType,
    d: usize,
    dv: usize,
    heads_q: usize,
    heads_k: usize,
    group: usize,
    /// Queries of the longest sequence.
    queries: usize,
    /// About how many keys a tile visits, at most.
    keys: usize,
    /// Whether a row sees more keys the later it comes.
    uneven: bool,
    /// Whether lengths must not decide by which kernel and in which tile a row is computed. Who
    /// computes a tile and when decides no bits.
    batch_invariant: bool,
}

impl Traits {
    pub(crate) fn new(dtype: DType, dims: &Dims, options: &Options) -> Self {
        /// Rows of a tile: their windows begin one after the other.
        const ROWS: usize = 128;
        let Dims { d, dv, heads_q, heads_k, group, max_q, max_k, .. } = *dims;
        let window = options.effective_window();
        let keys = match (window.left, window.right) {
            (Some(left), Some(right)) => left.saturating_add(right).saturating_add(ROWS).min(max_k),
            _ => max_k,
        };
        let uneven = window.left.is_none() && window.right.is_some();
        let batch_invariant = options.batch_invariant;
        Self { dtype, d, dv, heads_q, heads_k, group, queries: max_q, keys, uneven, batch_invariant }
    }
}

/// How many consumer warpgroups, each of 64 rows, suit heads of a class that has rows of the table for
/// two and for three. Three read K and V from shared memory less often, two leave less of short
/// sequences' tiles, and of those on a causal diagonal, unused. On an H200, three against two, TFLOP/s:
/// d64 causal 276/309 at 1k keys, 376/361 at 2k; d96 427/454 at 1k, 592/560 at 16k, causal 288/330 at
/// 1k, 483/471 at 4k.
fn consumers(head_dim: u32, traits: &Traits) -> u32 {
    let from_keys = match (head_dim, traits.uneven) {
        (64, false) => 0,
        _ => 2048,
    };
    if traits.batch_invariant || traits.keys >= from_keys { 3 } else { 2 }
}

/// The kernels' name of an element type, if there are kernels for it.
pub(crate) fn kernel_type(dtype: DType) -> Option<KernelType> {
    match dtype {
        DType::F16 => Some(KernelType::F16),
        DType::Bf16 => Some(KernelType::Bf16),
        _ => None,
    }
}

/// The row of the table with the narrowest heads that hold the problem's: what they are wider is
/// multiplied too. `None` where the table has none.
pub(crate) fn kernel(traits: &Traits) -> Option<&'static ForwardKernel> {
    let operand = kernel_type(traits.dtype);
    let holds = |row: &&ForwardKernel| {
        Some(row.operand) == operand
            && row.head_dim as usize >= traits.d
            && row.value_dim as usize >= traits.dv
    };
    forward_kernels().filter(holds).min_by_key(|row| {
        (row.head_dim + row.value_dim, row.consumers.abs_diff(consumers(row.head_dim, traits)))
    })
}

/// How many query heads share a tile: one, or the whole group of a K/V head where that takes
/// strictly fewer tiles, as it does when a sequence's queries leave most of a tile empty. Whatever
/// the lengths, batch-invariant heads are packed unless that leaves an eighth of a full tile empty.
pub(crate) fn pack(traits: &Traits, kernel: &ForwardKernel) -> usize {
    let rows = kernel.tile_m() as usize;
    let Some(queries) = rows.checked_div(traits.group).filter(|&queries| queries > 0) else {
        return 1; // More heads than a tile has rows.
    };
    let packs = if traits.batch_invariant {
        rows - queries * traits.group < rows.div_ceil(8)
    } else {
        let apart = traits.queries.div_ceil(rows).saturating_mul(traits.heads_q);
        traits.queries.div_ceil(queries).saturating_mul(traits.heads_k) < apart
    };
    if packs { traits.group } else { 1 }
}

/// How the CTAs of a dense batch share its tiles: each persists on an SM, or works on one tile. To
/// persist saves the start of a CTA, and where O has shared memory of its own one tile's end overlaps
/// the next one's start. Under a causal mask tiles are taken in pairs, a long one and a short one, lest
/// some CTAs have the longer ones only.
pub(crate) fn walk(target: &CudaTarget, traits: &Traits, kernel: &ForwardKernel, tiles: u32) -> Walk {
    if traits.uneven && pairs_pay(traits, kernel, tiles.div_ceil(2), target.sms.max(1)) {
        Walk::Pairs
    } else if persistent(traits, kernel) {
        Walk::Persistent
    } else {
        Walk::TileEach
    }
}

/// Whether CTAs that persist are faster than ones that end with their tile, in TFLOP/s on an H200: d64
/// 421/391 at 1k keys, d96 454/433 at 1k and 596/592 at 16k, d128 614/589 at 2k and 638/630 at 4k but
/// 654/663 at 16k, d192 546/527 at 1k (569/533 with values of 128), d256 579/541 at 1k. Causal tiles,
/// where pairs would leave too many SMs idle in the end: d64 with two consumers 305/272 at 1k, d96
/// 330/315 at 1k, d128 303/270 at 512.
fn persistent(traits: &Traits, kernel: &ForwardKernel) -> bool {
    let keys = traits.keys;
    match (kernel.head_dim, traits.uneven) {
        (64 | 96, false) => true,
        (128, false) => keys <= 4096,
        (64, true) => kernel.consumers == 2,
        (96, true) => keys <= 1024,
        (128, true) => keys <= 512,
        (192 | 256, false) => keys <= 1024,
        _ => false,
    }
}

/// Whether pairs of causal tiles on CTAs that persist are faster than a tile a CTA, longest first. The
/// start of a CTA weighs the less the more keys a tile visits; against it stands what SMs idle after
/// their last pair. On an H200, where that is 3 %, TFLOP/s: d128 327/270 at 512 keys, 422/382 at 1k,
/// 491/482 at 2k, 562/553 at 4k, 624/623 at 16k; d64 376/356 at 2k, 427/421 at 4k, 500/505 at 16k; d96
/// 371/332 at 1k, 493/490 at 4k, 570/585 at 16k. Where O leaves over Q nothing overlaps: d192 392/406
/// at 1k (414/410 with values of 128), d256 422/428 at 1k, 610/607 at 4k.
fn pairs_pay(traits: &Traits, kernel: &ForwardKernel, pairs: u32, sms: u32) -> bool {
    /// Keys over what may be lost to idle SMs.
    const START_OF_A_CTA: f64 = 144.0;
    let rounds = f64::from(pairs) / f64::from(sms);
    let idle = rounds.ceil() / rounds - 1.0;
    !kernel.output_over_query && idle * traits.keys as f64 <= START_OF_A_CTA
}

/// The part of L2 that the K and V of a section may take; the rest holds Q and O in flight.
const SECTION_OF_L2: f64 = 0.5;

/// How many keys, times heads of tiles, have K and V that fit their part of L2. Zero where heads are
/// best taken one by one: without a mask one after the other fills the device by itself, whereas
/// under a causal mask the longest tiles of many heads run side by side. `part` is another part of L2.
pub(crate) fn section_keys(target: &CudaTarget, traits: &Traits, pack: usize, part: Option<f64>) -> f64 {
    let part = part.unwrap_or(if traits.uneven { SECTION_OF_L2 } else { 0.0 });
    let key_bytes = (traits.d + traits.dv) as f64 * traits.dtype.size() as f64;
    part * target.l2_bytes as f64 / (key_bytes * pack as f64 / traits.group as f64)
}
