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
