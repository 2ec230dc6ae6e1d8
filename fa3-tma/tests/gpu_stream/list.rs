//! The cases: tensors, how they are cut, and the kernel that moves the tiles.

use fa3_sys::tensormap::{DataType, Swizzle};

use super::case::Case;

const PLAIN: Case = Case {
    kernel: "stream_3d_3",
    stages: 3,
    data_type: DataType::F32,
    extents: &[36, 7, 5],
    gap: 0,
    tile: &[20, 3, 2],
    first: &[0, 0, 0],
    swizzle: Swizzle::None,
    ctas: 3,
};

/// Ragged edges in every dimension, tiles before the tensor and beyond it, tiles larger than it,
/// gaps between rows, each swizzle, 1 to 4 stages, and rings that turn hundreds of times.
#[rustfmt::skip]
pub const STREAM: &[Case] = &[
    Case { kernel: "stream_1d_2", stages: 2, data_type: DataType::U8, extents: &[1000], tile: &[256], first: &[0], ..PLAIN },
    Case { kernel: "stream_1d_2", stages: 2, extents: &[777], tile: &[64], first: &[-8], ..PLAIN },
    Case { kernel: "stream_1d_2", stages: 2, data_type: DataType::U16, extents: &[777], tile: &[72], first: &[40], ..PLAIN },
    Case { kernel: "stream_2d_4", stages: 4, data_type: DataType::Bf16, extents: &[72, 500], gap: 32, tile: &[64, 32], first: &[0, 0], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "stream_2d_4", stages: 4, data_type: DataType::Bf16, extents: &[64, 5], tile: &[64, 128], first: &[0, -3], swizzle: Swizzle::Bytes128, ctas: 1, ..PLAIN },
    Case { kernel: "stream_3d_1", stages: 1, data_type: DataType::Bf16, extents: &[128, 3, 70], tile: &[64, 1, 64], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "stream_3d_1", stages: 1, data_type: DataType::F16, extents: &[64, 8, 2048], tile: &[64, 1, 64], swizzle: Swizzle::Bytes128, ctas: 2, ..PLAIN },
    PLAIN,
    Case { first: &[-4, -1, -1], gap: 16, ..PLAIN },
    Case { tile: &[32, 4, 2], first: &[-4, -1, -1], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { tile: &[16, 4, 2], first: &[4, 1, 1], swizzle: Swizzle::Bytes64, ..PLAIN },
    Case { tile: &[8, 4, 3], swizzle: Swizzle::Bytes32, ctas: 1, ..PLAIN },
    Case { data_type: DataType::Bf16, extents: &[64, 8, 4096], tile: &[64, 1, 128], swizzle: Swizzle::Bytes128, ctas: 5, ..PLAIN },
    Case { kernel: "stream_4d_3", data_type: DataType::Bf16, extents: &[64, 4, 50, 2], tile: &[64, 1, 32, 1], first: &[0, 0, 0, 0], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "stream_4d_3", data_type: DataType::U16, extents: &[24, 3, 5, 4], gap: 16, tile: &[16, 2, 3, 3], first: &[-8, -1, -2, 0], ..PLAIN },
    Case { kernel: "stream_5d_2", stages: 2, data_type: DataType::U16, extents: &[24, 3, 5, 4, 3], tile: &[16, 2, 3, 2, 2], first: &[0, 0, 0, 0, 0], ..PLAIN },
    Case { kernel: "stream_5d_2", stages: 2, data_type: DataType::F16, extents: &[64, 2, 9, 2, 2], tile: &[64, 1, 8, 1, 1], first: &[0, 0, -1, 0, 0], swizzle: Swizzle::Bytes128, ..PLAIN },
];

#[rustfmt::skip]
pub const BROADCAST: &[Case] = &[
    Case { kernel: "broadcast_1d_1", stages: 1, extents: &[777], tile: &[64], first: &[-8], ctas: 4, ..PLAIN },
    Case { kernel: "broadcast_2d_2", stages: 2, data_type: DataType::Bf16, extents: &[64, 5000], tile: &[64, 64], first: &[0, 0], swizzle: Swizzle::Bytes128, ctas: 4, ..PLAIN },
    Case { kernel: "broadcast_3d_3", data_type: DataType::Bf16, extents: &[64, 8, 4000], tile: &[64, 1, 128], swizzle: Swizzle::Bytes128, ctas: 6, ..PLAIN },
    Case { kernel: "broadcast_4d_2", stages: 2, data_type: DataType::U16, extents: &[24, 3, 5, 4], tile: &[16, 2, 3, 3], first: &[-8, -1, -2, 0], ctas: 2, ..PLAIN },
    Case { kernel: "broadcast_5d_2", stages: 2, data_type: DataType::U16, extents: &[24, 3, 5, 4, 3], tile: &[16, 2, 3, 2, 2], first: &[0, 0, 0, 0, 0], ctas: 4, ..PLAIN },
];

#[rustfmt::skip]
pub const ACCUMULATE: &[Case] = &[
    Case { kernel: "accumulate_1d_3", extents: &[7780], tile: &[64], first: &[0], ..PLAIN },
    Case { kernel: "accumulate_2d_1", stages: 1, extents: &[72, 100], gap: 32, tile: &[32, 32], first: &[0, 0], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "accumulate_3d_2", stages: 2, gap: 16, ..PLAIN },
    Case { kernel: "accumulate_3d_2", stages: 2, extents: &[32, 8, 2000], tile: &[32, 1, 64], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "accumulate_4d_2", stages: 2, extents: &[24, 3, 5, 4], tile: &[16, 2, 3, 3], first: &[0, 0, 0, 0], ..PLAIN },
    Case { kernel: "accumulate_5d_2", stages: 2, extents: &[24, 3, 5, 4, 3], tile: &[8, 2, 3, 2, 2], first: &[0, 0, 0, 0, 0], swizzle: Swizzle::Bytes32, ..PLAIN },
];
