//! The box, modes and types.

use super::*;

#[test]
fn boxes_are_1_to_256() {
    for (size, legal) in [(0, false), (1, true), (256, true), (257, false), (4096, false)] {
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
            assert_eq!(shape(&desc(row)), Err(Rule::BoxRowGranularity), "{data_type} {row}");
            for interleave in [Interleave::Bytes16, Interleave::Bytes32] {
                assert_eq!(
                    shape(&desc(row).with_interleave(interleave)),
                    Err(Rule::SlicedRowGranularity),
                    "{data_type} {row}"
                );
            }
        }
        // Half a slice of 32 bytes will do.
        assert_eq!(shape(&desc(row).with_interleave(Interleave::Bytes32)), Ok(()));
    }
    for interleave in Interleave::ALL {
        for (channels, legal) in [(7, false), (8, true), (9, false), (24, true)] {
            let expected = if legal { Ok(()) } else { Err(Rule::ChannelGranularity) };
            let columns = im2col(4, 0, 0, channels, 64).with_interleave(interleave);
            assert_eq!(shape(&columns), expected, "{channels} {interleave}");
        }
    }
}

#[test]
fn padded_types_have_rows_of_128() {
    for (row, expected) in [(64, Err(Rule::PaddedBoxRow)), (128, Ok(())), (192, Err(Rule::PaddedBoxRow))] {
        for data_type in [DataType::U4x16Align16, DataType::U6x16Align16] {
            assert_eq!(shape(&tiled_with(data_type, 3, 128, 64, row)), expected, "{data_type} {row}");
        }
    }
    for (channels, expected) in
        [(127, Err(Rule::PaddedBoxRow)), (128, Ok(())), (129, Err(Rule::PaddedBoxRow))]
    {
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
        let expected = if legal { Ok(()) } else { Err(Rule::ElementStrideRange) };
        let desc = tiled(DataType::F16, 3);
        for steps in [[1, step, 1], [1, 1, step]] {
            assert_eq!(shape(&desc.with_element_strides(&steps).unwrap()), expected, "{steps:?}");
        }
        let first = desc.with_element_strides(&[step, 1, 1]).unwrap();
        let ignored = expected.map_err(|_| Rule::IgnoredElementStrideRange);
        assert_eq!(shape(&first), ignored);
        assert_eq!(shape(&first.with_interleave(Interleave::Bytes16)), expected);
    }
}

#[test]
fn boxes_are_up_to_228_kib() {
    let built = |sizes: &[u32], steps: &[u32]| {
        let rank = sizes.len();
        TensorMapDesc::tiled(DataType::F16, &[64; 5][..rank], &[64; 4][..rank - 1], sizes)
            .unwrap()
            .with_element_strides(steps)
            .unwrap()
    };
    for (sizes, steps, legal) in [
        (&[128, 48, 19][..], &[1, 1, 1][..], true),
        (&[120, 7, 139], &[1, 1, 1], false),
        (&[256, 256, 4], &[1, 1, 1], false),
        // Two whole strides of 96 and 67 of 3 in 256 and 203, of 8 elements each.
        // 128 by 48 by 19 whole strides.
        (&[256, 97, 39], &[2, 2, 2], true),
        (&[256, 97, 40], &[2, 2, 2], false),
        // A box smaller than its stride counts as none.
        (&[256, 256, 256, 256, 1], &[1, 1, 1, 1, 2], true),
        (&[256, 256, 256, 256, 2], &[1, 1, 1, 1, 2], false),
    ] {
        let expected = if legal { Ok(()) } else { Err(Rule::BoxSize) };
        let desc = built(sizes, steps);
        assert_eq!(shape(&desc), expected, "{desc}");
        if sizes.len() >= 3 {
            assert_eq!(shape(&desc.with_interleave(Interleave::Bytes16)), expected, "{desc}");
        }
    }
    let columns = |channels, pixels| im2col(4, 0, 0, channels, pixels);
    assert_eq!(shape(&columns(128, 912)), Ok(()));
    let beyond = columns(128, 913);
    assert_eq!(shape(&beyond), Err(Rule::BoxSize));
    let strided = beyond.with_element_strides(&[8; 4]).unwrap();
    assert_eq!(shape(&strided), Err(Rule::BoxSize), "strides do not count");
    let huge = TensorMapDesc::tiled(DataType::F64, &[64; 5], &[64; 4], &[1 << 31; 5]).unwrap();
    assert_eq!(huge.validate_shape().unwrap_err().rule(), Rule::BoxRange);
}

#[test]
fn swizzled_rows_fit_the_span() {
    for swizzle in [Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128, Swizzle::Bytes128Atom64] {
        let span = u32::try_from(swizzle.span_bytes().unwrap()).unwrap();
        let rows = [(DataType::U8, span, 16), (DataType::Bf16, span / 2, 8), (DataType::F64, span / 8, 2)];
        for (data_type, row, step) in rows {
            let desc = |row| tiled_with(data_type, 3, 128, 64, row).with_swizzle(swizzle);
            assert_eq!(shape(&desc(row)), Ok(()), "{data_type} {swizzle}");
            assert_eq!(shape(&desc(row + step)), Err(Rule::SwizzleSpan), "{data_type} {swizzle}");
            assert_eq!(shape(&desc(row + step).with_interleave(Interleave::Bytes16)), Ok(()));
        }
        let columns = |channels| im2col(4, 0, 0, channels, 64).with_swizzle(swizzle);
        assert_eq!(shape(&columns(span / 2)), Ok(()), "{swizzle}");
        assert_eq!(shape(&columns(span / 2 + 8)), Err(Rule::SwizzleSpan), "{swizzle}");
    }
}

#[test]
fn interleaved_layouts_take_every_swizzle() {
    for interleave in Interleave::ALL {
        for swizzle in Swizzle::ALL {
            let desc = tiled_with(DataType::F16, 3, 128, 64, 8).with_interleave(interleave);
            assert_eq!(shape(&desc.with_swizzle(swizzle)), Ok(()), "{interleave} {swizzle}");
        }
    }
}

#[test]
fn padded_types_have_their_own_swizzles_and_no_interleave() {
    use Swizzle::{Bytes128, Bytes128Atom32, Bytes128Atom64, None};
    let allowed = [
        (DataType::U4x16Align16, &[None, Bytes128, Bytes128Atom32][..]),
        (DataType::U6x16Align16, &[None, Bytes128, Bytes128Atom32, Bytes128Atom64][..]),
    ];
    for (data_type, swizzles) in allowed {
        for swizzle in [None, Bytes128, Bytes128Atom32, Swizzle::Bytes128Atom32Flip8, Bytes128Atom64] {
            let desc = tiled_with(data_type, 3, 128, 64, 128).with_swizzle(swizzle);
            let expected = if swizzles.contains(&swizzle) { Ok(()) } else { Err(Rule::PaddedSwizzle) };
            assert_eq!(shape(&desc), expected, "{desc}");
        }
    }
    let sliced = |data_type| tiled_with(data_type, 3, 128, 64, 128).with_interleave(Interleave::Bytes16);
    assert_eq!(shape(&sliced(DataType::U6x16Align16)), Err(Rule::PaddedInterleave));
    assert_eq!(shape(&sliced(DataType::U4x16Align16)), Ok(()));
}

#[test]
fn only_floats_are_filled_with_nan() {
    for data_type in DataType::ALL {
        let desc = tiled_with(data_type, 3, 128, 64, 128).with_fill(Fill::NanRequestZeroFma);
        let expected = if data_type.is_float() { Ok(()) } else { Err(Rule::FloatFill) };
        assert_eq!(shape(&desc), expected, "{data_type}");
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
