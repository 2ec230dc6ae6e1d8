//! What a CTA must not leave behind when its last warp exits.

use fa3_emu::{Checks, FaultKind, Launch, Options, Order, RunError, Unfinished};

use super::small::{WARP, options, output_with, program};

const EXIT: Checks = Checks { exit: true, ..Checks::NONE };

/// Runs `body` with an mbarrier of two arrivals at `%r2` and a tile at `%r1`, in lane 0 alone.
fn run(body: &str, checks: Checks, order: Order) -> Result<(), RunError> {
    let shared = ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b8 bar[8];";
    let body = format!(
        "mov.u32 %r1, tile;
         mov.u32 %r2, bar;
         setp.ne.u32 %p0, %r0, 0;
         @%p0 ret;
         {body}
         ret;"
    );
    let options = Options { order, checks, ..options() };
    output_with(&program(shared, "", &body), &WARP, 256, &options).map(|_| ())
}

/// What `body` leaves behind, which nobody asks when the check is off.
fn left(body: &str, order: Order) -> (Unfinished, String) {
    assert_eq!(run(body, Checks::NONE, order), Ok(()));
    let error = run(body, "exit".parse().unwrap(), order).unwrap_err();
    let text = error.to_string();
    match error {
        RunError::Fault { kind: FaultKind::Unfinished(left), .. } => (*left, text),
        other => panic!("{other}"),
    }
}

const INIT: &str = "mbarrier.init.shared::cta.b64 [%r2], 2;\n";

const WAIT: &str = "$wait:
     mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
     @!%p1 bra $wait;";

#[test]
fn an_mbarrier_in_the_middle_of_a_phase() {
    let arrive = "mbarrier.arrive.shared::cta.b64 _, [%r2];\n";
    let (left, text) = left(&format!("{INIT}{arrive}"), Order::Eager);
    assert!(matches!(left, Unfinished::Mbarrier { last: Some(_), .. }), "{text}");
    assert!(
        text.contains("phase 0 waits for 1 of 2 arrivals") && text.contains("last to arrive was test CTA"),
        "{text}"
    );
    for whole in
        [format!("{INIT}{arrive}{arrive}"), format!("{INIT}{arrive}mbarrier.inval.shared::cta.b64 [%r2];")]
    {
        assert_eq!(run(&whole, EXIT, Order::Eager), Ok(()));
    }
}

#[test]
fn a_named_barrier_that_half_have_reached() {
    let (left, _) = left("barrier.cta.arrive 5, 64;", Order::Eager);
    assert_eq!(left, Unfinished::NamedBarrier { id: 5, arrived: 32, threads: 64 });
}

#[test]
fn a_load_that_nobody_waits_for_under_any_order() {
    let load = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 64, [%r2];
         mbarrier.arrive.shared::cta.b64 _, [%r2];";
    let body = format!("{INIT}{load}");
    for order in [Order::Eager, Order::Lazy, Order::Seeded(1)] {
        let (left, text) = left(&body, order);
        assert!(matches!(left, Unfinished::Load { bytes: 64, .. }), "{text}");
        assert_eq!(run(&format!("{body}{WAIT}"), EXIT, order), Ok(()));
        let none = body.replace("], 64, [", "], 0, [").replace("%r2], 64;", "%r2], 0;");
        assert_ne!(none, body);
        assert_eq!(run(&none, EXIT, order), Ok(()), "no bytes");
    }
}

#[test]
fn a_store_that_nobody_waits_for_under_any_order() {
    let store = "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\n";
    let commit = "cp.async.bulk.commit_group;\n";
    for order in [Order::Eager, Order::Lazy, Order::Seeded(1)] {
        for wait in ["", "cp.async.bulk.wait_group.read 1;", "cp.async.bulk.wait_group 1;"] {
            let (left, text) = left(&format!("{store}{commit}{wait}"), order);
            assert!(matches!(left, Unfinished::Store { .. }), "{text}");
        }
        let (left, text) = left(&format!("{store}cp.async.bulk.wait_group 0;"), order);
        assert!(matches!(left, Unfinished::Store { .. }), "in no group: {text}");
        for wait in ["cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"] {
            assert_eq!(run(&format!("{store}{commit}{wait}"), EXIT, order), Ok(()));
        }
    }
}

#[test]
fn products_that_nobody_waits_for() {
    let body = |last: &str| {
        format!(
            "mov.u32 %r1, tile;
             shr.u32 %r1, %r1, 4;
             cvt.u64.u32 %rd2, %r1;
             .reg .b32 %d<4>;
             mov.b32 %d0, 0;
             mov.b32 %d1, 0;
             mov.b32 %d2, 0;
             mov.b32 %d3, 0;
             setp.eq.u32 %p0, %r0, %r0;
             wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%d0, %d1, %d2, %d3}}, %rd2, %rd2, %p0, 1, 1, 0, 0;
             {last}
             ret;"
        )
    };
    let shared = ".shared .align 1024 .b8 tile[2048];";
    let launch = Launch::new([1, 1, 1], [128, 1, 1]);
    let run = |last: &str, order| {
        let options = Options { order, checks: "exit".parse().unwrap(), ..options() };
        output_with(&program(shared, "", &body(last)), &launch, 1, &options)
    };
    for order in [Order::Eager, Order::Lazy, Order::Seeded(1)] {
        for last in ["", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"] {
            let error = run(last, order).unwrap_err();
            let RunError::Fault { kind: FaultKind::Unfinished(left), .. } = &error else { panic!("{error}") };
            assert!(matches!(**left, Unfinished::Products { products: 1, .. }), "{error}");
        }
        assert!(run("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;", order).is_ok());
    }
}

const PAIR: &str = ".explicitcluster .reqnctapercluster 2, 1, 1";

#[test]
fn a_cluster_barrier_without_its_wait() {
    let program = program("", PAIR, "barrier.cluster.arrive.release.aligned;\nret;");
    let launch = Launch::new([2, 1, 1], [32, 1, 1]);
    // The second CTA's exit finds every thread arrived.
    let error = output_with(&program, &launch, 1, &options()).unwrap_err();
    assert!(error.to_string().contains("barrier"), "{error}");
}

#[test]
fn a_cta_that_has_exited_is_neither_read_nor_written_nor_arrived_at() {
    let touches = [
        "ld.shared::cluster.u32 %r3, [%r4];",
        "st.shared::cluster.u32 [%r4], 1;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];",
    ];
    for touch in touches {
        // Rank 1 waits until rank 0, which arrives there last of all, is gone.
        let body = format!(
            "mov.u32 %r1, word;
             mov.u32 %r2, bar;
             mov.u32 %r3, %cluster_ctarank;
             mbarrier.init.shared::cta.b64 [%r2], 1;
             barrier.cluster.arrive.release.aligned;
             barrier.cluster.wait.acquire.aligned;
             mov.u32 %r6, 1;
             mapa.shared::cluster.u32 %r7, %r2, %r6;
             setp.eq.u32 %p0, %r3, 1;
             @%p0 bra $second;
             mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
             ret;
             $second:
             mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
             @!%p1 bra $second;
             mov.u32 %r6, 0;
             mapa.shared::cluster.u32 %r4, %r1, %r6;
             mapa.shared::cluster.u32 %r5, %r2, %r6;
             {touch}
             ret;"
        );
        let shared = ".shared .align 4 .b8 word[4];\n.shared .align 8 .b8 bar[8];";
        let program = program(shared, PAIR, &body);
        let launch = Launch::new([2, 1, 1], [1, 1, 1]);
        let error = output_with(&program, &launch, 1, &options()).unwrap_err();
        assert!(
            matches!(error, RunError::Fault { kind: FaultKind::Exited { rank: 0 }, .. }),
            "{touch}: {error}"
        );
        let off = Options { checks: Checks::NONE, ..options() };
        assert!(output_with(&program, &launch, 1, &off).is_ok());
    }
}
