//! The crate's kernels on a GPU: every byte that TMA moves is compared with what the host says.
//! These tests fail where there is no GPU, or where the kernels are not embedded.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod case;
mod list;

use case::{Case, noise};
use fa3_sys::TensorMap;
use fa3_sys::driver::{Buffer, Context, Function, LaunchConfig, Module, Params, Stream};
use fa3_tma::kernels::{self, Tiling};
use fa3_tma::ring::{Alignment, Layout, Tile};
use list::{ACCUMULATE, BROADCAST, STREAM};

const THREADS: [u32; 3] = [128, 1, 1];

/// Bytes after an output that must stay as they are, and what they are.
const GUARD: usize = 1024;
const UNTOUCHED: u8 = 0xa5;

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
