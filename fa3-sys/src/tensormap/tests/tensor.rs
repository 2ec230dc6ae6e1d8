//! Rank, address, extents and strides.

use super::*;

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
        assert_eq!(built(strides, boxes).unwrap_err().rule(), Rule::Lengths, "{strides} {boxes}");
    }
    let desc = built(2, 3).unwrap();
    assert!(desc.with_element_strides(&[1, 2, 3]).is_ok());
    assert_eq!(desc.with_element_strides(&[1, 2]).unwrap_err().rule(), Rule::Lengths);
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
        assert_eq!(shape(&tiled(DataType::F16, rank).with_interleave(Interleave::Bytes16)), expected);
    }
}

#[test]
fn address_is_a_multiple_of_16_or_32() {
    let plain = tiled(DataType::F16, 3);
    let sliced = plain.with_interleave(Interleave::Bytes32).with_swizzle(Swizzle::Bytes32);
    let padded = tiled_with(DataType::U6x16Align16, 3, 128, 64, 128);
    for address in [0x1000 - 1, 0x1000 + 1, 0x1000 + 8, u64::MAX] {
        assert_eq!(verdict(&plain, address), Err(Rule::AddressAlignment), "{address}");
    }
    assert_eq!(verdict(&plain, 0x1010), Ok(()));
    for (address, legal) in [(0x1010, false), (0x1020, true), (0x0ff0, false)] {
        let expected = |rule| if legal { Ok(()) } else { Err(rule) };
        assert_eq!(verdict(&sliced, address), expected(Rule::InterleaveAddressAlignment));
        assert_eq!(verdict(&padded, address), expected(Rule::PaddedAddressAlignment));
    }
    assert!(sliced.validate_shape().is_ok(), "no address, no alignment");
}

#[test]
fn extents_are_1_to_2_to_the_32() {
    for (extent, legal) in [(0, false), (1, true), (1 << 32, true), ((1 << 32) + 1, false), (u64::MAX, false)]
    {
        for dim in 0..3 {
            let mut extents = [64; 3];
            extents[dim] = extent;
            let desc = TensorMapDesc::tiled(DataType::F16, &extents, &[64; 2], &[8; 3]).unwrap();
            assert_eq!(shape(&desc), if legal { Ok(()) } else { Err(Rule::ExtentRange) }, "{dim} {extent}");
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
        assert_eq!(shape(&tiled_with(DataType::F16, 3, 64, stride, 8)), expected, "{stride}");
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
        assert_eq!(shape(&tiled_with(DataType::F16, 2, 64, stride, 8)), expected, "{stride}");
    }
    let overflow =
        TensorMapDesc::contiguous(DataType::F64, &[1 << 32, 1 << 32, 1 << 32, 8], &[2, 1, 1, 1]).unwrap();
    assert_eq!(overflow.strides(), [1 << 35, u64::MAX, u64::MAX]);
    assert!(overflow.validate_shape().is_err());
}
