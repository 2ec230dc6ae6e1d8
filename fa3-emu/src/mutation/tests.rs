//! Every site and every edit, on small texts.

use super::*;
use crate::ir::Program;

/// The mutants of a kernel with this body; every one of them must compile.
fn of(body: &str) -> Vec<(Kind, String, String)> {
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tiles[];\n\
         .visible .entry k(.param .align 64 .b8 map[128]) {{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<100>;\n.reg .b64 %rd<8>;\n{body}\nret;\n}}\n"
    );
    let found = mutants(&text, "k").expect("well-formed");
    for mutant in &found {
        let edited = mutant.ptx();
        let module = ptx::parse(&edited).unwrap_or_else(|error| panic!("{mutant}: {error}"));
        Program::compile(&module, "k").unwrap_or_else(|error| panic!("{mutant}: {error}"));
        assert_eq!(edited.lines().count(), text.lines().count());
        assert_ne!(edited, text);
    }
    found.into_iter().map(|mutant| (mutant.kind, mutant.edit, mutant.after)).collect()
}

fn names(found: &[(Kind, String, String)]) -> Vec<(Kind, &str)> {
    found.iter().map(|(kind, name, _)| (*kind, name.as_str())).collect()
}

#[test]
fn a_wait_is_taken_for_done_or_looks_at_the_other_phase() {
    let found = of("@%p1 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+8], %r2;");
    assert_eq!(
        names(&found),
        [(Kind::Wait, "dropped"), (Kind::Wait, "asked once"), (Kind::Phase, "parity ^ 1")]
    );
    assert_eq!(found[0].2, "setp.eq.u32 %p2, 0, 0;");
    assert!(found[1].2.starts_with("@%p1 mbarrier.try_wait") && found[1].2.ends_with(&found[0].2));
    assert_eq!(
        found[2].2,
        "{ .reg .b32 mutated; xor.b32 mutated, %r2, 1; \
         @%p1 mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+8], mutated; }"
    );
}

#[test]
fn arrivals_and_what_they_expect() {
    let found = of("mbarrier.arrive.expect_tx.shared::cta.b64 _, [tiles], 64;");
    let texts: Vec<&str> =
        found.iter().map(|(_, _, after)| after.rsplit(", ").next().unwrap_or("")).collect();
    assert_eq!(texts, ["", "64;", "80;", "48;", "32;", "128;"]);
    let found = of("mbarrier.init.shared::cta.b64 [tiles], %r2;\nbarrier.cluster.arrive.release.aligned;\n\
                    barrier.cluster.wait.acquire.aligned;");
    assert_eq!(
        names(&found),
        [
            (Kind::Arrive, "count + 1"),
            (Kind::Arrive, "count - 1"),
            (Kind::Arrive, "dropped"),
            (Kind::Arrive, "doubled"),
            (Kind::Wait, "dropped")
        ]
    );
}

#[test]
fn named_barriers() {
    let found = of("bar.sync 0;\nbar.warp.sync -1;");
    assert_eq!(names(&found), [(Kind::Wait, "dropped"), (Kind::NamedBarrier, "number + 1")]);
    let found = of("bar.arrive %r1, 256;");
    assert_eq!(found.len(), 6);
    assert_eq!(found[5].2, "bar.arrive %r1, 224;");
}

#[test]
fn groups_and_fences() {
    let found =
        of("fence.proxy.async.shared::cta;\nwgmma.fence.sync.aligned;\nwgmma.commit_group.sync.aligned;\n\
                    wgmma.wait_group.sync.aligned 1;\ncp.async.bulk.commit_group;\n\
                    cp.async.bulk.wait_group.read 0;");
    let kinds: Vec<Kind> = found.iter().map(|(kind, ..)| *kind).collect();
    use Kind::{Commit, Fence, Wait};
    assert_eq!(kinds, [Fence, Fence, Commit, Wait, Wait, Commit, Wait, Wait]);
    assert_eq!(found[4].2, "wgmma.wait_group.sync.aligned 2;");
    assert_eq!(found[7].2, "cp.async.bulk.wait_group.read 1;");
}

#[test]
fn tiles_move_in_the_tensor_and_in_shared_memory() {
    let found = of("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
                    [%r1], [%rd1, {%r2, 8}], [%r3];");
    assert_eq!(found.iter().filter(|(kind, ..)| *kind == Kind::Coordinate).count(), 8);
    assert!(found[0].2.starts_with("{ .reg .b32 mutated; add.s32 mutated, %r2, 1; "));
    assert!(found[7].2.contains("[%rd1, {%r2, -56}]"), "{}", found[7].2);
    assert!(found[9].2.contains(" [%r1+1024], "), "{}", found[9].2);
    let found = of("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1, {%r2}], [%r3];");
    assert!(found[5].2.ends_with(" [%r3+1024];"), "{}", found[5].2);
    let found = of("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r1], {%r2, %r3};");
    assert_eq!(found[0].2, "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2, %r3};");
    assert_eq!(found[1].2, "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r1+128], {%r2, %r3};");
}

#[test]
fn every_field_of_a_descriptor_that_has_a_meaning() {
    let swizzled = "or.b64 %rd1, %rd3, 4611686293305294848;\n";
    let product = |a: &str, flags: &str| {
        format!(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r1, %r2, %r3, %r4}}, {a}, %rd1, %p1, 1, 1, {flags};"
        )
    };
    let leading = |body: &str| {
        of(body).iter().filter(|(_, name, _)| name.contains("leading")).map(|found| found.1.clone()).collect()
    };
    let both: Vec<String> = leading(&product("%rd2", "0, 0"));
    assert_eq!(both, ["A leading offset + 1", "B leading offset + 1"]);
    let in_64_bytes = "or.b64 %rd1, %rd3, -9223371899415822336;\n";
    for swizzled in [swizzled, in_64_bytes] {
        let unused: Vec<String> = leading(&format!("{swizzled}{}", product("%rd1", "0, 0")));
        assert!(unused.is_empty());
    }
    let across: Vec<String> = leading(&format!("{swizzled}{}", product("{%r5, %r6, %r7, %r8}", "1")));
    assert_eq!(across, ["B leading offset + 1"]);

    let found = of(&format!("{swizzled}{}", product("{%r5, %r6, %r7, %r8}", "1")));
    assert_eq!(
        names(&found),
        [
            (Kind::Descriptor, "B address + 1"),
            (Kind::Descriptor, "B swizzle bit 62"),
            (Kind::Descriptor, "B swizzle bit 63"),
            (Kind::Descriptor, "B leading offset + 1"),
            (Kind::Descriptor, "B stride offset + 1"),
            (Kind::KStep, "B one step on"),
            (Kind::Transpose, "B"),
            (Kind::KStep, "dropped"),
            (Kind::KStep, "accumulates or not"),
        ]
    );
    assert!(found[5].2.starts_with("{ .reg .b64 mutated; add.s64 mutated, %rd1, 128; "));
    assert!(found[6].2.ends_with("%p1, 1, 1, 0;"));
    assert!(found[8].2.starts_with("{ .reg .pred mutated; not.pred mutated, %p1; "));
}

#[test]
fn registers_grow_or_go_the_other_way() {
    let found = of("setmaxnreg.dec.sync.aligned.u32 24;");
    assert_eq!(found[0].2, "setmaxnreg.inc.sync.aligned.u32 24;");
    assert_eq!(found[1].2, "setmaxnreg.dec.sync.aligned.u32 32;");
}

#[test]
fn an_edit_of_an_edit_has_a_name_of_its_own() {
    let found = of("{ .reg .b32 mutated; add.s32 mutated, %r1, 1; bar.arrive mutated, 64; }");
    assert!(found[2].2.contains("add.s32 mutated_, mutated, 1;"), "{}", found[2].2);
}

#[test]
fn what_is_no_kernel_is_an_error() {
    assert!(matches!(mutants(".version 9.0\n.target sm_90a\n", "k"), Err(PtxError::NoKernel { .. })));
    assert_eq!(mutants(".version 9.0\n#", "k").expect_err("no PTX").line(), Some(2));
}
