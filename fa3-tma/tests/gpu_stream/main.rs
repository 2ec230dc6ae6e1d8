//! The crate's kernels on a GPU: every byte that TMA moves is compared with what the host says.
//! These tests fail where there is no GPU, or where the kernels are not embedded.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod case;

use case::{Case, noise};
use fa3_sys::TensorMap;
use fa3_sys::driver::{Buffer, Context, Function, LaunchConfig, Module, Params, Stream};
use fa3_sys::tensormap::{DataType, Swizzle};
use fa3_tma::kernels::{self, Tiling};
use fa3_tma::ring::{Alignment, Layout, Tile};

const THREADS: [u32; 3] = [128, 1, 1];

/// Bytes after an output that must stay as they are, and what they are.
const GUARD: usize = 1024;
const UNTOUCHED: u8 = 0xa5;

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
const STREAM: &[Case] = &[
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
const BROADCAST: &[Case] = &[
    Case { kernel: "broadcast_1d_1", stages: 1, extents: &[777], tile: &[64], first: &[-8], ctas: 4, ..PLAIN },
    Case { kernel: "broadcast_2d_2", stages: 2, data_type: DataType::Bf16, extents: &[64, 5000], tile: &[64, 64], first: &[0, 0], swizzle: Swizzle::Bytes128, ctas: 4, ..PLAIN },
    Case { kernel: "broadcast_3d_3", data_type: DataType::Bf16, extents: &[64, 8, 4000], tile: &[64, 1, 128], swizzle: Swizzle::Bytes128, ctas: 6, ..PLAIN },
    Case { kernel: "broadcast_4d_2", stages: 2, data_type: DataType::U16, extents: &[24, 3, 5, 4], tile: &[16, 2, 3, 3], first: &[-8, -1, -2, 0], ctas: 2, ..PLAIN },
    Case { kernel: "broadcast_5d_2", stages: 2, data_type: DataType::U16, extents: &[24, 3, 5, 4, 3], tile: &[16, 2, 3, 2, 2], first: &[0, 0, 0, 0, 0], ctas: 4, ..PLAIN },
];

#[rustfmt::skip]
const ACCUMULATE: &[Case] = &[
    Case { kernel: "accumulate_1d_3", extents: &[7780], tile: &[64], first: &[0], ..PLAIN },
    Case { kernel: "accumulate_2d_1", stages: 1, extents: &[72, 100], gap: 32, tile: &[32, 32], first: &[0, 0], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "accumulate_3d_2", stages: 2, gap: 16, ..PLAIN },
    Case { kernel: "accumulate_3d_2", stages: 2, extents: &[32, 8, 2000], tile: &[32, 1, 64], swizzle: Swizzle::Bytes128, ..PLAIN },
    Case { kernel: "accumulate_4d_2", stages: 2, extents: &[24, 3, 5, 4], tile: &[16, 2, 3, 3], first: &[0, 0, 0, 0], ..PLAIN },
    Case { kernel: "accumulate_5d_2", stages: 2, extents: &[24, 3, 5, 4, 3], tile: &[8, 2, 3, 2, 2], first: &[0, 0, 0, 0, 0], swizzle: Swizzle::Bytes32, ..PLAIN },
];

struct Gpu {
    context: Context,
    stream: Stream,
}

impl Gpu {
    fn open() -> Self {
        let context = Context::open(0).unwrap();
        let stream = Stream::new(&context).unwrap();
        Self { context, stream }
    }

    fn function(&self, case: &Case) -> Function {
        let entry = kernels::kernel(case.kernel, self.context.arch()).unwrap();
        Module::load(&self.context, entry).unwrap().function(entry.symbol).unwrap()
    }

    /// The launch for a ring whose stages hold `tiles_a_stage` tiles each.
    fn config(&self, case: &Case, tiling: &Tiling, tiles_a_stage: u32) -> LaunchConfig {
        let tile = Tile { bytes: tiles_a_stage * tiling.stage_bytes, alignment: Alignment::Swizzle128 };
        let ring = Layout::new(tile, case.stages, 0, self.context.arch().max_shared_bytes()).unwrap();
        LaunchConfig { shared_bytes: ring.end(), ..LaunchConfig::new([case.ctas, 1, 1], THREADS) }
    }

    fn map(&self, case: &Case, tensor: &Buffer) -> TensorMap {
        case.desc().encode(&self.context, tensor.ptr()).unwrap()
    }

    fn filled(&self, bytes: usize) -> Buffer {
        Buffer::from_slice(&self.stream, &vec![UNTOUCHED; bytes]).unwrap()
    }
}

/// Compares tile by tile, so that a failure says which.
fn compare_tiles(case: &Case, tiling: &Tiling, tensor: &[u8], written: &[u8]) {
    for (index, tile) in (0..tiling.count).zip(written.chunks(case.tile_bytes())) {
        let expected = case.image(tiling, index, tensor);
        let wrong = tile.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "first wrong byte of tile {index} of {case:?}");
    }
}

#[test]
fn every_byte_of_every_tile_comes_through_the_ring() {
    let gpu = Gpu::open();
    for case in STREAM {
        println!("{case:?}");
        let tensor = noise(case.tensor_bytes());
        let (tiling, bytes) = written(case, 1);
        let (input, output) = (Buffer::from_slice(&gpu.stream, &tensor).unwrap(), gpu.filled(bytes + GUARD));
        let (map, pointer) = (gpu.map(case, &input), output.ptr());
        let params = Params::new().with(&map).with(&tiling).with(&pointer);
        let function = gpu.function(case);
        // SAFETY: the parameters are those of `stream.cu`; it reads `input` and writes the tiles
        // of `tiling` to `output`, which has room for them, and both live, as the kernel
        // does, until after `to_vec`.
        unsafe { function.launch(&gpu.stream, &gpu.config(case, &tiling, 1), &params).unwrap() };
        let found: Vec<u8> = output.to_vec(&gpu.stream).unwrap();
        compare_tiles(case, &tiling, &tensor, &found[..bytes]);
        assert!(found[bytes..].iter().all(|byte| *byte == UNTOUCHED), "{case:?}: wrote beyond the output");
    }
}

#[test]
fn multicast_brings_every_tile_to_both_ctas() {
    const CTAS: u32 = 2;
    let gpu = Gpu::open();
    for case in BROADCAST {
        println!("{case:?}");
        let tensor = noise(case.tensor_bytes());
        let (tiling, bytes) = written(case, CTAS);
        let input = Buffer::from_slice(&gpu.stream, &tensor).unwrap();
        let output = gpu.filled(2 * bytes + GUARD);
        let (map, pointer) = (gpu.map(case, &input), output.ptr());
        let params = Params::new().with(&map).with(&tiling).with(&pointer);
        let function = gpu.function(case);
        // SAFETY: the parameters are those of `broadcast.cu`; it reads `input` and writes the
        // tiles of `tiling` twice to `output`, which has room, and both live, as the kernel
        // does, until after `to_vec`.
        unsafe { function.launch(&gpu.stream, &gpu.config(case, &tiling, CTAS), &params).unwrap() };
        let found: Vec<u8> = output.to_vec(&gpu.stream).unwrap();
        compare_tiles(case, &tiling, &tensor, &found[..bytes]);
        compare_tiles(case, &tiling, &tensor, &found[bytes..2 * bytes]);
        assert!(
            found[2 * bytes..].iter().all(|byte| *byte == UNTOUCHED),
            "{case:?}: wrote beyond the output"
        );
    }
}

#[test]
fn stores_and_reductions_write_the_tensor_and_nothing_else() {
    let gpu = Gpu::open();
    for case in ACCUMULATE {
        println!("{case:?}");
        let offsets = case.offsets();
        let (tiling, _) = written(case, 1);
        // Whole numbers, exact in f32 however they are added.
        let mut tensor = vec![0_f32; case.tensor_bytes() / 4];
        let mut sums = vec![f32::from_bits(u32::from_ne_bytes([UNTOUCHED; 4])); tensor.len() + GUARD / 4];
        let mut copies = sums.clone();
        for (number, offset) in (1_u16..1000).cycle().zip(&offsets) {
            tensor[offset / 4] = number.into();
            sums[offset / 4] = f32::from(number) * 1000.0;
        }
        let input = Buffer::from_slice(&gpu.stream, &tensor).unwrap();
        let copy = Buffer::from_slice(&gpu.stream, &copies).unwrap();
        let sum = Buffer::from_slice(&gpu.stream, &sums).unwrap();
        let maps = [gpu.map(case, &input), gpu.map(case, &copy), gpu.map(case, &sum)];
        let params = Params::new().with(&maps[0]).with(&maps[1]).with(&maps[2]).with(&tiling);
        let function = gpu.function(case);
        // SAFETY: the parameters are those of `accumulate.cu`; it touches the tensors of the three
        // maps, whose buffers live, as the kernel does, until after `to_vec`.
        unsafe { function.launch(&gpu.stream, &gpu.config(case, &tiling, 1), &params).unwrap() };
        for offset in offsets {
            copies[offset / 4] = 2.0 * tensor[offset / 4];
            sums[offset / 4] += 2.0 * tensor[offset / 4];
        }
        for (name, buffer, expected) in [("copy", &copy, &copies), ("sum", &sum, &sums)] {
            let found: Vec<f32> = buffer.to_vec(&gpu.stream).unwrap();
            let wrong = found.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits());
            assert_eq!(wrong, None, "first wrong word of `{name}`, {case:?}");
        }
    }
}

#[test]
fn every_kernel_has_a_case_in_which_its_ring_turns_twice() {
    let cases = [STREAM, BROADCAST, ACCUMULATE].concat();
    let built = kernels::ENTRIES.iter().map(|entry| entry.symbol);
    for symbol in built.chain(kernels::MISSING.iter().map(|missing| missing.symbol)) {
        // A broadcast takes two tiles a stage, and has two CTAs for them.
        let turns = |case: &Case| written(case, 2).0.count >= 2 * case.stages * case.ctas;
        assert!(cases.iter().any(|case| case.kernel == symbol && turns(case)), "{symbol}");
    }
}

#[test]
fn every_case_is_legal() {
    for case in [STREAM, BROADCAST, ACCUMULATE].concat() {
        case.desc().validate_shape().unwrap_or_else(|error| panic!("{case:?}: {error}"));
        let from = i64::from(case.first[0]) * i64::try_from(case.element_bytes()).unwrap();
        assert_eq!(from % 16, 0, "a tile of {case:?} begins off a 16-byte boundary");
        if ACCUMULATE.contains(&case) {
            assert!(case.first.iter().all(|&from| from >= 0), "a store of {case:?} begins before the tensor");
            let row = case.extents[0] * u64::try_from(case.element_bytes()).unwrap();
            assert_eq!(row % 16, 0, "a store of {case:?} is clipped off a 16-byte boundary");
        }
        let (tiling, _) = written(&case, 2);
        assert_eq!(case.desc().box_bytes(), Some(tiling.tile_bytes.into()), "{case:?}");
        let outside = case.image(&tiling, tiling.count - 1, &noise(case.tensor_bytes()));
        assert!(outside.iter().all(|byte| *byte == 0), "{case:?}: the last tile isn't beyond the tensor");
    }
}

/// The tiles of a case, and the bytes of all their images.
fn written(case: &Case, multiple: u32) -> (Tiling, usize) {
    let tiling = case.tiling(multiple);
    (tiling, tiling.count as usize * case.tile_bytes())
}
