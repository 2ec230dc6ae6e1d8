//! Legal maps, drawn at random under some wishes.

use fa3_sys::Arch;
use fa3_sys::tensormap::{DataType, Fill, Interleave, L2Promotion, Swizzle};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

use super::args::{Args, Columns, SLOTS};

/// What a drawn map should be like, where it matters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// One of these types.
    pub(crate) data_types: Option<&'static [DataType]>,
    /// Im2col or tiled.
    pub(crate) im2col: Option<bool>,
    /// At least this rank.
    pub(crate) min_rank: usize,
    /// This interleave.
    pub(crate) interleave: Option<Interleave>,
    /// This swizzle.
    pub(crate) swizzle: Option<Swizzle>,
}

/// A legal map, most often one that Hopper has. Its numbers spread over all magnitudes.
pub(crate) fn legal(rng: &mut Pcg64Mcg, wish: &Wish) -> Args {
    let hopper = rng.random_bool(0.85);
    let im2col = wish.im2col.unwrap_or_else(|| rng.random_bool(0.35));
    let rank = rng.random_range(wish.min_rank.max(if im2col { 3 } else { 1 })..=5);
    let data_type = match wish.data_types {
        Some(types) => *types.choose(rng).unwrap(),
        None => pick(rng, &DataType::ALL, |t| !hopper || t.needs() == Arch::Sm90a),
    };
    let interleave = wish.interleave.unwrap_or_else(|| match rng.random_range(0..10) {
        0..=6 => Interleave::None,
        _ if rank < 3 || data_type == DataType::U6x16Align16 => Interleave::None,
        7 => Interleave::Bytes16,
        _ => Interleave::Bytes32,
    });
    let swizzle = wish
        .swizzle
        .unwrap_or_else(|| pick(rng, &Swizzle::ALL, |&swizzle| swizzle_goes(swizzle, data_type, hopper)));
    let unit = if data_type.is_padded() || interleave == Interleave::Bytes32 { 32 } else { 16 };
    let row = row(rng, data_type, interleave, swizzle);

    // The box of an im2col map is at most 2^31 - 1, beyond the extent by two offsets.
    let longest = if im2col { (1 << 31) - (1 << 17) } else { 1 << 32 };
    let mut extents = [(); SLOTS].map(|()| magnitude(rng, 1, longest));
    let group = match data_type {
        DataType::U4x16Align8 => 2,
        _ if data_type.is_padded() => 128,
        _ => 1,
    };
    extents[0] = (extents[0] / group).max(1) * group;
    let mut strides = [(); SLOTS].map(|()| magnitude(rng, 0, ((1 << 40) - 1) / unit) * unit);
    if rng.random_bool(0.5) {
        nest(&mut strides, &mut extents, data_type, unit);
    }
    let mut box_extents = [(); SLOTS].map(|()| small(rng, 1, 256));
    box_extents[0] = row;
    let mut element_strides = [1; SLOTS];
    if rng.random_bool(0.3) {
        element_strides = [(); SLOTS].map(|()| rng.random_range(1..=8));
    }
    let mut args = Args {
        target: None,
        data_type,
        rank,
        columns: im2col.then(|| columns(rng, rank, &extents[usize::from(interleave == Interleave::None)..])),
        extents,
        strides,
        box_extents,
        element_strides,
        interleave,
        swizzle,
        l2_promotion: *L2Promotion::ALL.choose(rng).unwrap(),
        fill: pick(rng, &Fill::ALL, |&fill| fill == Fill::Zeros || data_type.is_float()),
        address: magnitude(rng, 0, ((1 << 47) - 1) / unit) * unit,
    };
    shrink(rng, &mut args);
    args
}

/// The most bytes that one copy may have.
pub(crate) const MOST_BYTES: i128 = 228 * 1024;

/// Halves the box or the column until one copy is not too large.
fn shrink(rng: &mut Pcg64Mcg, args: &mut Args) {
    while args.copy_bytes() > MOST_BYTES {
        let size = match &mut args.columns {
            Some(columns) => &mut columns.pixels,
            None => &mut args.box_extents[rng.random_range(1..args.rank)],
        };
        *size = size.div_ceil(2);
    }
}

/// Whether the swizzle is legal with the type.
fn swizzle_goes(swizzle: Swizzle, data_type: DataType, hopper: bool) -> bool {
    use Swizzle::{Bytes128, Bytes128Atom32, Bytes128Atom64, None};
    let known = !hopper || swizzle.needs() == Arch::Sm90a;
    known
        && match data_type {
            DataType::U4x16Align16 => [None, Bytes128, Bytes128Atom32].contains(&swizzle),
            DataType::U6x16Align16 => [None, Bytes128, Bytes128Atom32, Bytes128Atom64].contains(&swizzle),
            _ => true,
        }
}

/// A row of the box, or the channels of a pixel.
fn row(rng: &mut Pcg64Mcg, data_type: DataType, interleave: Interleave, swizzle: Swizzle) -> u32 {
    if data_type.is_padded() {
        return 128;
    }
    let bits = u32::try_from(data_type.bits()).unwrap();
    let span = match swizzle.span_bytes() {
        Some(bytes) if interleave == Interleave::None => u32::try_from(bytes).unwrap() * 8 / bits,
        _ => 256,
    };
    let group = 128 / bits;
    small(rng, 1, span.min(256) / group) * group
}

/// Corners within their bits, around at least one pixel of the spatial extents.
fn columns(rng: &mut Pcg64Mcg, rank: usize, extents: &[u64]) -> Columns {
    let half = corner_half(rank);
    let mut columns = Columns { lower: [0; SLOTS], upper: [0; SLOTS], pixels: small(rng, 1, 1024) };
    for ((lower, upper), &extent) in columns.lower.iter_mut().zip(&mut columns.upper).zip(extents) {
        *lower = rng.random_range(-half..half);
        let least = i64::from(*lower) + 1 - i64::try_from(extent).unwrap();
        *upper = rng.random_range(i32::try_from(least.max((-half).into())).unwrap()..half);
    }
    columns
}

/// Corner offsets of a rank reach from minus this to this less one.
pub(crate) fn corner_half(rank: usize) -> i32 {
    match rank {
        0..=3 => 32_768,
        4 => 128,
        _ => 16,
    }
}

/// Makes the dimensions nest, each stride holding the dimension below, as far as that is legal.
fn nest(strides: &mut [u64; SLOTS], extents: &mut [u64; SLOTS], data_type: DataType, unit: u64) {
    let mut bytes = (extents[0] * data_type.bits()).div_ceil(8);
    for (stride, extent) in strides.iter_mut().zip(&mut extents[1..]) {
        *stride = bytes.next_multiple_of(unit);
        *extent = (*extent).min((((1 << 40) - unit) / *stride).max(1));
        bytes = *stride * *extent;
    }
}

fn pick<T: Copy>(rng: &mut Pcg64Mcg, all: &[T], allowed: impl Fn(&T) -> bool) -> T {
    let allowed: Vec<_> = all.iter().filter(|item| allowed(item)).collect();
    **allowed.choose(rng).unwrap()
}

/// A number whose bits, rather than itself, are uniform.
fn magnitude(rng: &mut Pcg64Mcg, min: u64, max: u64) -> u64 {
    let bits = rng.random_range(0..=max.ilog2() + 1);
    rng.random_range(0..=1_u64 << bits).clamp(min, max)
}

pub(crate) fn small(rng: &mut Pcg64Mcg, min: u32, max: u32) -> u32 {
    u32::try_from(magnitude(rng, min.into(), max.into())).unwrap()
}
