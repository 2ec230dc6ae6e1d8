//! Every rule at its limit and one step beyond.

use super::*;
use crate::Arch;

type Built = Result<TensorMapDesc, TensorMapError>;

/// A legal map of each rank, whose every row, stride and extent suits every type but the padded.
fn tiled(data_type: DataType, rank: usize) -> TensorMapDesc {
    tiled_with(data_type, rank, 128, 64, 32)
}

fn tiled_with(data_type: DataType, rank: usize, extent: u64, stride: u64, row: u32) -> TensorMapDesc {
    let mut box_extents = [8; MAX_RANK];
    box_extents[0] = row;
    TensorMapDesc::tiled(
        data_type,
        &[extent; MAX_RANK][..rank],
        &[stride; 4][..rank - 1],
        &box_extents[..rank],
    )
    .unwrap()
}

fn im2col(rank: usize, lower: i32, upper: i32, channels: u32, pixels: u32) -> TensorMapDesc {
    let offsets = rank.saturating_sub(2);
    TensorMapDesc::im2col(
        DataType::F16,
        &[100_000; MAX_RANK][..rank],
        &[64; 4][..rank - 1],
        &[lower; 3][..offsets],
        &[upper; 3][..offsets],
        channels,
        pixels,
    )
    .unwrap()
}

/// `Ok` when legal, the rule that is named otherwise. At most one rule is broken.
fn verdict(desc: &TensorMapDesc, address: u64) -> Result<(), Rule> {
    let mut broken: Vec<_> = desc
        .checks(address)
        .iter()
        .filter(|check| !check.holds())
        .map(|check| check.rule)
        .collect();
    broken.dedup();
    assert!(broken.len() <= 1, "{desc} breaks {broken:?}");
    let result = desc.validate(address).map_err(|error| error.rule());
    assert_eq!(result.err(), broken.first().copied(), "{desc}");
    result
}

fn shape(desc: &TensorMapDesc) -> Result<(), Rule> {
    verdict(desc, 0x1000)
}

#[test]
fn rank_is_1_to_5() {
    let built = |rank: usize| -> Built {
        TensorMapDesc::tiled(
            DataType::F16,
            &vec![64; rank],
            &vec![64; rank.saturating_sub(1)],
            &vec![8; rank],
        )
    };
    assert_eq!(built(0).unwrap_err().rule(), Rule::Rank);
    for rank in 1..=5 {
        assert_eq!(shape(&built(rank).unwrap()), Ok(()), "{rank}");
    }
    assert_eq!(built(6).unwrap_err().rule(), Rule::Rank);
}

#[test]
fn arrays_have_the_length_of_the_rank() {
    let built = |strides: usize, boxes: usize| -> Built {
        TensorMapDesc::tiled(DataType::F16, &[64; 3], &vec![64; strides], &vec![8; boxes])
    };
    assert!(built(2, 3).is_ok());
    for (strides, boxes) in [(1, 3), (3, 3), (2, 2), (2, 4)] {
        assert_eq!(
            built(strides, boxes).unwrap_err().rule(),
            Rule::Lengths,
            "{strides} {boxes}"
        );
    }
    let desc = built(2, 3).unwrap();
    assert!(desc.with_element_strides(&[1, 2, 3]).is_ok());
    assert_eq!(
        desc.with_element_strides(&[1, 2]).unwrap_err().rule(),
        Rule::Lengths
    );
    let corners = |lower: &[i32], upper: &[i32]| {
        TensorMapDesc::im2col(DataType::F16, &[64; 4], &[64; 3], lower, upper, 8, 8)
    };
    assert!(corners(&[0; 2], &[0; 2]).is_ok());
    assert_eq!(corners(&[0; 1], &[0; 2]).unwrap_err().rule(), Rule::Lengths);
    assert_eq!(corners(&[0; 2], &[0; 3]).unwrap_err().rule(), Rule::Lengths);
}

#[test]
fn interleave_needs_3_dimensions() {
    for (rank, expected) in [(2, Err(Rule::InterleaveRank)), (3, Ok(())), (5, Ok(()))] {
        assert_eq!(
            shape(&tiled(DataType::F16, rank).with_interleave(Interleave::Bytes16)),
            expected
        );
    }
}

#[test]
fn im2col_needs_3_dimensions() {
    for (rank, expected) in [
        (1, Err(Rule::Im2colRank)),
        (2, Err(Rule::Im2colRank)),
        (3, Ok(())),
        (5, Ok(())),
    ] {
        assert_eq!(shape(&im2col(rank, 0, 0, 64, 64)), expected, "{rank}");
    }
}

#[test]
fn address_is_a_multiple_of_16_or_32() {
    let plain = tiled(DataType::F16, 3);
    let sliced = plain
        .with_interleave(Interleave::Bytes32)
        .with_swizzle(Swizzle::Bytes32);
    let padded = tiled_with(DataType::U6x16Align16, 3, 128, 64, 128);
    for address in [0x1000 - 1, 0x1000 + 1, 0x1000 + 8, u64::MAX] {
        assert_eq!(verdict(&plain, address), Err(Rule::AddressAlignment), "{address}");
    }
    assert_eq!(verdict(&plain, 0x1010), Ok(()));
    for (address, legal) in [(0x1010, false), (0x1020, true), (0x0ff0, false)] {
        let expected = |rule| if legal { Ok(()) } else { Err(rule) };
        assert_eq!(
            verdict(&sliced, address),
            expected(Rule::InterleaveAddressAlignment)
        );
        assert_eq!(verdict(&padded, address), expected(Rule::PaddedAddressAlignment));
    }
    assert!(sliced.validate_shape().is_ok(), "no address, no alignment");
}

#[test]
fn extents_are_1_to_2_to_the_32() {
    for (extent, legal) in [
        (0, false),
        (1, true),
        (1 << 32, true),
        ((1 << 32) + 1, false),
        (u64::MAX, false),
    ] {
        for dim in 0..3 {
            let mut extents = [64; 3];
            extents[dim] = extent;
            let desc = TensorMapDesc::tiled(DataType::F16, &extents, &[64; 2], &[8; 3]).unwrap();
            assert_eq!(
                shape(&desc),
                if legal { Ok(()) } else { Err(Rule::ExtentRange) },
                "{dim} {extent}"
            );
        }
    }
}

#[test]
fn packed_rows_end_on_a_group() {
    for (data_type, row, extent, legal) in [
        (DataType::U4x16Align8, 32, 33, false),
        (DataType::U4x16Align8, 32, 34, true),
        (DataType::U4x16Align16, 128, 255, false),
        (DataType::U4x16Align16, 128, 256, true),
        (DataType::U4x16Align16, 128, 257, false),
        (DataType::U6x16Align16, 128, 64, false),
        (DataType::U6x16Align16, 128, 128, true),
    ] {
        let expected = if legal { Ok(()) } else { Err(Rule::PackedExtent) };
        let desc = TensorMapDesc::tiled(data_type, &[extent, 7], &[64], &[row, 8]).unwrap();
        assert_eq!(shape(&desc), expected, "{desc}");
    }
}

#[test]
fn strides_are_multiples_of_16_or_32() {
    for (stride, legal) in [(15, false), (16, true), (17, false), (48, true), (0, true)] {
        let expected = if legal { Ok(()) } else { Err(Rule::StrideAlignment) };
        assert_eq!(
            shape(&tiled_with(DataType::F16, 3, 64, stride, 8)),
            expected,
            "{stride}"
        );
    }
    for (stride, legal) in [(16, false), (32, true), (48, false)] {
        let sliced = tiled_with(DataType::F16, 3, 64, stride, 8)
            .with_interleave(Interleave::Bytes32)
            .with_swizzle(Swizzle::Bytes32);
        let padded = tiled_with(DataType::U4x16Align16, 3, 128, stride, 128);
        let expected = |rule| if legal { Ok(()) } else { Err(rule) };
        assert_eq!(shape(&sliced), expected(Rule::InterleaveStrideAlignment));
        assert_eq!(shape(&padded), expected(Rule::PaddedStrideAlignment));
    }
}

#[test]
fn strides_are_below_2_to_the_40() {
    for (stride, legal) in [((1 << 40) - 16, true), (1 << 40, false), ((1 << 40) + 16, false)] {
        let expected = if legal { Ok(()) } else { Err(Rule::StrideRange) };
        assert_eq!(
            shape(&tiled_with(DataType::F16, 2, 64, stride, 8)),
            expected,
            "{stride}"
        );
    }
    let overflow =
        TensorMapDesc::contiguous(DataType::F64, &[1 << 32, 1 << 32, 1 << 32, 8], &[2, 1, 1, 1]).unwrap();
    assert_eq!(overflow.strides(), [1 << 35, u64::MAX, u64::MAX]);
    assert!(overflow.validate_shape().is_err());
}

#[test]
fn boxes_are_1_to_256() {
    for (size, legal) in [
        (0, false),
        (1, true),
        (256, true),
        (257, false),
        (u32::MAX, false),
    ] {
        let expected = if legal { Ok(()) } else { Err(Rule::BoxRange) };
        let desc = TensorMapDesc::tiled(DataType::U8, &[64; 2], &[64], &[16, size]).unwrap();
        assert_eq!(shape(&desc), expected, "{size}");
    }
    let wide = TensorMapDesc::tiled(DataType::U8, &[512; 1], &[], &[272]).unwrap();
    assert_eq!(shape(&wide), Err(Rule::BoxRange));
}

#[test]
fn box_rows_are_multiples_of_16_bytes() {
    let whole = [
        (DataType::U8, 16),
        (DataType::Bf16, 8),
        (DataType::F32, 4),
        (DataType::F64, 2),
        (DataType::U4x16Align8, 32),
    ];
    for (data_type, row) in whole {
        let desc = |row| tiled_with(data_type, 3, 128, 64, row);
        assert_eq!(shape(&desc(row)), Ok(()), "{data_type}");
        for row in [row - 1, row + 1] {
            assert_eq!(
                shape(&desc(row)),
                Err(Rule::BoxRowGranularity),
                "{data_type} {row}"
            );
            // With interleave, dimension 0 is a slice of channels.
            assert_eq!(shape(&desc(row).with_interleave(Interleave::Bytes16)), Ok(()));
        }
    }
}

#[test]
fn padded_types_have_rows_of_128() {
    for (row, expected) in [
        (64, Err(Rule::PaddedBoxRow)),
        (128, Ok(())),
        (192, Err(Rule::PaddedBoxRow)),
    ] {
        for data_type in [DataType::U4x16Align16, DataType::U6x16Align16] {
            assert_eq!(
                shape(&tiled_with(data_type, 3, 128, 64, row)),
                expected,
                "{data_type} {row}"
            );
        }
    }
    for (channels, expected) in [
        (127, Err(Rule::PaddedBoxRow)),
        (128, Ok(())),
        (129, Err(Rule::PaddedBoxRow)),
    ] {
        let corners = [0];
        let desc = TensorMapDesc::im2col(
            DataType::U6x16Align16,
            &[128; 3],
            &[96; 2],
            &corners,
            &corners,
            channels,
            64,
        );
        assert_eq!(shape(&desc.unwrap()), expected, "{channels}");
    }
}

#[test]
fn element_strides_are_1_to_8() {
    for (step, legal) in [(0, false), (1, true), (8, true), (9, false)] {
        let expected = if legal {
            Ok(())
        } else {
            Err(Rule::ElementStrideRange)
        };
        let desc = tiled(DataType::F16, 3);
        for steps in [[1, step, 1], [1, 1, step]] {
            assert_eq!(
                shape(&desc.with_element_strides(&steps).unwrap()),
                expected,
                "{steps:?}"
            );
        }
        let first = desc.with_element_strides(&[step, 1, 1]).unwrap();
        assert_eq!(shape(&first), Ok(()), "the first is ignored");
        assert_eq!(
            shape(&first.with_interleave(Interleave::Bytes16)),
            expected,
            "but not with interleave"
        );
    }
}

#[test]
fn swizzled_rows_fit_the_span() {
    for swizzle in [
        Swizzle::Bytes32,
        Swizzle::Bytes64,
        Swizzle::Bytes128,
        Swizzle::Bytes128Atom64,
    ] {
        let span = u32::try_from(swizzle.span_bytes().unwrap()).unwrap();
        let rows = [
            (DataType::U8, span, 16),
            (DataType::Bf16, span / 2, 8),
            (DataType::F64, span / 8, 2),
        ];
        for (data_type, row, step) in rows {
            let desc = |row| tiled_with(data_type, 3, 128, 64, row).with_swizzle(swizzle);
            assert_eq!(shape(&desc(row)), Ok(()), "{data_type} {swizzle}");
            assert_eq!(
                shape(&desc(row + step)),
                Err(Rule::SwizzleSpan),
                "{data_type} {swizzle}"
            );
            assert_eq!(
                shape(&desc(row + step).with_interleave(Interleave::Bytes16)),
                Ok(())
            );
        }
        let columns = |channels| im2col(4, 0, 0, channels, 64).with_swizzle(swizzle);
        assert_eq!(shape(&columns(span / 2)), Ok(()), "{swizzle}");
        assert_eq!(shape(&columns(span / 2 + 1)), Err(Rule::SwizzleSpan), "{swizzle}");
    }
}

#[test]
fn interleave_32_needs_swizzle_32() {
    for swizzle in Swizzle::ALL {
        let desc = tiled(DataType::F16, 3).with_swizzle(swizzle);
        let expected = if swizzle == Swizzle::Bytes32 {
            Ok(())
        } else {
            Err(Rule::InterleaveSwizzle)
        };
        assert_eq!(
            shape(&desc.with_interleave(Interleave::Bytes32)),
            expected,
            "{swizzle}"
        );
        assert_eq!(
            shape(&desc.with_interleave(Interleave::Bytes16)),
            Ok(()),
            "{swizzle}"
        );
    }
}

#[test]
fn padded_types_have_their_own_swizzles_and_no_interleave() {
    use Swizzle::{Bytes128, Bytes128Atom32, Bytes128Atom64, None};
    let allowed = [
        (DataType::U4x16Align16, &[None, Bytes128, Bytes128Atom32][..]),
        (
            DataType::U6x16Align16,
            &[None, Bytes128, Bytes128Atom32, Bytes128Atom64][..],
        ),
    ];
    for (data_type, swizzles) in allowed {
        for swizzle in [
            None,
            Bytes128,
            Bytes128Atom32,
            Swizzle::Bytes128Atom32Flip8,
            Bytes128Atom64,
        ] {
            let desc = tiled_with(data_type, 3, 128, 64, 128).with_swizzle(swizzle);
            let expected = if swizzles.contains(&swizzle) {
                Ok(())
            } else {
                Err(Rule::PaddedSwizzle)
            };
            assert_eq!(shape(&desc), expected, "{desc}");
        }
    }
    let sliced = |data_type| tiled_with(data_type, 3, 128, 64, 128).with_interleave(Interleave::Bytes16);
    assert_eq!(
        shape(&sliced(DataType::U6x16Align16)),
        Err(Rule::PaddedInterleave)
    );
    assert_eq!(shape(&sliced(DataType::U4x16Align16)), Ok(()));
}

#[test]
fn only_floats_are_filled_with_nan() {
    for data_type in DataType::ALL {
        let desc = tiled_with(data_type, 3, 128, 64, 128).with_fill(Fill::NanRequestZeroFma);
        let expected = if data_type.is_float() {
            Ok(())
        } else {
            Err(Rule::FloatFill)
        };
        assert_eq!(shape(&desc), expected, "{data_type}");
    }
}

#[test]
fn corners_fit_their_bits() {
    for (rank, min, max) in [(3, -32_768, 32_767), (4, -128, 127), (5, -16, 15)] {
        for (offset, legal) in [(min - 1, false), (min, true), (max, true), (max + 1, false)] {
            let expected = if legal { Ok(()) } else { Err(Rule::CornerRange) };
            assert_eq!(
                shape(&im2col(rank, offset, 0, 64, 64)),
                expected,
                "{rank} {offset}"
            );
            assert_eq!(
                shape(&im2col(rank, 0, offset, 64, 64)),
                expected,
                "{rank} {offset}"
            );
        }
    }
}

#[test]
fn im2col_boxes_hold_a_pixel() {
    let desc = |lower: &[i32], upper: &[i32]| {
        TensorMapDesc::im2col(DataType::F16, &[64, 7, 9, 2], &[64; 3], lower, upper, 8, 8).unwrap()
    };
    // Width 7, height 9: the offsets are in the order of the tensor's dimensions.
    for (lower, upper, legal) in [
        ([0, 0], [-6, -8], true),
        ([0, 0], [-7, -8], false),
        ([0, 0], [-6, -9], false),
        ([3, 4], [-3, -4], true),
        ([4, 4], [-3, -4], false),
        ([-100, -100], [-106, -108], true),
    ] {
        let expected = if legal { Ok(()) } else { Err(Rule::CornerArea) };
        assert_eq!(shape(&desc(&lower, &upper)), expected, "{lower:?} {upper:?}");
    }
}

#[test]
fn columns_are_up_to_256_channels_of_1024_pixels() {
    for (channels, legal) in [(0, false), (1, true), (256, true), (257, false)] {
        let expected = if legal { Ok(()) } else { Err(Rule::ChannelRange) };
        assert_eq!(shape(&im2col(4, 0, 0, channels, 64)), expected, "{channels}");
    }
    for (pixels, legal) in [(0, false), (1, true), (1024, true), (1025, false)] {
        let expected = if legal { Ok(()) } else { Err(Rule::PixelRange) };
        assert_eq!(shape(&im2col(4, 0, 0, 64, pixels)), expected, "{pixels}");
    }
}

#[test]
fn architectures_lack_types_and_swizzles() {
    for data_type in DataType::ALL {
        for swizzle in Swizzle::ALL {
            let desc = tiled_with(data_type, 3, 128, 64, 128).with_swizzle(swizzle);
            for arch in Arch::ALL {
                let expected = data_type.needs() <= arch && swizzle.needs() <= arch;
                let expected = if expected { Ok(()) } else { Err(Rule::Architecture) };
                let result = desc.supported_on(arch).map_err(|error| error.rule());
                assert_eq!(result, expected, "{desc} on {arch}");
            }
        }
    }
}

#[test]
fn messages_say_what_would_do() {
    let desc = TensorMapDesc::contiguous(DataType::Bf16, &[64, 100], &[64, 300]).unwrap();
    assert_eq!(
        desc.validate(0x1008).unwrap_err().to_string(),
        "globalAddress = 4104, but the tensor's address must be 16-byte aligned: a multiple of 16 would do, \
         such as 4096 or 4112 (CUDA driver API, cuTensorMapEncodeTiled/Im2col, globalAddress)"
    );
    assert_eq!(
        desc.validate(0x1000).unwrap_err().to_string(),
        "boxDim[1] = 300, but a box is at least 1 and at most 256 elements in every dimension: 1 to 256 would do \
         (CUDA driver API, cuTensorMapEncodeTiled/Im2col, boxDim)"
    );
    let desc = TensorMapDesc::contiguous(DataType::U8, &[64, 100], &[64, 30]).unwrap();
    assert_eq!(
        desc.with_fill(Fill::NanRequestZeroFma)
            .validate_shape()
            .unwrap_err()
            .to_string(),
        "tensorDataType = u8, but only floating-point types can be filled with NaN: f16, f32, f64, bf16, f32-ftz, \
         tf32, tf32-ftz would do (CUDA driver API, cuTensorMapEncodeTiled/Im2col, oobFill)"
    );
    assert_eq!(
        desc.with_swizzle(Swizzle::Bytes128Atom32)
            .supported_on(Arch::Sm90a)
            .unwrap_err()
            .to_string(),
        "128B-atom32B = sm_90a, but the device's architecture must have the element type and the swizzle: sm_100a \
         would do (PTX ISA, tensormap.replace, Target ISA Notes)"
    );
}

#[test]
fn box_bytes_count_what_is_loaded() {
    let desc = tiled_with(DataType::Bf16, 3, 128, 64, 64);
    assert_eq!(desc.box_bytes(), Some(64 * 8 * 8 * 2));
    // The step of dimension 0 is ignored, those of the others round up.
    assert_eq!(
        desc.with_element_strides(&[4, 3, 8]).unwrap().box_bytes(),
        Some(64 * 3 * 2)
    );
    assert_eq!(
        tiled_with(DataType::U4x16Align8, 1, 128, 64, 128).box_bytes(),
        Some(64)
    );
    assert_eq!(
        tiled_with(DataType::U6x16Align16, 1, 128, 64, 128).box_bytes(),
        Some(128)
    );
    assert_eq!(im2col(4, 0, 0, 64, 100).box_bytes(), Some(64 * 100 * 2));
    assert_eq!(desc.with_interleave(Interleave::Bytes16).box_bytes(), None);
    let huge = TensorMapDesc::tiled(DataType::F64, &[1; 5], &[64; 4], &[u32::MAX; 5]).unwrap();
    assert_eq!(huge.box_bytes(), None);
}
