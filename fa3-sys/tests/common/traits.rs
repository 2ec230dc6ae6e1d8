//! What stands out in a map though no rule mentions it: where the driver refuses a map that we
//! accept, the traits that its maps share show the undocumented rule.

use fa3_sys::tensormap::Interleave;

use super::args::Args;

/// The map's traits, its modes included.
pub(crate) fn traits(args: &Args) -> Vec<String> {
    let mut found = modes(args);
    let desc = args.build_clamped();
    let rank = desc.rank();
    let bits = args.data_type.bits();
    let extents = desc.extents();
    let strides = desc.strides();
    let row_bits = u64::from(args.box_extents[0]) * bits;
    let upper = 1..rank;
    let nests = |i: usize| {
        let below =
            if i == 1 { extents[0] * bits / 8 } else { strides[i - 2].saturating_mul(extents[i - 1]) };
        strides[i - 1] >= below
    };
    let bytes = (1..rank).map(|i| u128::from(strides[i - 1]) * u128::from(extents[i] - 1)).sum::<u128>();
    let mut trait_if = |name: &str, holds: bool| {
        if holds {
            found.push(name.to_owned());
        }
    };
    trait_if("address 0", args.address == 0);
    trait_if("a stride of 0", strides.contains(&0));
    trait_if("strides that overlap the dimension below", !upper.clone().all(nests));
    trait_if("a row that overlaps the next", rank > 1 && strides[0] * 8 < extents[0] * bits);
    trait_if("strides that decrease", !strides.is_sorted());
    trait_if("stride i less than extent i", (1..strides.len()).any(|i| strides[i] < extents[i]));
    trait_if("more than 2^40 bytes", bytes >= 1 << 40);
    trait_if("more than 2^47 bytes", bytes >= 1 << 47);
    trait_if("more than 2^64 bytes", bytes >= 1 << 64);
    trait_if("innermost extent no multiple of 16 bytes", !(extents[0] * bits).is_multiple_of(128));
    trait_if("an element stride above 1", args.element_strides[1..rank].iter().any(|&step| step > 1));
    trait_if("innermost element stride not 1", args.element_strides[0] != 1);
    if args.interleave != Interleave::None {
        let slice = if args.interleave == Interleave::Bytes16 { 128 } else { 256 };
        trait_if("interleaved row that is not one slice", row_bits != slice);
        trait_if("interleaved row that is no multiple of a slice", !row_bits.is_multiple_of(slice));
        trait_if(
            "interleaved row beyond the swizzle's span",
            args.swizzle.span_bytes().is_some_and(|s| row_bits > 8 * s),
        );
    }
    match &args.columns {
        None => {
            let sizes = &args.box_extents[..rank];
            let steps = &args.element_strides[..rank];
            trait_if("a box beyond its extent", sizes.iter().zip(extents).any(|(&b, &e)| u64::from(b) > e));
            trait_if("a box row beyond its extent", u64::from(sizes[0]) > extents[0]);
            trait_if("an element stride beyond the box", upper.clone().any(|i| steps[i] > sizes[i]));
            trait_if(
                "a box that is no multiple of the element stride",
                upper.clone().any(|i| steps[i] > 0 && !sizes[i].is_multiple_of(steps[i])),
            );
        }
        Some(columns) => {
            let spatial = ..rank.saturating_sub(2);
            trait_if("channels beyond their extent", u64::from(args.box_extents[0]) > extents[0]);
            trait_if("a positive lower corner", columns.lower[spatial].iter().any(|&offset| offset > 0));
            trait_if("a positive upper corner", columns.upper[spatial].iter().any(|&offset| offset > 0));
            trait_if("a batch element stride above 1", args.element_strides[rank - 1] > 1);
        }
    }
    found
}

/// The modes, of which every map has one each.
fn modes(args: &Args) -> Vec<String> {
    let mode = if args.columns.is_some() { "im2col" } else { "tiled" };
    vec![
        format!("{mode} rank {}", args.rank),
        format!("{mode} type {}", args.data_type),
        format!("{mode} interleave {}, swizzle {}", args.interleave, args.swizzle),
        format!("L2 {}", args.l2_promotion),
        format!("fill {}", args.fill),
    ]
}
