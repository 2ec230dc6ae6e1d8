//! The end of a tile: a warpgroup writes its output to shared memory, one thread stores it in bulk.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Right,
    /// The thread that stores fences for all, after the barrier.
    FenceByStorer,
    NoFence,
    /// One warp does not fence.
    OneWarpWithoutFence,
    /// The fence comes before the writes.
    FenceTooEarly,
    NoBarrier,
    /// The next output is written while the last is still read.
    NoWaitRead,
    /// It waits, but for all groups but the last.
    WaitForOneLess,
    /// The store is in no group when the thread waits.
    NoCommit,
}

fn epilogue(variant: Variant) -> Checked {
    let mut checker = checker(1, 4);
    let barrier = |checker: &mut Checker<'_>| {
        (0..4).for_each(|warp| checker.named_arrive(warp, 0, 1, true, warp == 3));
    };
    for _ in 0..3 {
        let pending = u32::from(variant == Variant::WaitForOneLess);
        if variant != Variant::NoWaitRead {
            checker.bulk_wait(actor(0, 1), pending);
        }
        barrier(&mut checker);
        for warp in 0..4 {
            if variant == Variant::FenceTooEarly {
                checker.fence(warp, FenceKind::ProxyAsync);
            }
            for row in 0..8 {
                checker.access(actor(warp, 2), 0, (256 * warp + 32 * row, 16), Access::WRITE)?;
                checker.access(actor(warp, 3), 0, (256 * warp + 32 * row + 16, 16), Access::WRITE)?;
            }
            let fences = match variant {
                Variant::FenceByStorer | Variant::NoFence | Variant::FenceTooEarly => false,
                Variant::OneWarpWithoutFence => warp != 2,
                _ => true,
            };
            if fences {
                checker.fence(warp, FenceKind::ProxyAsync);
            }
        }
        if variant != Variant::NoBarrier {
            barrier(&mut checker);
        }
        if variant == Variant::FenceByStorer {
            checker.fence(0, FenceKind::ProxyAsync);
        }
        checker.bulk_store(actor(0, 5), 0, tile(0, 1024))?;
        if variant != Variant::NoCommit {
            checker.bulk_commit(actor(0, 6));
        }
    }
    Ok(())
}

#[test]
fn right_epilogues_are_silent() {
    assert_eq!(epilogue(Variant::Right), Ok(()));
    assert_eq!(epilogue(Variant::FenceByStorer), Ok(()));
}

#[test]
fn a_missing_proxy_fence() {
    for (variant, first) in
        [(Variant::NoFence, 0), (Variant::FenceTooEarly, 0), (Variant::OneWarpWithoutFence, 512)]
    {
        let found = epilogue(variant);
        let Err(Finding::MissingProxyFence { access: Use::Store, bytes, other }) = found else {
            panic!("{variant:?}: {found:?}");
        };
        assert_eq!((bytes.first, other.warp, other.pc), (first, first / 256, 2), "{variant:?}");
    }
    let message = epilogue(Variant::NoFence).unwrap_err().to_string();
    assert_eq!(
        message,
        "missing proxy fence: a bulk store's read at shared addresses 0x0 to 0xf of CTA rank 0 may miss the \
         write by instruction 2 of warp 0; fence.proxy.async would do, in that warp after the write or in \
         this one after their barrier"
    );
}

#[test]
fn a_missing_barrier_between_writes_and_store() {
    let found = epilogue(Variant::NoBarrier);
    assert!(
        matches!(
            found,
            Err(Finding::Race {
                access: Use::Store,
                other_access: Use::Write,
                other: Actor { warp: 1, pc: 2, .. },
                ..
            })
        ),
        "{found:?}"
    );
}

#[test]
fn outputs_that_are_overwritten_while_they_are_read() {
    for variant in [Variant::NoWaitRead, Variant::WaitForOneLess, Variant::NoCommit] {
        let found = epilogue(variant);
        assert!(
            matches!(
                found,
                Err(Finding::Race {
                    access: Use::Write,
                    other_access: Use::Store,
                    other: Actor { warp: 0, pc: 5, .. },
                    ..
                })
            ),
            "{variant:?}: {found:?}"
        );
    }
}

#[test]
fn groups_belong_to_a_thread() {
    let mut checker = checker(1, 1);
    checker.access(actor(0, 1), 0, (0, 16), Access::WRITE).unwrap();
    checker.fence(0, FenceKind::ProxyAsync);
    let lane = |lane: u32, pc| Actor { warp: 0, pc, lanes: 1 << lane };
    checker.bulk_store(lane(3, 2), 0, tile(0, 16)).unwrap();
    checker.bulk_commit(lane(3, 3));
    checker.bulk_wait(lane(4, 4), 0);
    assert!(checker.access(actor(0, 5), 0, (0, 4), Access::WRITE).is_err());
    checker.bulk_wait(lane(3, 6), 0);
    assert_eq!(checker.access(actor(0, 7), 0, (0, 4), Access::WRITE), Ok(()));
}

#[test]
fn a_product_of_what_instructions_wrote_needs_the_fence_too() {
    for fenced in [false, true] {
        let mut checker = checker(1, 4);
        for warp in 0..4 {
            checker.access(actor(warp, 1), 0, (16 * warp, 16), Access::WRITE).unwrap();
            if fenced {
                checker.fence(warp, FenceKind::ProxyAsync);
            }
        }
        sync_all(&mut checker, 0);
        let found = checker.product(actor(0, 2), tile(0, 64));
        assert_eq!(found.is_ok(), fenced, "{found:?}");
    }
}

#[test]
fn a_load_over_what_instructions_wrote_needs_the_fence_and_over_what_they_read_does_not() {
    for (access, fenced, silent) in
        [(Access::WRITE, false, false), (Access::WRITE, true, true), (Access::READ, false, true)]
    {
        let mut checker = checker(1, 2);
        let full = Barrier::init(&mut checker, actor(0, 1), 0, BARRIERS, 1);
        checker.fence(0, FenceKind::MbarrierInit);
        checker.access(actor(0, 2), 0, (0, 16), Access::WRITE).unwrap();
        checker.fence(0, FenceKind::ProxyAsync);
        sync_all(&mut checker, 0);
        checker.access(actor(1, 3), 0, (0, 16), access).unwrap();
        if fenced {
            checker.fence(1, FenceKind::ProxyAsync);
        }
        sync_all(&mut checker, 0);
        let found = checker.bulk_load(actor(0, 4), 0, tile(0, 16), full.completion());
        assert_eq!(found.is_ok(), silent, "{found:?}");
    }
}
