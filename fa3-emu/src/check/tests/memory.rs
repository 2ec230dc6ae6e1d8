//! Single accesses: what is not initialised, atomics and orders, mbarriers' bytes, single rules.

use super::*;

#[test]
fn bytes_that_nobody_wrote() {
    let mut checker = checker(1, 4);
    checker.access(actor(0, 1), 0, (4, 8), Access::WRITE).unwrap();
    checker.access(actor(0, 2), 0, (4, 8), Access::READ).unwrap();
    let found = checker.access(actor(0, 3), 0, (8, 8), Access::READ);
    let bytes = SharedBytes { cta: 0, first: 12, last: 15 };
    assert_eq!(found, Err(Finding::Uninitialised { access: Use::Read, bytes }));
    assert!(matches!(
        checker.bulk_store(actor(0, 4), 0, tile(64, 16)),
        Err(Finding::Uninitialised { access: Use::Store, .. })
    ));
    assert!(matches!(
        checker.product(actor(0, 4), tile(64, 16)),
        Err(Finding::Uninitialised { access: Use::Product, .. })
    ));
}

#[test]
fn atomics_do_not_race_with_each_other() {
    let mut checker = checker(1, 2);
    checker.access(actor(0, 1), 0, (0, 4), Access::WRITE).unwrap();
    sync_all(&mut checker, 0);
    checker.access(actor(0, 2), 0, (0, 4), Access::ATOMIC).unwrap();
    checker.access(actor(1, 3), 0, (0, 4), Access::ATOMIC).unwrap();
    let found = checker.access(actor(0, 4), 0, (0, 4), Access::WRITE);
    assert!(matches!(found, Err(Finding::Race { other_access: Use::Atomic, .. })), "{found:?}");
}

/// A flag that is released and acquired hands on the data before it.
fn flag(store: Access, load: Access, fences: bool) -> Checked {
    let fence = FenceKind::Thread { acquire: true, release: true };
    let mut checker = checker(1, 2);
    checker.access(actor(0, 1), 0, (64, 16), Access::WRITE)?;
    if fences {
        checker.fence(0, fence);
    }
    checker.access(actor(0, 2), 0, (0, 4), store)?;
    checker.access(actor(1, 3), 0, (0, 4), load)?;
    if fences {
        checker.fence(1, fence);
    }
    checker.access(actor(1, 4), 0, (64, 16), Access::READ)
}

#[test]
fn flags_order_by_their_orders_or_by_fences() {
    let store = Access { strong: true, ..Access::WRITE };
    let load = Access { strong: true, ..Access::READ };
    let release = Access { release: true, ..store };
    let acquire = Access { acquire: true, ..load };
    assert_eq!(flag(release, acquire, false), Ok(()));
    assert_eq!(flag(store, load, true), Ok(()));
    for (store, load) in [(store, acquire), (release, load), (store, load)] {
        let found = flag(store, load, false);
        assert!(matches!(found, Err(Finding::Race { other: Actor { pc: 1, .. }, .. })), "{found:?}");
    }
    let found = flag(Access::WRITE, Access::READ, true);
    assert!(matches!(found, Err(Finding::Race { other: Actor { pc: 2, .. }, .. })), "{found:?}");
}

#[test]
fn relaxed_arrivals_and_waits_hand_on_what_fences_say() {
    for (fences, ordered) in [(true, true), (false, false)] {
        let mut checker = checker(1, 2);
        Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS, 1);
        sync_all(&mut checker, 0);
        checker.access(actor(0, 2), 0, (0, 4), Access::WRITE).unwrap();
        if fences {
            checker.fence(0, FenceKind::Thread { acquire: false, release: true });
        }
        checker.mbarrier_arrive(actor(0, 3), 0, BARRIERS, 0, false).unwrap();
        checker.mbarrier_wait(actor(1, 4), 0, BARRIERS, 1, false).unwrap();
        if fences {
            checker.fence(1, FenceKind::Thread { acquire: true, release: false });
        }
        let found = checker.access(actor(1, 5), 0, (0, 4), Access::READ);
        assert_eq!(found.is_ok(), ordered, "{found:?}");
    }
}

#[test]
fn arrivals_of_a_phase_are_handed_on_when_it_completes() {
    let mut checker = checker(1, 3);
    let mut barrier = Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS, 2);
    sync_all(&mut checker, 0);
    checker.access(actor(0, 2), 0, (0, 4), Access::WRITE).unwrap();
    barrier.arrive(&mut checker, actor(0, 3)).unwrap();
    barrier.wait(&mut checker, actor(2, 4)).unwrap();
    let early = checker.access(actor(2, 5), 0, (0, 4), Access::READ);
    assert!(matches!(early, Err(Finding::Race { .. })), "{early:?}");
    barrier.arrive(&mut checker, actor(1, 3)).unwrap();
    barrier.wait(&mut checker, actor(2, 6)).unwrap();
    checker.access(actor(2, 7), 0, (0, 4), Access::READ).unwrap();
}

#[test]
fn the_bytes_of_an_mbarrier_are_its_own() {
    let mut checker = checker(1, 4);
    let barrier = Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS + 8, 1);
    checker.fence(0, FenceKind::MbarrierInit);
    sync_all(&mut checker, 0);
    checker.access(actor(1, 2), 0, (BARRIERS, 8), Access::WRITE).unwrap();
    for access in [Access::READ, Access::WRITE] {
        let found = checker.access(actor(1, 3), 0, (BARRIERS + 4, 8), access);
        let Err(Finding::OverBarrier { bytes, other: Actor { warp: 0, pc: 1, .. }, .. }) = found else {
            panic!("{found:?}");
        };
        assert_eq!((bytes.first, bytes.last), (BARRIERS + 8, BARRIERS + 11));
    }
    let load = checker.bulk_load(actor(0, 4), 0, tile(BARRIERS, 16), barrier.completion());
    assert!(matches!(load, Err(Finding::OverBarrier { access: Use::Load { .. }, .. })), "{load:?}");
    checker.mbarrier_inval(actor(0, 5), 0, BARRIERS + 8).unwrap();
    sync_all(&mut checker, 0);
    checker.access(actor(1, 6), 0, (BARRIERS + 8, 8), Access::WRITE).unwrap();
}

#[test]
fn a_barrier_made_anew_does_not_remember() {
    let mut checker = checker(1, 2);
    let mut barrier = Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS, 1);
    checker.fence(0, FenceKind::MbarrierInit);
    sync_all(&mut checker, 0);
    for _ in 0..4 {
        barrier.arrive(&mut checker, actor(0, 2)).unwrap();
    }
    barrier.wait(&mut checker, actor(1, 3)).unwrap();
    sync_all(&mut checker, 0);
    checker.mbarrier_inval(actor(0, 4), 0, BARRIERS).unwrap();
    let barrier = Barrier::init(&mut checker, actor(0, 5), 0, BARRIERS, 1);
    checker.fence(0, FenceKind::MbarrierInit);
    sync_all(&mut checker, 0);
    checker.bulk_load(actor(0, 6), 0, tile(0, 16), barrier.completion()).unwrap();
    let found = checker.access(actor(1, 7), 0, (0, 4), Access::READ);
    assert!(matches!(found, Err(Finding::Race { other: Actor { pc: 6, .. }, .. })), "{found:?}");
}

#[test]
fn a_rule_that_is_off_finds_nothing() {
    let none = Rules { races: false, fences: false, uninitialised: false, registers: false };
    let shape = Shape { ctas: 1, warps: 2, shared_bytes: 256 };
    let run = |rules| {
        let mut checker = Checker::new(shape, rules, None);
        checker.access(actor(0, 1), 0, (0, 16), Access::WRITE)?;
        checker.access(actor(0, 1), 0, (16, 16), Access::READ)?;
        checker.bulk_store(actor(0, 2), 0, tile(0, 16))?;
        checker.access(actor(1, 3), 0, (0, 4), Access::READ)
    };
    assert_eq!(run(none), Ok(()));
    assert!(matches!(run(Rules { races: true, ..none }), Err(Finding::Race { .. })));
    assert!(matches!(run(Rules { fences: true, ..none }), Err(Finding::MissingProxyFence { .. })));
    assert!(matches!(run(Rules { uninitialised: true, ..none }), Err(Finding::Uninitialised { .. })));
}

#[test]
fn what_is_outside_the_cluster_is_not_watched() {
    let mut checker = checker(1, 1);
    assert_eq!(checker.access(actor(7, 1), 0, (0, 4), Access::READ), Ok(()));
    assert_eq!(checker.access(actor(0, 1), 9, (0, 4), Access::READ), Ok(()));
    assert_eq!(checker.access(actor(0, 1), 0, (u32::MAX - 2, 4), Access::READ), Ok(()));
    assert_eq!(checker.product(actor(9, 1), tile(0, 64)), Ok(()));
    checker.product_wait(u32::MAX - 1, 0);
    checker.named_arrive(5, 5, 99, true, true);
}
