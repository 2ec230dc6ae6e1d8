//! Pixels and channels.

use super::*;

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
