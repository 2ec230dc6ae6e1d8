//! Clusters on several threads.

use fa3_emu::{Launch, Options, Order, RunError};

use super::small::{output_with, program};

const THREADS: [usize; 3] = [1, 2, 5];

#[test]
fn results_and_reports_do_not_depend_on_the_threads() {
    // Every thread of the grid adds to one word, and stores its number to its own.
    let body = "mov.u32 %r1, %ctaid.x;
         mov.u32 %r2, %ntid.x;
         mad.lo.u32 %r3, %r1, %r2, %r0;
         add.u32 %r4, %r3, 1;
         mul.wide.u32 %rd2, %r4, 4;
         add.s64 %rd2, %rd0, %rd2;
         st.global.u32 [%rd2], %r3;
         atom.global.add.u32 %r5, [%rd0], %r3;
         ret;";
    let program = program("", "", body);
    let launch = Launch::new([40, 1, 1], [96, 1, 1]);
    for order in [Order::Eager, Order::Seeded(5)] {
        let run = |threads| {
            let options = Options { order, threads, ..Options::default() };
            output_with(&program, &launch, 1 + 40 * 96, &options).unwrap()
        };
        let alone = run(1);
        assert_eq!(alone.0[0], (0..40 * 96).sum::<u32>());
        assert!(alone.0[1..].iter().copied().eq(0..40 * 96));
        for threads in THREADS {
            assert_eq!(run(threads), alone, "{threads} threads");
        }
    }
}

#[test]
fn the_error_is_that_of_the_first_cluster_that_fails() {
    // Clusters from 3 on fail; earlier ones take longer.
    let body = "mov.u32 %r1, %ctaid.x;
         setp.ge.u32 %p0, %r1, 3;
         @%p0 trap;
         mov.u32 %r2, 0;
         $loop:
         add.u32 %r2, %r2, 1;
         setp.lt.u32 %p1, %r2, 2000;
         @%p1 bra $loop;
         ret;";
    let program = program("", "", body);
    for threads in THREADS {
        let options = Options { threads, ..Options::default() };
        let error = output_with(&program, &Launch::new([9, 1, 1], [32, 1, 1]), 1, &options).unwrap_err();
        let RunError::Fault { site, .. } = &error else { panic!("{error}") };
        assert_eq!(site.cta, [3, 0, 0], "{threads} threads");
    }
}

#[test]
fn clusters_that_communicate_need_as_many_threads() {
    // The first CTA waits for what the second writes.
    let body = "mov.u32 %r1, %ctaid.x;
         setp.ne.u32 %p0, %r1, 0;
         @%p0 bra $second;
         $wait:
         ld.acquire.gpu.global.u32 %r2, [%rd0];
         setp.ne.u32 %p1, %r2, 123456;
         @%p1 bra $wait;
         ret;
         $second:
         mov.u32 %r3, 123456;
         st.release.gpu.global.u32 [%rd0], %r3;
         ret;";
    let program = program("", "", body);
    let launch = Launch::new([2, 1, 1], [1, 1, 1]);
    let run = |threads, step_limit| {
        output_with(&program, &launch, 1, &Options { threads, step_limit, ..Options::default() })
    };
    assert!(matches!(run(1, 100_000), Err(RunError::StepLimit { .. })));
    assert!(run(2, 1 << 40).is_ok());
}

#[test]
fn no_threads_and_more_than_a_host_has_use_for_are_refused() {
    for threads in [0, 1025, usize::MAX] {
        let options = Options { threads, ..Options::default() };
        let error = output_with(&program("", "", "ret;"), &Launch::new([1, 1, 1], [1, 1, 1]), 1, &options);
        let error = error.unwrap_err().to_string();
        assert_eq!(error, format!("threads = {threads}, but 1 to 1024 run clusters"));
    }
}
