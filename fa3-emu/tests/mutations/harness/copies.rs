//! The problems of the kernels of `fa3-tma`: the cases of its suite.

use std::collections::BTreeMap;

use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, ptx};
use fa3_sys::Arch;
use fa3_tma::kernels;
use fa3_tma::ring::{Alignment, Layout, Tile};

use super::case::{Case, noise};
use super::list::{ACCUMULATE, BROADCAST, STREAM};
use super::subject::{Problem, Subject};

const THREADS: [u32; 3] = [128, 1, 1];
const UNTOUCHED: u8 = 0xa5;
/// Larger cases show no more of a kernel than small ones.
const MOST_STEPS: u64 = 150_000;

/// The kernels, one after the other.
pub fn subjects() -> impl Iterator<Item = Subject> {
    let mut cases = BTreeMap::<&'static str, Vec<(&'static Case, u32, bool)>>::new();
    for (list, copies, accumulates) in [(STREAM, 1, false), (BROADCAST, 2, false), (ACCUMULATE, 1, true)] {
        for case in list {
            cases.entry(case.kernel).or_default().push((case, copies, accumulates));
        }
    }
    cases.into_iter().map(|(symbol, cases)| subject(symbol, &cases))
}

fn subject(symbol: &'static str, cases: &[(&'static Case, u32, bool)]) -> Subject {
    let text = kernels::ptx(symbol, Arch::Sm90a).unwrap();
    let program = Program::compile(&ptx::parse(text).unwrap(), symbol).unwrap();
    let mut problems: Vec<Problem> = cases
        .iter()
        .map(
            |&(case, copies, accumulates)| {
                if accumulates { accumulate(case, &program) } else { stream(case, &program, copies) }
            },
        )
        .collect();
    problems.sort_by_key(|problem| problem.steps);
    let small = problems.iter().filter(|problem| problem.steps <= MOST_STEPS).count();
    problems.truncate(small.max(1));
    Subject { name: symbol, ptx: text, problems }
}

/// The launch for a ring whose stages hold `copies` tiles each.
fn launch(case: &Case, stage_bytes: u32, copies: u32) -> Launch {
    let tile = Tile { bytes: copies * stage_bytes, alignment: Alignment::Swizzle128 };
    let ring = Layout::new(tile, case.stages, 0, Arch::Sm90a.max_shared_bytes()).unwrap();
    Launch { dynamic_shared: ring.end(), ..Launch::new([case.ctas, 1, 1], THREADS) }
}

fn map(case: &Case, address: u64) -> Vec<u8> {
    case.desc().to_map_bytes(address).unwrap().as_bytes().to_vec()
}

fn stream(case: &Case, program: &Program, copies: u32) -> Problem {
    let tiling = case.tiling(copies);
    let mut memory = Memory::new();
    let input = memory.allocate(&noise(case.tensor_bytes())).unwrap();
    let bytes = copies as usize * tiling.count as usize * case.tile_bytes();
    let output = memory.allocate_filled(bytes, UNTOUCHED).unwrap();
    let arguments =
        vec![map(case, input), bytemuck::bytes_of(&tiling).to_vec(), output.to_le_bytes().to_vec()];
    let launch = (launch(case, tiling.stage_bytes, copies), arguments);
    Problem::new(format!("{case:?}"), program, launch, memory, &[(output, bytes)])
}

fn accumulate(case: &Case, program: &Program) -> Problem {
    let tiling = case.tiling(1);
    // Whole numbers, exact in f32 however they are added.
    let mut tensor = vec![0_f32; case.tensor_bytes() / 4];
    let mut sums = vec![f32::from_bits(u32::from_ne_bytes([UNTOUCHED; 4])); tensor.len()];
    let copies = sums.clone();
    for (number, offset) in (1_u16..1000).cycle().zip(case.offsets()) {
        tensor[offset / 4] = number.into();
        sums[offset / 4] = f32::from(number) * 1000.0;
    }
    let mut memory = Memory::new();
    let addresses =
        [&tensor, &copies, &sums].map(|values| memory.allocate(bytemuck::cast_slice(values)).unwrap());
    let maps = addresses.map(|address| map(case, address));
    let arguments = maps.into_iter().chain([bytemuck::bytes_of(&tiling).to_vec()]).collect();
    let launch = (launch(case, tiling.stage_bytes, 1), arguments);
    let regions = addresses.map(|address| (address, case.tensor_bytes()));
    Problem::new(format!("{case:?}"), program, launch, memory, &regions)
}
