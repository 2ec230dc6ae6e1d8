//! Barriers and fences. PTX ISA, "bar, barrier", "bar.warp.sync", "barrier.cluster", "fence,
//! membar", "mbarrier", "setmaxnreg", "nanosleep".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::memory::Scope;
use crate::ir::sync::{Fence, FenceOrder, Phase};
use crate::ir::{Class, Space, SyncOp, Ty};
use crate::ptx::Fault;

/// Where an mbarrier is.
const SHARED: [(&str, Space); 3] = [
    ("shared", Space::SharedCta),
    ("shared::cta", Space::SharedCta),
    ("shared::cluster", Space::SharedCluster),
];

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<SyncOp, Fault> {
    match opcode.root() {
        "bar" | "barrier" => barrier(opcode, operands),
        "fence" => fence(opcode, operands).map(SyncOp::Fence),
        "membar" => {
            let scopes = [("cta", Scope::Cta), ("gl", Scope::Gpu), ("sys", Scope::Sys)];
            let scope = opcode.one_of(&scopes)?;
            Ok(SyncOp::Fence(Fence::Thread { scope, order: FenceOrder::SequentiallyConsistent }))
        }
        "mbarrier" => mbarrier(opcode, operands),
        "setmaxnreg" => {
            let increase = opcode.one_of(&[("inc", true), ("dec", false)])?;
            opcode.all(&["sync", "aligned", "u32"])?;
            let rule = "a multiple of 8 from 24 to 256";
            let count = operands.constant(256, rule)?;
            if count < 24 || count % 8 != 0 {
                return Err(operands.wrong(rule));
            }
            Ok(SyncOp::SetMaxRegisters { increase, count })
        }
        "nanosleep" => {
            opcode.ty(&[Ty::U32])?;
            Ok(SyncOp::Sleep { duration: operands.src(Ty::U32)? })
        }
        _ => Err(opcode.unknown()),
    }
}

fn barrier(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<SyncOp, Fault> {
    // `bar` is `barrier` with `.aligned`.
    let always_aligned = opcode.root() == "bar";
    if always_aligned && opcode.take("warp") {
        opcode.all(&["sync"])?;
        return Ok(SyncOp::WarpSync { members: operands.src(Ty::B32)? });
    }
    if !always_aligned && opcode.take("cluster") {
        return cluster(opcode);
    }
    opcode.take("cta");
    let arrive = opcode.one_of(&[("sync", false), ("arrive", true)])?;
    let aligned = always_aligned || opcode.take("aligned");
    let barrier = operands.src(Ty::U32)?;
    if arrive {
        return Ok(SyncOp::BarArrive { barrier, threads: operands.src(Ty::U32)?, aligned });
    }
    let threads = if operands.left() > 0 { Some(operands.src(Ty::U32)?) } else { None };
    Ok(SyncOp::BarSync { barrier, threads, aligned })
}

fn cluster(opcode: &mut Opcode<'_>) -> Result<SyncOp, Fault> {
    if opcode.one_of(&[("arrive", true), ("wait", false)])? {
        let release = opcode.take_any(&[("release", true), ("relaxed", false)]).unwrap_or(true);
        return Ok(SyncOp::ClusterArrive { release, aligned: opcode.take("aligned") });
    }
    opcode.take("acquire");
    Ok(SyncOp::ClusterWait { aligned: opcode.take("aligned") })
}

fn fence(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<Fence, Fault> {
    if opcode.take("mbarrier_init") {
        opcode.all(&["release", "cluster"])?;
        return Ok(Fence::MbarrierInit);
    }
    if opcode.take("proxy") {
        return proxy_fence(opcode, operands);
    }
    let order = opcode.take_any(&[
        ("sc", FenceOrder::SequentiallyConsistent),
        ("acq_rel", FenceOrder::AcqRel),
        ("acquire", FenceOrder::Acquire),
        ("release", FenceOrder::Release),
    ]);
    Ok(Fence::Thread { scope: opcode.scope()?, order: order.unwrap_or(FenceOrder::AcqRel) })
}

fn proxy_fence(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<Fence, Fault> {
    if opcode.take("async") {
        let spaces = [&SHARED[1..], &[("global", Space::Global)]].concat();
        return Ok(Fence::Async { space: opcode.take_any(&spaces) });
    }
    opcode.all(&["tensormap::generic"])?;
    if opcode.one_of(&[("release", true), ("acquire", false)])? {
        return Ok(Fence::TensorMapRelease { scope: opcode.scope()? });
    }
    let (scope, addr) = (opcode.scope()?, operands.address()?);
    if operands.constant(128, "128")? != 128 {
        return Err(operands.wrong("128"));
    }
    Ok(Fence::TensorMapAcquire { scope, addr })
}

fn mbarrier(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<SyncOp, Fault> {
    match opcode.next()? {
        "init" => {
            cta_barrier(opcode)?;
            Ok(SyncOp::MbarInit { addr: operands.address()?, count: operands.src(Ty::U32)? })
        }
        "inval" => {
            cta_barrier(opcode)?;
            Ok(SyncOp::MbarInval { addr: operands.address()? })
        }
        "expect_tx" => {
            if opcode.take("relaxed") {
                opcode.scope()?;
            }
            let space = opcode.one_of(&SHARED)?;
            opcode.ty(&[Ty::B64])?;
            Ok(SyncOp::MbarExpect { space, addr: operands.address()?, bytes: operands.src(Ty::U32)? })
        }
        "arrive" => arrive(opcode, operands),
        "test_wait" => wait(opcode, operands, false),
        "try_wait" => wait(opcode, operands, true),
        _ => Err(opcode.unknown()),
    }
}

/// `.shared[::cta].b64`.
fn cta_barrier(opcode: &mut Opcode<'_>) -> Result<(), Fault> {
    if !opcode.take("shared") {
        opcode.all(&["shared::cta"])?;
    }
    opcode.ty(&[Ty::B64]).map(|_| ())
}

/// Whether an order other than `.relaxed` holds, and for whom.
fn semantics(opcode: &mut Opcode<'_>, strong: &str) -> Result<(bool, Scope), Fault> {
    let relaxed = opcode.take("relaxed");
    if relaxed || opcode.take(strong) {
        return Ok((!relaxed, opcode.scope()?));
    }
    Ok((true, Scope::Cta))
}

fn arrive(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<SyncOp, Fault> {
    let expects = opcode.take("expect_tx");
    let (release, scope) = semantics(opcode, "release")?;
    let space = opcode.one_of(&SHARED)?;
    opcode.ty(&[Ty::B64])?;
    // Another CTA's barrier returns no state.
    let state = if space == Space::SharedCluster {
        operands.sink()?;
        None
    } else {
        operands.dst_or_sink(Class::B64)?
    };
    let addr = operands.address()?;
    let expect = if expects { Some(operands.src(Ty::U32)?) } else { None };
    let count = if !expects && operands.left() > 0 { Some(operands.src(Ty::U32)?) } else { None };
    Ok(SyncOp::MbarArrive { space, addr, count, expect, state, release, scope })
}

fn wait(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    may_suspend: bool,
) -> Result<SyncOp, Fault> {
    let parity = opcode.take("parity");
    let (acquire, scope) = semantics(opcode, "acquire")?;
    cta_barrier(opcode)?;
    let (dst, addr) = (operands.pred()?, operands.address()?);
    let phase =
        if parity { Phase::Parity(operands.src(Ty::U32)?) } else { Phase::State(operands.dst(Class::B64)?) };
    // How long it may be suspended at most, which has no effect on results.
    if may_suspend && operands.left() > 0 {
        operands.src(Ty::U32)?;
    }
    Ok(SyncOp::MbarWait { addr, phase, dst, may_suspend, acquire, scope })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{d, instruction, r, unknown};
    use super::*;
    use crate::ir::{Address, Op, PredReg, Src};

    fn sync(text: &str) -> Result<SyncOp, Fault> {
        match instruction(text)?.op {
            Op::Sync(sync) => Ok(sync),
            _ => Err(Fault::Undeclared(text.to_owned())),
        }
    }

    const HERE: Address = Address { base: Some(r(0)), offset: 0 };

    #[test]
    fn named_barriers() {
        let all = SyncOp::BarSync { barrier: Src::Imm(0), threads: None, aligned: true };
        assert_eq!(sync("bar.sync 0;"), Ok(all));
        let some = SyncOp::BarSync { barrier: Src::Reg(r(0)), threads: Some(Src::Imm(256)), aligned: false };
        assert_eq!(sync("barrier.sync %r1, 256;"), Ok(some));
        let arrive = SyncOp::BarArrive { barrier: Src::Imm(1), threads: Src::Imm(96), aligned: true };
        assert_eq!(sync("bar.arrive 1, 96;"), Ok(arrive));
        assert_eq!(sync("bar.warp.sync -1;"), Ok(SyncOp::WarpSync { members: Src::Imm(0xffff_ffff) }));
        assert!(matches!(sync("bar.arrive 1;"), Err(Fault::OperandCount { few: true, .. })));
        assert_eq!(sync("bar.red.popc.u32 %r1, 0, %p1;"), Err(unknown("bar.red.popc.u32")));
    }

    #[test]
    fn clusters() {
        let arrive = SyncOp::ClusterArrive { release: true, aligned: true };
        assert_eq!(sync("barrier.cluster.arrive.release.aligned;"), Ok(arrive.clone()));
        assert_eq!(sync("barrier.cluster.arrive.aligned;"), Ok(arrive));
        let relaxed = SyncOp::ClusterArrive { release: false, aligned: false };
        assert_eq!(sync("barrier.cluster.arrive.relaxed;"), Ok(relaxed));
        assert_eq!(sync("barrier.cluster.wait.acquire.aligned;"), Ok(SyncOp::ClusterWait { aligned: true }));
    }

    #[test]
    fn fences() {
        let fence = |text| match sync(text)? {
            SyncOp::Fence(fence) => Ok(fence),
            _ => Err(Fault::Undeclared(text.to_owned())),
        };
        assert_eq!(fence("fence.mbarrier_init.release.cluster;"), Ok(Fence::MbarrierInit));
        assert_eq!(
            fence("fence.proxy.async.shared::cta;"),
            Ok(Fence::Async { space: Some(Space::SharedCta) })
        );
        assert_eq!(fence("fence.proxy.async.global;"), Ok(Fence::Async { space: Some(Space::Global) }));
        assert_eq!(fence("fence.proxy.async;"), Ok(Fence::Async { space: None }));
        let sc = Fence::Thread { scope: Scope::Gpu, order: FenceOrder::SequentiallyConsistent };
        assert_eq!(fence("membar.gl;"), Ok(sc));
        assert_eq!(fence("fence.sc.gpu;"), Ok(sc));
        let acquire =
            Fence::TensorMapAcquire { scope: Scope::Gpu, addr: Address { base: Some(d(0)), offset: 0 } };
        assert_eq!(fence("fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;"), Ok(acquire));
        assert!(fence("fence.proxy.tensormap::generic.acquire.gpu [%d1], 64;").is_err());
        assert_eq!(fence("fence.proxy.alias;"), Err(unknown("fence.proxy.alias")));
    }

    #[test]
    fn arrivals() {
        let arrive = SyncOp::MbarArrive {
            space: Space::SharedCta,
            addr: HERE,
            count: None,
            expect: None,
            state: None,
            release: true,
            scope: Scope::Cta,
        };
        assert_eq!(sync("mbarrier.arrive.shared::cta.b64 _, [%r1];"), Ok(arrive));
        let expect = sync("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4096;");
        assert!(matches!(expect, Ok(SyncOp::MbarArrive { count: None, expect: Some(Src::Imm(4096)), .. })));
        let counted = sync("mbarrier.arrive.shared.b64 %d1, [%r1], 2;");
        assert!(matches!(
            counted,
            Ok(SyncOp::MbarArrive { count: Some(_), expect: None, state: Some(_), .. })
        ));
        let remote = sync("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];");
        assert!(matches!(
            remote,
            Ok(SyncOp::MbarArrive { space: Space::SharedCluster, scope: Scope::Cluster, .. })
        ));
        assert!(
            sync("mbarrier.arrive.shared::cluster.b64 %d1, [%r1];").is_err(),
            "no state from another CTA"
        );
        assert_eq!(
            sync("mbarrier.arrive.noComplete.shared.b64 %d1, [%r1], 1;"),
            Err(unknown("mbarrier.arrive.noComplete.shared.b64"))
        );
    }

    #[test]
    fn waits() {
        let parity = SyncOp::MbarWait {
            addr: HERE,
            phase: Phase::Parity(Src::Reg(r(1))),
            dst: PredReg(0),
            may_suspend: true,
            acquire: true,
            scope: Scope::Cta,
        };
        assert_eq!(sync("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;"), Ok(parity.clone()));
        assert_eq!(sync("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, 1000;"), Ok(parity));
        let state = sync("mbarrier.test_wait.acquire.cluster.shared::cta.b64 %p1, [%r1], %d1;");
        assert!(matches!(
            state,
            Ok(SyncOp::MbarWait { phase: Phase::State(_), may_suspend: false, scope: Scope::Cluster, .. })
        ));
        assert!(sync("mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0, 1000;").is_err());
    }

    #[test]
    fn register_counts_are_those_there_are() {
        let increase = SyncOp::SetMaxRegisters { increase: true, count: 240 };
        assert_eq!(sync("setmaxnreg.inc.sync.aligned.u32 240;"), Ok(increase));
        for wrong in ["16", "100", "264", "%r1"] {
            assert!(sync(&format!("setmaxnreg.dec.sync.aligned.u32 {wrong};")).is_err(), "{wrong}");
        }
    }
}
