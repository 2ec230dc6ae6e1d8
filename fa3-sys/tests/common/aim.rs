//! Maps at the limit of a chosen rule.

use fa3_sys::tensormap::{DataType, Fill, Interleave, Rule, Swizzle};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

use super::args::{Args, SLOTS};
use super::draw::{MOST_BYTES, Wish, corner_half, legal, small};
use super::near::side_counted;

/// The side of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Legal,
    Illegal,
}

const PADDED: &[DataType] = &[DataType::U4x16Align16, DataType::U6x16Align16];
const PACKED: &[DataType] = &[DataType::U4x16Align8, DataType::U4x16Align16, DataType::U6x16Align16];
const PLAIN: &[DataType] = &[
    DataType::U8,
    DataType::Bf16,
    DataType::F16,
    DataType::I32,
    DataType::F32,
    DataType::U64,
    DataType::F64,
];
const INTEGERS: &[DataType] =
    &[DataType::U8, DataType::U16, DataType::U32, DataType::I32, DataType::U64, DataType::I64];
const FLOATS: &[DataType] = &[
    DataType::F16,
    DataType::F32,
    DataType::F64,
    DataType::Bf16,
    DataType::F32Ftz,
    DataType::Tf32,
    DataType::Tf32Ftz,
];

/// A map on this side of the rule's limit, within one step, that breaks no other rule.
pub(crate) fn aim(rng: &mut Pcg64Mcg, rule: Rule, side: Side) -> Args {
    let wish = wish(rng, rule, side);
    for _ in 0..10_000 {
        let mut args = legal(rng, &wish);
        nudge(rng, &mut args, rule, side);
        if side_counted(&args, rule) == Some(side) {
            args.target = Some(rule);
            return args;
        }
    }
    panic!("no {side:?} map at the limit of {rule:?}")
}

/// What a map must be like for the rule to apply.
fn wish(rng: &mut Pcg64Mcg, rule: Rule, side: Side) -> Wish {
    let plain = Wish { data_types: Some(PLAIN), ..Wish::default() };
    let padded = Wish { data_types: Some(PADDED), ..Wish::default() };
    let tiled = Wish { im2col: Some(false), ..plain };
    let im2col = Wish { im2col: Some(true), ..plain };
    let sliced = |interleave| Wish { interleave: Some(interleave), min_rank: 3, ..plain };
    match rule {
        Rule::Lengths | Rule::Rank | Rule::ElementStrideRange => plain,
        Rule::InterleaveRank => Wish {
            im2col: Some(false),
            ..sliced(*[Interleave::Bytes16, Interleave::Bytes32].choose(rng).unwrap())
        },
        Rule::InterleaveAddressAlignment | Rule::InterleaveStrideAlignment => sliced(Interleave::Bytes32),
        Rule::AddressAlignment | Rule::StrideAlignment | Rule::StrideRange => {
            let interleave = *[Interleave::None, Interleave::Bytes16].choose(rng).unwrap();
            Wish { interleave: Some(interleave), min_rank: 3, ..plain }
        }
        Rule::ExtentRange => plain,
        Rule::PaddedAddressAlignment | Rule::PaddedStrideAlignment | Rule::PaddedSwizzle => {
            Wish { min_rank: 2, ..padded }
        }
        Rule::PackedExtent => Wish { data_types: Some(PACKED), ..padded },
        Rule::PaddedBoxRow => padded,
        Rule::PaddedInterleave => Wish { data_types: Some(&[DataType::U6x16Align16]), min_rank: 3, ..padded },
        Rule::BoxRange => Wish { min_rank: 2, ..tiled },
        Rule::BoxRowGranularity => Wish { interleave: Some(Interleave::None), ..tiled },
        Rule::SlicedRowGranularity => Wish {
            im2col: Some(false),
            ..sliced(*[Interleave::Bytes16, Interleave::Bytes32].choose(rng).unwrap())
        },
        Rule::IgnoredElementStrideRange => Wish { interleave: Some(Interleave::None), ..plain },
        Rule::BoxSize if rng.random_bool(0.25) => Wish { swizzle: Some(Swizzle::None), ..im2col },
        Rule::BoxSize => Wish { min_rank: 3, ..tiled },
        Rule::SwizzleSpan => {
            let swizzles = [Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
            Wish {
                interleave: Some(Interleave::None),
                swizzle: Some(*swizzles.choose(rng).unwrap()),
                im2col: Some(rng.random_bool(0.3)),
                ..plain
            }
        }
        Rule::FloatFill => {
            Wish { data_types: Some(if side == Side::Legal { FLOATS } else { INTEGERS }), ..plain }
        }
        Rule::Im2colRank => Wish { interleave: Some(Interleave::None), ..im2col },
        Rule::CornerArea if rng.random_bool(0.5) => {
            Wish { im2col: Some(true), ..sliced(Interleave::Bytes16) }
        }
        Rule::CornerRange | Rule::CornerArea | Rule::PixelRange => im2col,
        Rule::ChannelGranularity => im2col,
        Rule::ChannelRange => Wish { swizzle: Some(Swizzle::None), ..im2col },
        Rule::Architecture => Wish::default(),
    }
}

/// Moves one argument to the limit. What this breaks besides, [`aim`] throws away.
fn nudge(rng: &mut Pcg64Mcg, args: &mut Args, rule: Rule, side: Side) {
    let legal = side == Side::Legal;
    let sign = if rng.random_bool(0.5) { 1 } else { u64::MAX };
    let dim = rng.random_range(0..args.rank);
    let upper_dim = rng.random_range(0..args.rank.max(2) - 1);
    let spatial = rng.random_range(0..args.rank.max(3) - 2);
    match rule {
        Rule::Rank => args.rank = usize::try_from(at(rng, legal, 1, 5)).unwrap(),
        Rule::InterleaveRank | Rule::Im2colRank if !legal => args.rank = 2,
        Rule::AddressAlignment if legal => args.address = args.address / 32 * 32 + 16,
        Rule::AddressAlignment => args.address = args.address.wrapping_add(sign),
        Rule::InterleaveAddressAlignment | Rule::PaddedAddressAlignment => {
            args.address = args.address / 64 * 64 + if legal { 32 } else { 16 };
        }
        Rule::ExtentRange => args.extents[dim] = u64::try_from(at(rng, legal, 1, 1 << 32)).unwrap(),
        Rule::PackedExtent if !legal => args.extents[0] = args.extents[0].wrapping_add(sign),
        Rule::StrideAlignment if !legal => {
            args.strides[upper_dim] = args.strides[upper_dim].wrapping_add(sign);
        }
        Rule::InterleaveStrideAlignment | Rule::PaddedStrideAlignment if !legal => {
            args.strides[upper_dim] ^= 16;
        }
        Rule::StrideRange => args.strides[upper_dim] = if legal { (1 << 40) - 16 } else { 1 << 40 },
        Rule::BoxRange if dim > 0 => args.box_extents[dim] = u32::try_from(at(rng, legal, 1, 256)).unwrap(),
        Rule::BoxRange | Rule::ChannelRange => {
            let group = args.row_granule();
            let rows = if legal { [group, 256] } else { [0, 256 + group] };
            args.box_extents[0] = *rows.choose(rng).unwrap();
        }
        Rule::BoxRowGranularity | Rule::SlicedRowGranularity | Rule::ChannelGranularity if !legal => {
            args.box_extents[0] = args.box_extents[0].wrapping_add(sign as u32);
        }
        Rule::PaddedBoxRow if !legal => {
            args.box_extents[0] = u32::try_from(at(rng, legal, 128, 128)).unwrap()
        }
        Rule::ElementStrideRange => args.element_strides[dim] = u32::try_from(at(rng, legal, 1, 8)).unwrap(),
        Rule::IgnoredElementStrideRange => {
            args.element_strides[0] = u32::try_from(at(rng, legal, 1, 8)).unwrap();
        }
        Rule::BoxSize => fill(rng, args, legal),
        Rule::SwizzleSpan => {
            let bits = args.data_type.bits();
            let span = args.swizzle.span_bytes().unwrap_or(0) * 8 / bits;
            args.box_extents[0] = u32::try_from(if legal { span } else { span + 128 / bits }).unwrap();
        }
        Rule::PaddedSwizzle if !legal => {
            args.swizzle = *Swizzle::ALL.choose(rng).unwrap();
        }
        Rule::PaddedInterleave if !legal => args.interleave = Interleave::Bytes16,
        Rule::FloatFill => args.fill = Fill::NanRequestZeroFma,
        Rule::CornerRange => {
            let half = i64::from(corner_half(args.rank));
            let offset = i32::try_from(at(rng, legal, -half, half - 1)).unwrap();
            let columns = args.columns.as_mut().unwrap();
            if rng.random_bool(0.5) {
                columns.lower[spatial] = offset;
            } else {
                columns.upper[spatial] = offset;
            }
        }
        Rule::CornerArea => corner_area(rng, args, legal, spatial),
        Rule::PixelRange => {
            args.columns.as_mut().unwrap().pixels = u32::try_from(at(rng, legal, 1, 1024)).unwrap();
        }
        _ => {}
    }
}

/// Makes the im2col box of this spatial dimension a pixel or two, or none at all, or ends it where
/// 32 bits end. The driver counts in 32 bits, so that an extent larger by 2^32 is the same.
fn corner_area(rng: &mut Pcg64Mcg, args: &mut Args, legal: bool, spatial: usize) {
    let half = corner_half(args.rank);
    let lower = rng.random_range(-half..half);
    let upper = rng.random_range(-half..half);
    let (lower_end, last) = (i64::from(lower), i64::from(i32::MAX));
    let anew = if rng.random_bool(0.5) { 1_i64 << 32 } else { 0 };
    let end = match (legal, rng.random_bool(0.5)) {
        (true, true) => last - i64::from(rng.random_bool(0.5)),
        (true, false) => anew + lower_end + rng.random_range(1..=2),
        (false, _) => anew + lower_end,
    };
    let dim = spatial + args.first_spatial();
    args.extents[dim] = u64::try_from(end - i64::from(upper)).unwrap_or(0);
    let columns = args.columns.as_mut().unwrap();
    columns.lower[spatial] = lower;
    columns.upper[spatial] = upper;
}

/// Makes the box or the column as many bytes as the limit allows, or a few more, all but the last of
/// its numbers at random. Where there are element strides, a box is no multiple of them.
fn fill(rng: &mut Pcg64Mcg, args: &mut Args, legal: bool) {
    let most = if legal { MOST_BYTES } else { MOST_BYTES + 128 };
    let group = args.row_granule();
    let longest_row = match args.swizzle.span_bytes() {
        Some(bytes) if args.interleave == Interleave::None => u32::try_from(bytes / 16).unwrap(),
        _ => 256 / group,
    };
    let strided = rng.random_bool(0.5);
    for step in &mut args.element_strides {
        *step = if strided { small(rng, 1, 8) } else { 1 };
    }
    for _ in 0..1000 {
        args.box_extents[0] = group * rng.random_range(1..=longest_row);
        match &mut args.columns {
            Some(columns) => columns.pixels = 1,
            None => {
                for (size, &step) in args.box_extents[1..].iter_mut().zip(&args.element_strides[1..]) {
                    *size = small(rng, step, 256);
                }
                args.box_extents[args.rank - 1] = args.element_strides[args.rank - 1];
            }
        }
        let bytes = args.copy_bytes();
        if bytes == 0 || most % bytes >= 128 {
            continue;
        }
        let count = u32::try_from(most / bytes).unwrap();
        match &mut args.columns {
            Some(columns) => columns.pixels = count,
            None => {
                let step = args.element_strides[args.rank - 1];
                args.box_extents[args.rank - 1] = count * step + rng.random_range(0..step);
            }
        }
        if side_counted(args, Rule::BoxSize).is_some() {
            return;
        }
    }
}

/// A box of as many bytes as 2^32 divides, which is no bytes to who counts in 32 bits.
pub(crate) fn divided_by_2_to_the_32(rng: &mut Pcg64Mcg) -> Args {
    let wish = Wish {
        data_types: Some(PLAIN),
        im2col: Some(false),
        min_rank: 5,
        swizzle: Some(Swizzle::None),
        ..Wish::default()
    };
    let mut args = legal(rng, &wish);
    args.target = Some(Rule::BoxSize);
    args.element_strides = [1; SLOTS];
    let last = args.box_extents[rng.random_range(1..args.rank)];
    args.box_extents = [256; SLOTS];
    args.box_extents[rng.random_range(1..args.rank)] = last;
    args
}

/// At a range's limits: one of the last allowed values and their neighbours, or the first beyond.
fn at(rng: &mut Pcg64Mcg, legal: bool, min: i64, max: i64) -> i64 {
    let values = if legal { &[min, min + 1, max - 1, max][..] } else { &[min - 1, max + 1][..] };
    *values.choose(rng).unwrap()
}
