//! When asynchronous operations take effect under each order, and what a kernel that does not wait for
//! them gets.

use fa3_emu::{FaultKind, Launch, Options, Order, Report, RunError};

use super::small::{WARP, options, output_with, program};

const ALL: [Order; 5] = [Order::Eager, Order::Lazy, Order::Seeded(1), Order::Seeded(2), Order::Seeded(3)];

/// Runs `body` with an mbarrier at `bar` and 256 bytes at `tile`, in 32 threads, on 256 words.
fn outcome(body: &str, launch: &Launch, order: Order) -> Result<(Vec<u32>, Report), RunError> {
    let shared = ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b8 bar[8];";
    let body = format!("mov.u32 %r1, tile;\nmov.u32 %r2, bar;\n{body}\nret;");
    output_with(&program(shared, "", &body), launch, 256, &Options { order, ..options() })
}

fn words(body: &str, order: Order) -> Vec<u32> {
    outcome(body, &WARP, order).unwrap_or_else(|error| panic!("{order}: {error}")).0
}

/// Lane 0 fills the output's first 64 words with 5, then begins to load them; all lanes go on.
fn load(expect: u32) -> String {
    format!(
        "shl.b32 %r3, %r0, 2;
         add.u32 %r3, %r3, %r1;
         st.shared.u32 [%r3], 1;
         st.shared.u32 [%r3+128], 1;
         mov.u32 %r4, 5;
         st.global.u32 [%rd1], %r4;
         st.global.u32 [%rd1+128], %r4;
         bar.warp.sync -1;
         setp.ne.u32 %p0, %r0, 0;
         @%p0 bra $issued;
         mbarrier.init.shared::cta.b64 [%r2], 1;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {expect};
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 128, [%r2];
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%rd0+128], 128, [%r2];
         $issued:
         bar.warp.sync -1;\n"
    )
}

const WAIT: &str = "$wait:
     mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
     @!%p1 bra $wait;\n";

#[test]
fn a_load_that_is_waited_for_is_there_and_before_that_is_poison() {
    let store = "ld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd1+512], %r5;\n";
    for order in ALL {
        let waited = words(&format!("{}{WAIT}{store}", load(256)), order);
        assert_eq!(waited[128..160], [5; 32], "{order}");
    }
    let hasty = format!("{}{store}{WAIT}", load(256));
    assert_eq!(words(&hasty, Order::Eager)[128..160], [5; 32]);
    assert_eq!(words(&hasty, Order::Lazy)[128..160], [u32::MAX; 32]);
    // Random moments: some runs find the load landed, some do not.
    let seen: Vec<u32> = (0..200).map(|seed| words(&hasty, Order::Seeded(seed))[128]).collect();
    assert!(seen.contains(&5) && seen.contains(&u32::MAX), "{seen:?}");
}

#[test]
fn who_asks_for_a_phase_once_and_goes_on_gets_poison() {
    let once = "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n";
    let store = "ld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd1+512], %r5;\n";
    let hasty = format!("{}{once}{store}{WAIT}", load(256));
    assert_eq!(words(&hasty, Order::Lazy)[128..160], [u32::MAX; 32]);
}

#[test]
fn a_phase_that_expects_too_few_bytes_is_named() {
    let error = outcome(&format!("{}{WAIT}", load(128)), &WARP, Order::Lazy).unwrap_err();
    let RunError::Fault { kind: FaultKind::TransactionBytes(wrong), site } = &error else {
        panic!("{error}")
    };
    assert_eq!((wrong.phase, wrong.expected, wrong.in_flight, wrong.rank), (0, 128, 128, 0));
    // The first load completed the phase; the second is the next instruction.
    assert_eq!((site.lanes, wrong.issuer.lanes, wrong.issuer.ptx_line), (1, 1, site.ptx_line + 1));
    let text = error.to_string();
    assert!(text.contains("wrong transaction bytes") && text.contains("256 bytes would do"), "{text}");
}

#[test]
fn an_arrival_may_be_what_completes_a_phase_too_soon() {
    // Nothing is expected when the thread arrives, though a load is in flight.
    let body = "setp.ne.u32 %p0, %r0, 0;
         @%p0 ret;
         mbarrier.init.shared::cta.b64 [%r2], 1;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 64, [%r2];
         mbarrier.arrive.shared::cta.b64 _, [%r2];";
    let error = outcome(body, &WARP, Order::Lazy).unwrap_err();
    let RunError::Fault { kind: FaultKind::TransactionBytes(wrong), site } = &error else {
        panic!("{error}")
    };
    assert_eq!((wrong.expected, wrong.in_flight, wrong.issuer.ptx_line), (0, 64, site.ptx_line - 1));
}

#[test]
fn a_phase_that_expects_too_many_bytes_is_a_deadlock_that_says_how_many() {
    for order in ALL {
        let error = outcome(&format!("{}{WAIT}", load(272)), &WARP, order).unwrap_err();
        assert!(matches!(error, RunError::Deadlock { .. }), "{order}: {error}");
        assert!(error.to_string().contains("phase 0 waits for 0 of 1 arrivals and 16 bytes"), "{error}");
    }
}

/// Lane 0 writes 7 to shared memory, begins to store it to the output, does `between`, writes 8 over it.
fn store(between: &str, last: &str) -> String {
    format!(
        "setp.ne.u32 %p0, %r0, 0;
         @%p0 ret;
         mov.u32 %r3, 7;
         st.shared.v4.u32 [%r1], {{%r3, %r3, %r3, %r3}};
         cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;
         cp.async.bulk.commit_group;
         {between}
         mov.u32 %r3, 8;
         st.shared.v4.u32 [%r1], {{%r3, %r3, %r3, %r3}};
         {last}"
    )
}

#[test]
fn a_store_reads_its_source_before_the_wait_that_says_so() {
    for order in ALL {
        let read = "cp.async.bulk.wait_group.read 0;";
        assert_eq!(words(&store(read, "cp.async.bulk.wait_group 0;"), order)[..4], [7; 4], "{order}");
        assert_eq!(words(&store(read, ""), order)[..4], [7; 4], "{order}: written when the CTA ends");
    }
    assert_eq!(words(&store("", "cp.async.bulk.wait_group 0;"), Order::Eager)[..4], [7; 4]);
    assert_eq!(words(&store("", "cp.async.bulk.wait_group 0;"), Order::Lazy)[..4], [8; 4]);
    let one_pending = store("cp.async.bulk.wait_group.read 1;", "cp.async.bulk.wait_group 0;");
    assert_eq!(words(&one_pending, Order::Lazy)[..4], [8; 4], "the group may be pending");
}

#[test]
fn a_store_is_written_before_the_wait_that_says_so() {
    let read_back = "ld.global.u32 %r4, [%rd0];\nst.global.u32 [%rd0+16], %r4;";
    let after = |wait: &str| store(&format!("{wait}\n{read_back}"), "");
    for order in ALL {
        assert_eq!(words(&after("cp.async.bulk.wait_group 0;"), order)[..5], [7; 5], "{order}");
    }
    let read_only = words(&after("cp.async.bulk.wait_group.read 0;"), Order::Lazy);
    assert_eq!(read_only[..5], [7, 7, 7, 7, 0], "read, and not yet written");
}

const WARPGROUP: Launch = Launch::new([1, 1, 1], [128, 1, 1]);

/// A of ones in registers, times B of ones in shared memory, added to D = 1; D goes to the output after
/// `before`, and once more after `wait`.
fn product(before: &str, wait: &str) -> String {
    format!(
        "mov.u32 %r3, 0x3f803f80;
         shl.b32 %r4, %r0, 2;
         add.u32 %r4, %r4, %r1;
         st.shared.u32 [%r4], %r3;
         bar.sync 0;
         mov.b64 %rd2, 0x0000000800000008;
         shr.u32 %r5, %r1, 4;
         cvt.u64.u32 %rd3, %r5;
         or.b64 %rd2, %rd2, %rd3;
         .reg .b32 %d<4>;
         mov.b32 %d0, 0f3F800000;
         mov.b32 %d1, %d0;
         mov.b32 %d2, %d0;
         mov.b32 %d3, %d0;
         setp.eq.u32 %p0, %r0, %r0;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%d0, %d1, %d2, %d3}}, {{%r3, %r3, %r3, %r3}}, %rd2, %p0, 1, 1, 0;
         wgmma.commit_group.sync.aligned;
         {before}
         st.global.u32 [%rd1], %d0;
         {wait}
         st.global.u32 [%rd1+512], %d0;"
    )
}

#[test]
fn a_product_is_complete_after_the_wait_and_under_the_lazy_order_no_sooner() {
    let (one, sum) = (1_f32.to_bits(), 17_f32.to_bits());
    let wait = "wgmma.wait_group.sync.aligned 0;";
    for order in ALL {
        let (words, _) = outcome(&product(wait, ""), &WARPGROUP, order).unwrap();
        assert_eq!(words, [sum; 256], "{order}");
    }
    let (eager, _) = outcome(&product("", wait), &WARPGROUP, Order::Eager).unwrap();
    assert_eq!(eager, [sum; 256]);
    let (lazy, _) = outcome(&product("", wait), &WARPGROUP, Order::Lazy).unwrap();
    assert_eq!((&lazy[..128], &lazy[128..]), (&[one; 128][..], &[sum; 128][..]));
    let left_pending = product("wgmma.wait_group.sync.aligned 1;", wait);
    assert_eq!(outcome(&left_pending, &WARPGROUP, Order::Lazy).unwrap().0[..128], [one; 128]);
}

#[test]
fn a_lazy_product_reads_its_operands_at_the_wait() {
    // B becomes zeros, and A in registers twos, before the wait: neither may be touched.
    let shared = "mov.u32 %r6, 0;\nst.shared.u32 [%r4], %r6;\nbar.sync 0;";
    let registers = "mov.u32 %r3, 0x40004000;";
    let wait = "wgmma.wait_group.sync.aligned 0;";
    for (touch, lazy) in [(shared, 1_f32), (registers, 33.0)] {
        let body = product(touch, wait);
        let last = |order| outcome(&body, &WARPGROUP, order).unwrap().0[255];
        assert_eq!(last(Order::Eager), 17_f32.to_bits());
        assert_eq!(last(Order::Lazy), lazy.to_bits());
    }
}

#[test]
fn who_asks_again_and_again_is_answered_at_last() {
    // test_wait never suspends the thread.
    let body = format!("{}{}", load(256), WAIT.replace("try_wait", "test_wait"));
    for order in ALL {
        words(&body, order);
    }
}

#[test]
fn try_wait_gives_up_the_first_time_or_at_random() {
    // Nobody ever arrives; the first answer goes to the output.
    let body = "mov.u32 %r3, 1;
         setp.ne.u32 %p0, %r0, 0;
         @%p0 ret;
         mbarrier.init.shared::cta.b64 [%r2], 1;
         mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
         @%p1 mov.u32 %r3, 2;
         st.global.u32 [%rd0], %r3;
         mbarrier.arrive.shared::cta.b64 _, [%r2];";
    for order in [Order::Eager, Order::Lazy] {
        assert_eq!(words(body, order)[0], 1);
        let again = body.replace("@%p1 mov", &format!("{WAIT}@%p1 mov"));
        assert!(matches!(outcome(&again, &WARP, order), Err(RunError::Deadlock { .. })));
    }
    let runs: Vec<_> = (0..40).map(|seed| outcome(body, &WARP, Order::Seeded(seed))).collect();
    assert!(runs.iter().any(|run| run.as_ref().is_ok_and(|(words, _)| words[0] == 1)));
    assert!(runs.iter().any(|run| matches!(run, Err(RunError::Deadlock { .. }))));
}

#[test]
fn any_warp_may_fall_behind_all_others() {
    // Each of four warps draws 24 numbers, 40 instructions and more between two; its first is kept.
    let body = "and.b32 %r5, %r0, 31;
         setp.ne.u32 %p0, %r5, 0;
         @%p0 ret;
         shr.u32 %r5, %r0, 5;
         mov.u32 %r1, 0;
         $draw:
         atom.global.add.u32 %r2, [%rd0], 1;
         setp.ne.u32 %p1, %r1, 0;
         @!%p1 st.global.u32 [%rd1+4], %r2;
         mov.u32 %r3, 0;
         $pass:
         add.u32 %r3, %r3, 1;
         setp.lt.u32 %p2, %r3, 14;
         @%p2 bra $pass;
         add.u32 %r1, %r1, 1;
         setp.lt.u32 %p3, %r1, 24;
         @%p3 bra $draw;
         ret;";
    let program = program("", "", body);
    let launch = Launch::new([1, 1, 1], [128, 1, 1]);
    let mut last = [0; 4];
    for seed in 0..64 {
        let options = Options { order: Order::Seeded(seed), ..options() };
        let (words, _) = output_with(&program, &launch, 256, &options).unwrap();
        for (warp, last) in last.iter_mut().enumerate() {
            *last = (*last).max(words[32 * warp + 1]);
        }
    }
    assert_eq!(last, [3 * 24; 4], "each warp began, under some seed, when the others had ended");
}

#[test]
fn equal_seeds_give_equal_runs() {
    let body = format!("{}{WAIT}", load(256));
    let launch = Launch::new([3, 1, 1], [32, 1, 1]);
    let run = |seed| outcome(&body, &launch, Order::Seeded(seed)).unwrap();
    for seed in 0..10 {
        assert_eq!(run(seed), run(seed));
    }
    let steps: std::collections::BTreeSet<u64> = (0..10).map(|seed| run(seed).1.steps).collect();
    assert!(steps.len() > 1, "seeds differ: {steps:?}");
}
