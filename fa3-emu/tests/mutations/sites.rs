//! Every site is found: what the generator lists is compared with what a search of the text finds.

use fa3_emu::mutation::{Kind, Mutant};

use super::harness::{attending, copying};

/// What an instruction begins with, which of several edits each site has once, and of which kind.
const SITES: &[(&str, Kind, &str)] = &[
    ("mbarrier.try_wait", Kind::Wait, "dropped"),
    ("mbarrier.try_wait", Kind::Wait, "asked once"),
    ("mbarrier.try_wait.parity", Kind::Phase, "parity ^ 1"),
    ("mbarrier.init", Kind::Arrive, "count + 1"),
    ("mbarrier.init", Kind::Arrive, "count - 1"),
    ("mbarrier.arrive", Kind::Arrive, "dropped"),
    ("mbarrier.arrive", Kind::Arrive, "doubled"),
    ("mbarrier.arrive.expect_tx", Kind::Bytes, "16 more"),
    ("mbarrier.arrive.expect_tx", Kind::Bytes, "halved"),
    ("bar.sync", Kind::Wait, "dropped"),
    ("bar.sync", Kind::NamedBarrier, "number + 1"),
    ("bar.arrive", Kind::Arrive, "dropped"),
    ("bar.arrive", Kind::NamedBarrier, "number - 1"),
    ("bar.arrive", Kind::NamedBarrier, "32 threads more"),
    ("bar.arrive", Kind::NamedBarrier, "32 threads fewer"),
    ("barrier.cluster.arrive", Kind::Arrive, "dropped"),
    ("barrier.cluster.wait", Kind::Wait, "dropped"),
    ("fence", Kind::Fence, "dropped"),
    ("wgmma.fence", Kind::Fence, "dropped"),
    ("wgmma.commit_group", Kind::Commit, "dropped"),
    ("wgmma.wait_group", Kind::Wait, "dropped"),
    ("wgmma.wait_group", Kind::Wait, "one more pending"),
    ("cp.async.bulk.commit_group", Kind::Commit, "dropped"),
    ("cp.async.bulk.wait_group", Kind::Wait, "dropped"),
    ("cp.async.bulk.wait_group", Kind::Wait, "one more pending"),
    ("cp.async.bulk.tensor", Kind::Coordinate, "dimension 0, +1"),
    ("cp.async.bulk.tensor", Kind::Coordinate, "dimension 0, -64"),
    ("cp.async.bulk.tensor", Kind::Stride, "128 bytes on"),
    ("cp.reduce.async.bulk.tensor", Kind::Coordinate, "dimension 0, -1"),
    ("wgmma.mma_async", Kind::KStep, "dropped"),
    ("wgmma.mma_async", Kind::KStep, "accumulates or not"),
    ("wgmma.mma_async", Kind::KStep, "B one step on"),
    ("wgmma.mma_async", Kind::Descriptor, "B address + 1"),
    ("wgmma.mma_async", Kind::Descriptor, "B swizzle bit 62"),
    ("wgmma.mma_async", Kind::Descriptor, "B swizzle bit 63"),
    ("wgmma.mma_async", Kind::Descriptor, "B stride offset + 1"),
    ("wgmma.mma_async", Kind::Transpose, "B"),
    ("stmatrix", Kind::Transpose, "transposed"),
    ("stmatrix", Kind::Stride, "1024 bytes on"),
    ("setmaxnreg", Kind::Registers, "8 more"),
];

/// The lines of a text with an instruction that begins so.
fn lines_with(ptx: &str, beginning: &str) -> Vec<u32> {
    let here = |line: &str| {
        line.split([' ', '\t', ';', '{']).any(|word| {
            word.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    (1..).zip(ptx.lines()).filter(|(_, line)| here(line)).map(|(number, _)| number).collect()
}

#[test]
fn each_site_has_each_of_its_edits_once() {
    let mut seen = vec![0; SITES.len()];
    for subject in attending(|_| true).chain(copying()) {
        let mutants = subject.mutants();
        for (&(beginning, kind, edit), seen) in SITES.iter().zip(&mut seen) {
            let sites = lines_with(subject.ptx, beginning);
            let of_site = |mutant: &&Mutant<'_>| {
                mutant.kind == kind && mutant.edit == edit && sites.contains(&mutant.line)
            };
            let found: Vec<u32> = mutants.iter().filter(of_site).map(|mutant| mutant.line).collect();
            assert_eq!(found, sites, "{}: {beginning}, {edit}", subject.name);
            *seen += sites.len();
        }
    }
    for ((beginning, ..), seen) in SITES.iter().zip(seen) {
        assert!(seen > 0, "no kernel has {beginning}");
    }
}
