//! Pixels and channels.

use super::*;

#[test]
fn im2col_needs_3_dimensions() {
    for (rank, expected) in [(1, Err(Rule::Im2colRank)), (2, Err(Rule::Im2colRank)), (3, Ok(())), (5, Ok(()))]
    {
        assert_eq!(shape(&im2col(rank, 0, 0, 64, 64)), expected, "{rank}");
    }
}

#[test]
fn corners_fit_their_bits() {
    for (rank, min, max) in [(3, -32_768, 32_767), (4, -128, 127), (5, -16, 15)] {
        for (offset, legal) in [(min - 1, false), (min, true), (max, true), (max + 1, false)] {
            let expected = if legal { Ok(()) } else { Err(Rule::CornerRange) };
            assert_eq!(shape(&im2col(rank, offset, 0, 64, 64)), expected, "{rank} {offset}");
            assert_eq!(shape(&im2col(rank, 0, offset, 64, 64)), expected, "{rank} {offset}");
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
fn im2col_boxes_end_within_31_bits() {
    let width = |extent: u64, lower: i32, upper: i32| {
        TensorMapDesc::im2col(DataType::F16, &[64, extent, 2], &[64; 2], &[lower], &[upper], 8, 8).unwrap()
    };
    for (extent, lower, upper, legal) in [
        ((1 << 31) - 1, 0, 0, true),
        (1 << 31, 0, 0, false),
        ((1 << 31) + 5, 7, -6, true),
        ((1 << 31) + 5, 7, -5, false),
        ((1 << 31) - 5, 1, 4, true),
        ((1 << 31) - 5, 1, 5, false),
        ((1 << 32) - 1, 0, 0, false),
        (1 << 32, 0, 0, false),
        (1 << 32, 4, 5, true),
        (1 << 32, 5, 5, false),
        (1 << 32, 5, 4, false),
    ] {
        let expected = if legal { Ok(()) } else { Err(Rule::CornerArea) };
        let desc = width(extent, lower, upper);
        assert_eq!(shape(&desc), expected, "{desc}");
    }
}

#[test]
fn interleaved_im2col_boxes_are_counted_from_dimension_0() {
    let desc = |extents: &[u64]| {
        TensorMapDesc::im2col(DataType::F16, extents, &[64; 3], &[0, 0], &[-6, -8], 8, 8).unwrap()
    };
    for (extents, plain, sliced) in [
        ([7, 9, 9, 2], Ok(()), Ok(())),
        ([6, 9, 9, 2], Ok(()), Err(Rule::CornerArea)),
        ([7, 8, 9, 2], Ok(()), Err(Rule::CornerArea)),
        ([7, 9, 8, 2], Err(Rule::CornerArea), Ok(())),
    ] {
        let desc = desc(&extents);
        assert_eq!(shape(&desc), plain, "{desc}");
        for interleave in [Interleave::Bytes16, Interleave::Bytes32] {
            assert_eq!(shape(&desc.with_interleave(interleave)), sliced, "{desc}");
        }
    }
}

#[test]
fn columns_are_up_to_256_channels_of_1024_pixels() {
    for (channels, legal) in [(0, false), (8, true), (256, true), (264, false)] {
        let expected = if legal { Ok(()) } else { Err(Rule::ChannelRange) };
        assert_eq!(shape(&im2col(4, 0, 0, channels, 64)), expected, "{channels}");
    }
    for (pixels, legal) in [(0, false), (1, true), (1024, true), (1025, false)] {
        let expected = if legal { Ok(()) } else { Err(Rule::PixelRange) };
        assert_eq!(shape(&im2col(4, 0, 0, 64, pixels)), expected, "{pixels}");
    }
}
