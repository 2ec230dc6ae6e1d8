//! A ring of stages: a producer's bulk loads, a warpgroup's `wgmma` over them.

use super::*;

const STAGES: u32 = 2;
const CONSUMERS: std::ops::Range<u32> = 4..8;

/// How the ring is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Right,
    /// The consumers do not wait for the load.
    NoFullWait,
    /// One warp of the warpgroup does not.
    OneWarpWithoutFullWait,
    /// The producer does not wait for the release.
    NoEmptyWait,
    /// The release comes before the wait for the product.
    EarlyRelease,
    /// The wait leaves the stage's group executing.
    WaitForOneLess,
    /// The arrival does not release.
    RelaxedRelease,
    /// No barrier between initialisation and use.
    NoSync,
    /// No fence after initialisation.
    NoInitFence,
    /// The proxy fence instead of `fence.mbarrier_init`, which also does.
    ProxyFenceForInit,
}

fn ring(variant: Variant) -> Checked {
    let mut checker = checker(1, 8);
    let (mut full, mut empty) = (Vec::new(), Vec::new());
    for stage in 0..STAGES {
        full.push(Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS + 8 * stage, 1));
        empty.push(Barrier::init(&mut checker, actor(0, 2), 0, BARRIERS + 64 + 8 * stage, 1));
    }
    match variant {
        Variant::NoInitFence => {}
        Variant::ProxyFenceForInit => checker.fence(0, FenceKind::ProxyAsync),
        _ => checker.fence(0, FenceKind::MbarrierInit),
    }
    if variant != Variant::NoSync {
        sync_all(&mut checker, 0);
    }
    for tile_index in 0..5 {
        let stage = tile_index % STAGES;
        let at = stage * STAGE;
        let (full, empty) = (&mut full[stage as usize], &mut empty[stage as usize]);
        if tile_index >= STAGES && variant != Variant::NoEmptyWait {
            empty.wait(&mut checker, actor(0, 10))?;
        }
        let completion = full.completion();
        full.arrive(&mut checker, actor(0, 11))?;
        checker.bulk_load(actor(0, 12), 0, tile(at, STAGE), completion)?;
        for warp in CONSUMERS {
            let skips = match variant {
                Variant::NoFullWait => true,
                Variant::OneWarpWithoutFullWait => warp == 6,
                _ => false,
            };
            if !skips {
                full.wait(&mut checker, actor(warp, 20))?;
            }
            checker.product_fence(warp);
        }
        checker.product(actor(4, 21), tile(at, STAGE))?;
        CONSUMERS.for_each(|warp| checker.product_commit(warp));
        if variant == Variant::EarlyRelease {
            empty.arrive(&mut checker, actor(4, 23))?;
        }
        let pending = u32::from(variant == Variant::WaitForOneLess);
        CONSUMERS.for_each(|warp| checker.product_wait(warp, pending));
        match variant {
            Variant::EarlyRelease => {}
            Variant::RelaxedRelease => {
                checker.mbarrier_arrive(actor(4, 24), 0, empty.address, empty.phase, false)?;
                empty.phase += 1;
            }
            _ => empty.arrive(&mut checker, actor(4, 24))?,
        }
    }
    Ok(())
}

#[test]
fn a_right_ring_is_silent() {
    assert_eq!(ring(Variant::Right), Ok(()));
    assert_eq!(ring(Variant::ProxyFenceForInit), Ok(()));
}

/// The pcs of a race, and what raced.
fn race(variant: Variant) -> (Use, Use, u32) {
    match ring(variant) {
        Err(Finding::Race { access, other_access, other, .. }) => (access, other_access, other.pc),
        other => panic!("{variant:?}: {other:?}"),
    }
}

#[test]
fn a_stage_that_is_read_before_it_arrived() {
    let load = Use::Load { cta: 0, barrier: BARRIERS };
    assert_eq!(race(Variant::NoFullWait), (Use::Product, load, 12));
    assert_eq!(race(Variant::OneWarpWithoutFullWait), (Use::Product, load, 12));
}

#[test]
fn a_stage_that_is_loaded_while_it_is_read() {
    let load = Use::Load { cta: 0, barrier: BARRIERS };
    assert_eq!(race(Variant::NoEmptyWait).0, load);
    for variant in [Variant::EarlyRelease, Variant::WaitForOneLess, Variant::RelaxedRelease] {
        assert_eq!(race(variant), (load, Use::Product, 21), "{variant:?}");
    }
    let message = ring(Variant::EarlyRelease).unwrap_err().to_string();
    assert_eq!(
        message,
        "data race at shared addresses 0x0 to 0xf of CTA rank 0 between a bulk load's write (mbarrier \
         0x8000 of CTA rank 0) here and a wgmma's read by instruction 21 of warp 4: wgmma.wait_group would \
         do in that warp, before it arrives where this one waits"
    );
}

#[test]
fn barriers_that_are_used_before_they_are_ready() {
    let unordered = ring(Variant::NoSync).unwrap_err();
    assert!(
        matches!(unordered, Finding::UnorderedInit { address: BARRIERS, other: Actor { pc: 1, .. }, .. }),
        "{unordered}"
    );
    let unpublished = ring(Variant::NoInitFence).unwrap_err();
    assert!(
        matches!(unpublished, Finding::UnpublishedInit { action: BarrierUse::CompleteBytes, .. }),
        "{unpublished}"
    );
}

#[test]
fn a_wait_for_the_phase_before_is_no_wait() {
    let mut checker = checker(1, 2);
    let mut full = Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS, 1);
    checker.fence(0, FenceKind::MbarrierInit);
    sync_all(&mut checker, 0);
    for round in 0..2 {
        let completion = full.completion();
        checker.bulk_load(actor(0, 2), 0, tile(0, 64), completion).unwrap();
        // The second load has not landed, and a wait that has not flipped its parity passes.
        if round == 0 {
            full.arrive(&mut checker, actor(0, 3)).unwrap();
        }
        full.wait(&mut checker, actor(1, 4)).unwrap();
        let read = checker.access(actor(1, 5), 0, (0, 4), Access::READ);
        if round == 0 {
            read.unwrap();
            // The reader tells the producer that it is done.
            checker.named_arrive(0, 0, 1, true, false);
            checker.named_arrive(1, 0, 1, false, true);
        } else {
            assert!(matches!(read, Err(Finding::Race { other: Actor { pc: 2, .. }, .. })), "{read:?}");
        }
    }
}

#[test]
fn two_loads_of_a_phase_to_the_same_bytes() {
    let mut checker = checker(1, 1);
    let full = Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS, 1);
    checker.fence(0, FenceKind::MbarrierInit);
    checker.bulk_load(actor(0, 2), 0, tile(0, 64), full.completion()).unwrap();
    checker.bulk_load(actor(0, 3), 0, tile(64, 64), full.completion()).unwrap();
    let again = checker.bulk_load(actor(0, 4), 0, tile(112, 64), full.completion());
    assert!(
        matches!(
            again,
            Err(Finding::Race {
                bytes: SharedBytes { first: 112, last: 127, .. },
                other: Actor { pc: 3, .. },
                ..
            })
        ),
        "{again:?}"
    );
}
