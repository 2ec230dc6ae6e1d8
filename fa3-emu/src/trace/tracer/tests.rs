//! Clocks, waits and engines, told by hand what happens.

use super::*;
use crate::ptx;

/// Instruction 0 is a sum, 1 an exponential, 2 the end.
fn program() -> Program {
    let text = ".version 9.0\n.target sm_90a\n.entry k() {\n.reg .f32 %f<2>;\n\
                add.f32 %f1, %f1, %f1;\nex2.approx.f32 %f1, %f1;\nret;\n}\n";
    Program::compile(&ptx::parse(text).unwrap(), "k").unwrap()
}

fn spans(tracks: &[Track], actor: Actor) -> Vec<(u64, u64, Activity)> {
    let track = tracks.iter().find(|track| track.actor == actor).unwrap();
    track.spans.iter().map(|span| (span.start, span.end, span.activity)).collect()
}

const fn run(instructions: u64, special: u64) -> Activity {
    Activity::Run { instructions, special }
}

#[test]
fn the_warp_behind_runs_next() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3]], 2));
    assert_eq!(tracer.next(0..2), Some(0));
    tracer.executed(0, &program, 0);
    assert_eq!((tracer.next(0..2), tracer.next(0..1), tracer.next(0..0)), (Some(1), Some(0), None));
}

#[test]
fn runs_count_instructions_and_share_the_special_unit() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3]], 5));
    for warp in [0, 4, 0] {
        tracer.executed(warp, &program, 1);
    }
    tracer.executed(0, &program, 0);
    let tracks = tracer.finish();
    assert_eq!(spans(&tracks, Actor::Warp(0)), [(0, 18, run(3, 2))]);
    assert_eq!(spans(&tracks, Actor::Warp(4)), [(0, 9, run(1, 1))]);
    assert_eq!(spans(&tracks, Actor::Warp(1)), []);
}

#[test]
fn a_load_ends_the_wait_for_its_bytes() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3]], 1));
    let (key, line) = (Key::Mbarrier { cta: 0, offset: 16 }, program.lines[0]);
    tracer.executed(0, &program, 0);
    tracer.arrived(0, key, 0);
    tracer.load(0, 0, 640, (0, 16), 0, line);
    tracer.executed(0, &program, 0);
    tracer.passed(0, key, 0);
    tracer.executed(0, &program, 0);
    tracer.executed(0, &program, 0);
    let tracks = tracer.finish();
    assert_eq!(
        spans(&tracks, Actor::Loads),
        [(1, 11, Activity::Load { bytes: 640, mbarrier: 16, complete: 711 })]
    );
    let wait = Activity::Wait(Awaited::Mbarrier { cta: 0, offset: 16 });
    // The instruction that waits costs nothing else.
    assert_eq!(spans(&tracks, Actor::Warp(0)), [(0, 2, run(2, 0)), (2, 711, wait), (711, 712, run(1, 0))]);
}

#[test]
fn named_barriers_end_with_the_last_arrival() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3]], 2));
    let (key, line) = (Key::Named { cta: 0, id: 1 }, program.lines[0]);
    tracer.arrived(0, key, 0);
    tracer.executed(0, &program, 0);
    for _ in 0..3 {
        tracer.executed(1, &program, 0);
    }
    tracer.arrived(1, key, 0);
    tracer.woken(0, key, 0, line);
    tracer.executed(0, &program, 0);
    let wait = Activity::Wait(Awaited::Named(1));
    let tracks = tracer.finish();
    assert_eq!(spans(&tracks, Actor::Warp(0)), [(0, 1, run(1, 0)), (1, 3, wait), (3, 4, run(1, 0))]);
}

#[test]
fn a_remote_arrival_takes_its_time() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3], [1, 0, 0]], 1));
    let key = Key::Mbarrier { cta: 0, offset: 0 };
    tracer.arrived(1, key, 0);
    tracer.passed(0, key, 0);
    tracer.executed(0, &program, 0);
    let wait = Activity::Wait(Awaited::Mbarrier { cta: 0, offset: 0 });
    let tracks = tracer.finish();
    assert_eq!(spans(&tracks[..4], Actor::Warp(0)), [(0, REMOTE, wait)]);
    assert_eq!((tracks.len(), tracks[4].cta), (8, [1, 0, 0]));
}

#[test]
fn products_of_two_warpgroups_take_turns() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3]], 8));
    tracer.executed(1, &program, 0);
    for warp in [3, 7, 3] {
        tracer.product(warp, &program, 0, 128, warp == 7);
        for member in warp - 3..=warp {
            tracer.products_committed(member);
        }
    }
    for (warp, pending) in [(0, 1), (4, 0)] {
        tracer.products_done(warp, pending);
        tracer.executed(warp, &program, 0);
    }
    let product = |warpgroup, a_in_registers| Activity::Product { warpgroup, n: 128, a_in_registers };
    let (wait, first) = (Activity::Wait(Awaited::Products), Activity::Wait(Awaited::Warpgroup));
    let tracks = tracer.finish();
    assert_eq!(
        spans(&tracks, Actor::Tensor),
        [(1, 65, product(0, false)), (65, 129, product(1, true)), (129, 193, product(0, false))]
    );
    assert_eq!(spans(&tracks, Actor::Warp(0))[0], (0, 1, first));
    assert_eq!(spans(&tracks, Actor::Warp(0))[2..], [(4, 65, wait)]);
    assert_eq!(spans(&tracks, Actor::Warp(4)).last(), Some(&(3, 129, wait)));
}

#[test]
fn copies_are_waited_for_by_group() {
    let (program, mut tracer) = (program(), Tracer::new([[0; 3]], 1));
    let line = program.lines[0];
    for _ in 0..2 {
        tracer.store(0, 3, 6400, line);
        tracer.copies_committed(0, 3);
    }
    for (lane, pending, reads_only) in [(3, 1, true), (3, 0, true), (5, 0, false), (3, 0, false)] {
        tracer.copies_done(0, lane, pending, reads_only);
        tracer.executed(0, &program, 0);
    }
    let wait = Activity::Wait(Awaited::Copies);
    let waits = [(0, 100, wait), (100, 200, wait), (200, 201, run(1, 0)), (201, 900, wait)];
    assert_eq!(spans(&tracer.finish(), Actor::Warp(0)), waits);
}
