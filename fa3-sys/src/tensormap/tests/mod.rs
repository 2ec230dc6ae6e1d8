//! Every rule at its limit and one step beyond.

mod im2col;
mod tensor;
mod tile;

use super::*;
use crate::Arch;

type Built = Result<TensorMapDesc, TensorMapError>;

/// A legal map of each rank, whose every row, stride and extent suits every type but the padded.
fn tiled(data_type: DataType, rank: usize) -> TensorMapDesc {
    tiled_with(data_type, rank, 128, 64, 32)
}

fn tiled_with(data_type: DataType, rank: usize, extent: u64, stride: u64, row: u32) -> TensorMapDesc {
    let mut box_extents = [4; MAX_RANK];
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
    let mut broken: Vec<_> =
        desc.checks(address).iter().filter(|check| !check.holds()).map(|check| check.rule).collect();
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
        desc.with_fill(Fill::NanRequestZeroFma).validate_shape().unwrap_err().to_string(),
        "tensorDataType = u8, but only floating-point types can be filled with NaN: f16, f32, f64, bf16, f32-ftz, \
         tf32, tf32-ftz would do (CUDA driver API, cuTensorMapEncodeTiled/Im2col, oobFill)"
    );
    let desc = TensorMapDesc::contiguous(DataType::F64, &[64; 3], &[64, 64, 8]).unwrap();
    assert_eq!(
        desc.validate_shape().unwrap_err().to_string(),
        "boxDim in bytes = 262144, but one copy is at most 228 KiB, counted in whole element strides: at most 233472 \
         would do (observed of driver 580.159, CUDA 13.0)"
    );
    assert_eq!(
        desc.with_swizzle(Swizzle::Bytes128Atom32).supported_on(Arch::Sm90a).unwrap_err().to_string(),
        "128B-atom32B = sm_90a, but the device's architecture must have the element type and the swizzle: sm_100a \
         would do (PTX ISA, tensormap.replace, Target ISA Notes)"
    );
}

#[test]
fn box_bytes_count_what_is_loaded() {
    let desc = tiled_with(DataType::Bf16, 3, 128, 64, 64);
    assert_eq!(desc.box_bytes(), Some(64 * 4 * 4 * 2));
    // The step of dimension 0 is ignored, those of the others round up.
    assert_eq!(desc.with_element_strides(&[4, 3, 8]).unwrap().box_bytes(), Some(64 * 2 * 2));
    assert_eq!(tiled_with(DataType::U4x16Align8, 1, 128, 64, 128).box_bytes(), Some(64));
    assert_eq!(tiled_with(DataType::U6x16Align16, 1, 128, 64, 128).box_bytes(), Some(128));
    assert_eq!(im2col(4, 0, 0, 64, 100).box_bytes(), Some(64 * 100 * 2));
    assert_eq!(desc.with_interleave(Interleave::Bytes16).box_bytes(), None);
    let huge = TensorMapDesc::tiled(DataType::F64, &[1; 5], &[64; 4], &[u32::MAX; 5]).unwrap();
    assert_eq!(huge.box_bytes(), None);
}
