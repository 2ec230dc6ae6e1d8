//! The kernels of `fa3-tma`, on the cases of its GPU suite: every byte that TMA moves is compared
//! with what the host says.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

#[path = "../../../fa3-tma/tests/gpu_stream/case.rs"]
mod case;
#[path = "../../../fa3-tma/tests/gpu_stream/list.rs"]
mod list;

use case::{Case, noise};
use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, Options, Order, ptx, run};
use fa3_sys::Arch;
use fa3_tma::kernels::{self, Tiling};
use fa3_tma::ring::{Alignment, Layout, Tile};
use list::{ACCUMULATE, BROADCAST, STREAM};

const THREADS: [u32; 3] = [128, 1, 1];
const UNTOUCHED: u8 = 0xa5;
const ORDERS: [Order; 5] = [Order::Eager, Order::Lazy, Order::Seeded(1), Order::Seeded(2), Order::Seeded(3)];

fn program(case: &Case) -> Program {
    let text = kernels::ptx(case.kernel, Arch::Sm90a).unwrap();
    Program::compile(&ptx::parse(text).unwrap(), case.kernel).unwrap()
}

/// The launch for a ring whose stages hold `tiles_a_stage` tiles each.
fn launch(case: &Case, tiling: &Tiling, tiles_a_stage: u32) -> Launch {
    let tile = Tile { bytes: tiles_a_stage * tiling.stage_bytes, alignment: Alignment::Swizzle128 };
    let ring = Layout::new(tile, case.stages, 0, Arch::Sm90a.max_shared_bytes()).unwrap();
    Launch { dynamic_shared: ring.end(), ..Launch::new([case.ctas, 1, 1], THREADS) }
}

fn map(case: &Case, address: u64) -> Vec<u8> {
    case.desc().to_map_bytes(address).unwrap().as_bytes().to_vec()
}

/// Compares tile by tile, so that a failure says which.
fn compare_tiles(case: &Case, tiling: &Tiling, tensor: &[u8], written: &[u8]) {
    for (index, tile) in (0..tiling.count).zip(written.chunks(case.tile_bytes())) {
        let expected = case.image(tiling, index, tensor);
        let wrong = tile.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "first wrong byte of tile {index} of {case:?}");
    }
}

/// Streams the tensor of a case through a ring whose stages hold `copies` tiles, and compares each of
/// the `copies` that are written.
fn stream(case: &Case, copies: u32, order: Order) {
    let tensor = noise(case.tensor_bytes());
    let tiling = case.tiling(copies);
    let bytes = tiling.count as usize * case.tile_bytes();
    let mut memory = Memory::new();
    let input = memory.allocate(&tensor).unwrap();
    // Exactly as long as what is to be written: a byte more would be out of bounds.
    let output = memory.allocate(&vec![UNTOUCHED; copies as usize * bytes]).unwrap();
    let arguments: [&[u8]; 3] = [&map(case, input), bytemuck::bytes_of(&tiling), &output.to_le_bytes()];
    run(
        &program(case),
        &launch(case, &tiling, copies),
        &arguments,
        &mut memory,
        &Options { order, ..Options::default() },
    )
    .unwrap_or_else(|error| panic!("{case:?} {order}: {error}"));
    let found = memory.read(output, copies as usize * bytes).unwrap();
    for copy in found.chunks(bytes) {
        compare_tiles(case, &tiling, &tensor, copy);
    }
}

#[test]
fn every_byte_of_every_tile_comes_through_the_ring() {
    for (case, order) in STREAM.iter().flat_map(|case| ORDERS.map(|order| (case, order))) {
        stream(case, 1, order);
    }
}

#[test]
fn multicast_brings_every_tile_to_both_ctas() {
    for (case, order) in BROADCAST.iter().flat_map(|case| ORDERS.map(|order| (case, order))) {
        stream(case, 2, order);
    }
}

#[test]
fn stores_and_reductions_write_the_tensor_and_nothing_else() {
    for (case, order) in ACCUMULATE.iter().flat_map(|case| ORDERS.map(|order| (case, order))) {
        let offsets = case.offsets();
        let tiling = case.tiling(1);
        // Whole numbers, exact in f32 however they are added.
        let mut tensor = vec![0_f32; case.tensor_bytes() / 4];
        let mut sums = vec![f32::from_bits(u32::from_ne_bytes([UNTOUCHED; 4])); tensor.len()];
        let mut copies = sums.clone();
        for (number, offset) in (1_u16..1000).cycle().zip(&offsets) {
            tensor[offset / 4] = number.into();
            sums[offset / 4] = f32::from(number) * 1000.0;
        }
        let mut memory = Memory::new();
        let [input, copy, sum] =
            [&tensor, &copies, &sums].map(|values| memory.allocate(bytemuck::cast_slice(values)).unwrap());
        let maps = [input, copy, sum].map(|address| map(case, address));
        let arguments = [&maps[0], &maps[1], &maps[2], bytemuck::bytes_of(&tiling)];
        run(
            &program(case),
            &launch(case, &tiling, 1),
            &arguments,
            &mut memory,
            &Options { order, ..Options::default() },
        )
        .unwrap_or_else(|error| panic!("{case:?} {order}: {error}"));
        for offset in offsets {
            copies[offset / 4] = 2.0 * tensor[offset / 4];
            sums[offset / 4] += 2.0 * tensor[offset / 4];
        }
        for (name, address, expected) in [("copy", copy, &copies), ("sum", sum, &sums)] {
            let found = memory.read(address, 4 * expected.len()).unwrap();
            let wrong = found.iter().zip(bytemuck::cast_slice::<_, u8>(expected)).position(|(a, b)| a != b);
            assert_eq!(wrong, None, "first wrong byte of `{name}`, {case:?}");
        }
    }
}
