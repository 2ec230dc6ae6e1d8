//! A pair of CTAs that load halves of each stage for both, and release it in both; turns that two
//! warpgroups take.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Right,
    /// Consumers release their stage in their own CTA alone.
    NoRemoteRelease,
    /// The CTAs begin without having waited for each other.
    NoClusterBarrier,
    /// They arrive relaxed: `fence.mbarrier_init` is enough for the mbarriers.
    RelaxedClusterArrival,
    /// And nothing is without the fence.
    RelaxedWithoutFence,
}

/// Warp 0 of each CTA produces, warp 1 consumes.
fn multicast(variant: Variant) -> Checked {
    let mut checker = checker(2, 2);
    let (mut full, mut empty) = (Vec::new(), Vec::new());
    for cta in 0..2 {
        full.push(Barrier::init(&mut checker, actor(2 * cta, 1), cta, BARRIERS, 1));
        empty.push(Barrier::init(&mut checker, actor(2 * cta, 2), cta, BARRIERS + 8, 2));
        if variant != Variant::RelaxedWithoutFence {
            checker.fence(2 * cta, FenceKind::MbarrierInit);
        }
        sync_all(&mut checker, cta);
    }
    if variant != Variant::NoClusterBarrier {
        let release = !matches!(variant, Variant::RelaxedClusterArrival | Variant::RelaxedWithoutFence);
        (0..4).for_each(|warp| checker.cluster_arrive(warp, 0, release));
        (0..4).for_each(|warp| checker.cluster_wait(warp, 0));
    }
    for round in 0..3 {
        let completions = [full[0].completion(), full[1].completion()];
        for cta in 0..2 {
            let producer = actor(2 * cta, 10);
            if round > 0 {
                empty[cta as usize].wait(&mut checker, producer)?;
            }
            full[cta as usize].arrive(&mut checker, producer)?;
            for completion in completions {
                checker.bulk_load(actor(2 * cta, 11), completion.cta, tile(512 * cta, 512), completion)?;
            }
        }
        for cta in 0..2 {
            let consumer = actor(2 * cta + 1, 20);
            full[cta as usize].wait(&mut checker, consumer)?;
            checker.access(consumer, cta, (0, 1024), Access::READ)?;
            for target in 0..2 {
                let target = if variant == Variant::NoRemoteRelease { cta as usize } else { target };
                empty[target].arrive(&mut checker, consumer)?;
            }
        }
    }
    Ok(())
}

#[test]
fn right_multicasts_are_silent() {
    assert_eq!(multicast(Variant::Right), Ok(()));
    assert_eq!(multicast(Variant::RelaxedClusterArrival), Ok(()));
}

#[test]
fn a_stage_that_only_one_cta_released() {
    let found = multicast(Variant::NoRemoteRelease);
    let Err(Finding::Race { access, other_access: Use::Read, other, bytes }) = found else {
        panic!("{found:?}");
    };
    // The first producer's load into the other CTA, whose consumer it did not wait for.
    assert_eq!((access, bytes.cta, other.warp), (Use::Load { cta: 1, barrier: BARRIERS }, 1, 3));
}

#[test]
fn mbarriers_of_another_cta_before_it_made_them() {
    for variant in [Variant::NoClusterBarrier, Variant::RelaxedWithoutFence] {
        let found = multicast(variant);
        let unordered = matches!(
            found,
            Err(Finding::UnorderedInit { cta: 1, .. } | Finding::UnpublishedInit { cta: 0, .. })
        );
        assert!(unordered, "{variant:?}: {found:?}");
    }
}

/// Two warps write the same bytes by turns, as ping-pong barriers give them.
fn turns(pass: bool) -> Checked {
    let mut checker = checker(1, 2);
    checker.named_arrive(1, 0, 1, false, false);
    for turn in 0..6 {
        let warp = turn % 2;
        // Warp w takes its turn at barrier 1 + w, where the other has arrived, and passes the next.
        checker.named_arrive(warp, 0, 1 + warp, true, pass || turn == 0);
        checker.access(actor(warp, 10 + warp), 0, (0, 16), Access::WRITE)?;
        if pass {
            checker.named_arrive(warp, 0, 1 + (1 - warp), false, false);
        }
    }
    Ok(())
}

#[test]
fn turns_at_named_barriers_order_those_who_take_them() {
    assert_eq!(turns(true), Ok(()));
    let found = turns(false);
    assert!(matches!(found, Err(Finding::Race { other: Actor { warp: 0, pc: 10, .. }, .. })), "{found:?}");
}

#[test]
fn the_cluster_barrier_orders_remote_accesses() {
    for ordered in [false, true] {
        let mut checker = checker(2, 1);
        checker.access(actor(0, 1), 1, (32, 8), Access::WRITE).unwrap();
        if ordered {
            (0..2).for_each(|warp| checker.cluster_arrive(warp, 0, true));
            (0..2).for_each(|warp| checker.cluster_wait(warp, 0));
        }
        assert_eq!(checker.access(actor(1, 2), 1, (32, 4), Access::READ).is_ok(), ordered);
    }
}

#[test]
fn phases_of_the_cluster_barrier_hand_on_their_own_arrivals() {
    let mut checker = checker(2, 1);
    for phase in 0..4 {
        (0..2).for_each(|warp| checker.cluster_arrive(warp, phase, true));
        // Released after the arrival: the next phase has it, not this one.
        checker.access(actor(0, 1), 0, (0, 4), Access::WRITE).unwrap();
        (0..2).for_each(|warp| checker.cluster_wait(warp, phase));
        let read = checker.access(actor(1, 2), 0, (0, 4), Access::READ);
        assert!(matches!(read, Err(Finding::Race { .. })), "phase {phase}: {read:?}");
    }
}
