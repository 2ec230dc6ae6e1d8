//! Divergence, barriers, clusters, and what a launch that goes wrong says.

use fa3_emu::{FaultKind, Launch, Memory, Options, RunError, run};

use super::small::{WARP, fault, options, output, output_with, program};

#[test]
fn lanes_part_and_meet_again() {
    // Lane l adds one l times; all meet at the vote, which needs every lane.
    let program = program(
        "",
        "",
        "mov.u32 %r1, 0;
         setp.eq.u32 %p0, %r0, 0;
         @%p0 bra $done;
         $loop:
         add.s32 %r1, %r1, 1;
         setp.lt.u32 %p1, %r1, %r0;
         @%p1 bra $loop;
         $done:
         setp.ge.u32 %p2, %r1, 8;
         vote.sync.ballot.b32 %r2, %p2, -1;
         add.s32 %r1, %r1, %r2;
         st.global.u32 [%rd1], %r1;
         ret;",
    );
    let (words, _) = output(&program, &WARP, 32).unwrap();
    let expected: Vec<u32> = (0..32_u32).map(|lane| lane.wrapping_add(0xffff_ff00)).collect();
    assert_eq!(words, expected);
}

#[test]
fn a_lane_waits_for_what_another_of_its_warp_brings() {
    // Lane 0 waits above, and lane 1, further down, arrives; they meet at two instructions first.
    let program = program(
        ".shared .align 8 .b8 bar[8];",
        "",
        "mov.u32 %r1, bar;
         setp.ne.u32 %p0, %r0, 0;
         @%p0 bra $other;
         mbarrier.init.shared::cta.b64 [%r1], 1;
         bar.warp.sync 3;
         $wait:
         mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
         @!%p1 bra $wait;
         bra $done;
         $other:
         bar.warp.sync 3;
         mbarrier.arrive.shared::cta.b64 _, [%r1];
         $done:
         st.global.u32 [%rd1], 7;
         ret;",
    );
    let two = Launch::new([1, 1, 1], [2, 1, 1]);
    assert_eq!(output(&program, &two, 2).unwrap().0, [7, 7]);
}

#[test]
fn an_mbarrier_parks_until_its_phase_is_complete() {
    let program = program(
        ".shared .align 8 .b8 bar[8];",
        "",
        "mov.u32 %r1, bar;
         setp.ne.u32 %p0, %r0, 0;
         @%p0 bra $made;
         mbarrier.init.shared::cta.b64 [%r1], 32;
         $made:
         bar.sync 0;
         setp.lt.u32 %p1, %r0, 32;
         @!%p1 bra $arrive;
         $wait:
         mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
         @!%p2 bra $wait;
         ld.global.u32 %r2, [%rd1+128];
         st.global.u32 [%rd1], %r2;
         ret;
         $arrive:
         st.global.u32 [%rd1], %r0;
         mbarrier.arrive.shared::cta.b64 _, [%r1];
         ret;",
    );
    let launch = Launch::new([1, 1, 1], [64, 1, 1]);
    let (words, report) = output(&program, &launch, 64).unwrap();
    let expected: Vec<u32> = (32..64).chain(32..64).collect();
    assert_eq!(words, expected);
    assert!(report.steps < 40, "{} steps: the wait does not spin", report.steps);
}

#[test]
fn named_barriers_order_two_warps() {
    let program = program(
        ".shared .align 4 .b8 word[4];",
        "",
        "mov.u32 %r1, word;
         setp.lt.u32 %p0, %r0, 32;
         @%p0 bra $reader;
         st.shared.u32 [%r1], 42;
         bar.arrive 3, 64;
         ret;
         $reader:
         bar.sync 3, 64;
         ld.shared.u32 %r2, [%r1];
         st.global.u32 [%rd1], %r2;
         ret;",
    );
    let (words, _) = output(&program, &Launch::new([1, 1, 1], [64, 1, 1]), 64).unwrap();
    assert_eq!(words[..32], [42; 32]);
    assert_eq!(words[32..], [0; 32]);
}

#[test]
fn a_warp_arrives_at_the_clusters_barrier_once_and_then_waits() {
    const ARRIVE: &str = "barrier.cluster.arrive.release.aligned;\n";
    const WAIT: &str = "barrier.cluster.wait.acquire.aligned;\n";
    let (kind, text) = fault(&program("", "", &format!("{ARRIVE}{ARRIVE}{WAIT}ret;")), &WARP, 1);
    assert_eq!(kind, FaultKind::SecondArrival, "{text}");
    let (kind, text) = fault(&program("", "", &format!("{WAIT}ret;")), &WARP, 1);
    assert_eq!(kind, FaultKind::WaitBeforeArrival, "{text}");
    output(&program("", "", &format!("{ARRIVE}{WAIT}{ARRIVE}{WAIT}ret;")), &WARP, 1).unwrap();
}

#[test]
fn a_cluster_reads_its_neighbours_shared_memory() {
    // Each CTA writes its rank + 1, meets the other, and reads the other's word.
    let program = program(
        ".shared .align 4 .b8 word[4];",
        ".explicitcluster .reqnctapercluster 2, 1, 1",
        "mov.u32 %r1, word;
         mov.u32 %r2, %cluster_ctarank;
         add.s32 %r3, %r2, 1;
         st.shared.u32 [%r1], %r3;
         barrier.cluster.arrive.release.aligned;
         barrier.cluster.wait.acquire.aligned;
         xor.b32 %r4, %r2, 1;
         mapa.shared::cluster.u32 %r5, %r1, %r4;
         ld.shared::cluster.u32 %r6, [%r5];
         mov.u32 %r7, %ctaid.x;
         mul.wide.u32 %rd2, %r7, 4;
         add.s64 %rd3, %rd0, %rd2;
         st.global.u32 [%rd3], %r6;
         barrier.cluster.arrive.release.aligned;
         barrier.cluster.wait.acquire.aligned;
         ret;",
    );
    let (words, _) = output(&program, &Launch::new([4, 1, 1], [32, 1, 1]), 4).unwrap();
    assert_eq!(words, [2, 1, 2, 1]);
    let error = output(&program, &Launch::new([3, 1, 1], [32, 1, 1]), 4).unwrap_err();
    assert!(error.to_string().starts_with("grid = [3, 1, 1], but "), "{error}");
}

#[test]
fn accesses_out_of_bounds_are_refused_and_placed() {
    let store = program("", "", "st.global.u32 [%rd1], %r0;\nret;");
    let (kind, text) = fault(&store, &WARP, 31);
    assert!(matches!(kind, FaultKind::OutOfBounds { space: "global", bytes: 4, .. }), "{text}");
    assert!(text.contains("test CTA (0, 0, 0) warp 0 lanes 0x80000000, PTX line 14"), "{text}");
    let misaligned = program("", "", "ld.global.u32 %r1, [%rd1+2];\nret;");
    assert!(matches!(fault(&misaligned, &WARP, 64).0, FaultKind::Misaligned { alignment: 4, .. }));
    let shared =
        program(".shared .align 4 .b8 word[4];", "", "mov.u32 %r1, word;\nld.shared.u32 %r2, [%r1+4];\nret;");
    assert!(matches!(fault(&shared, &WARP, 1).0, FaultKind::OutOfBounds { bytes: 4, .. }));
    // The last eight bytes may be an mbarrier, those beyond not.
    let barrier = |at| {
        let body = format!("mov.u32 %r1, bar;\nmbarrier.init.shared::cta.b64 [%r1+{at}], 1;\nret;");
        program(".shared .align 8 .b8 bar[16];", "", &body)
    };
    assert!(output(&barrier(8), &Launch::new([1, 1, 1], [1, 1, 1]), 1).is_ok());
    assert!(matches!(fault(&barrier(16), &WARP, 1).0, FaultKind::OutOfBounds { bytes: 8, .. }));
}

#[test]
fn who_never_ends_is_stopped_and_who_waits_is_named() {
    let endless = program("", "", "$loop:\nbra $loop;\nret;");
    let options = Options { step_limit: 100_000, ..options() };
    let error = output_with(&endless, &WARP, 1, &options).unwrap_err();
    assert!(matches!(error, RunError::StepLimit { limit: 100_000, .. }), "{error}");
    // Seven instructions a warp, two warps.
    let short = program("", "", "add.u32 %r1, %r0, 1;\nadd.u32 %r1, %r1, 1;\nret;");
    let run = |step_limit| {
        output_with(
            &short,
            &Launch::new([1, 1, 1], [64, 1, 1]),
            1,
            &Options { step_limit, ..self::options() },
        )
    };
    assert_eq!(run(14).unwrap().1.steps, 14);
    for step_limit in [0, 6, 7, 13] {
        let error = run(step_limit).unwrap_err();
        assert!(matches!(error, RunError::StepLimit { limit, .. } if limit == step_limit), "{error}");
    }
    let half = program("", "", "setp.lt.u32 %p0, %r0, 32;\n@%p0 ret;\nbar.sync 0;\nret;");
    let error = output(&half, &Launch::new([1, 1, 1], [64, 1, 1]), 1).unwrap_err();
    let RunError::Deadlock { waiting } = &error else { panic!("{error}") };
    assert_eq!(waiting.len(), 1);
    let text = error.to_string();
    assert!(text.contains("warp 1") && text.contains("named barrier 0, where 32 of 64"), "{text}");
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let program = program("", ".maxntid 64, 1, 1", "ret;");
    let refused = |launch: Launch, arguments: &[&[u8]]| {
        let error = run(&program, &launch, arguments, &mut Memory::new(), &options()).unwrap_err();
        assert!(matches!(error, RunError::Launch { .. }), "{error}");
        error.to_string()
    };
    let address = [0; 8];
    assert!(refused(Launch::new([1, 1, 1], [128, 1, 1]), &[&address]).contains(".maxntid"));
    assert!(refused(Launch::new([1, 1, 1], [0, 1, 1]), &[&address]).starts_with("block = "));
    assert!(refused(Launch::new([0, 1, 1], [32, 1, 1]), &[&address]).starts_with("grid = "));
    assert!(refused(Launch { dynamic_shared: 300_000, ..WARP }, &[&address]).contains("room for 232448"));
    assert!(refused(Launch { cluster: Some([17, 1, 1]), ..WARP }, &[&address]).starts_with("cluster = "));
    assert!(refused(WARP, &[]).contains("1 parameters"));
    assert!(refused(WARP, &[&address[..4]]).contains("parameter `out` has 8 bytes"));
}
