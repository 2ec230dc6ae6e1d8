//! Loads, stores, atomics, address conversion. PTX ISA, "ld", "st", "atom", "red", "cvta", "mapa",
//! "prefetch".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::memory::{AtomicFunction, Order, Scope};
use crate::ir::{MemoryOp, Space, Ty};
use crate::ptx::Fault;

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<MemoryOp, Fault> {
    match opcode.root() {
        "ld" => load(opcode, operands),
        "st" => store(opcode, operands),
        "atom" | "red" => atomic(opcode, operands),
        "cvta" => {
            let from_generic = opcode.take("to");
            let space = opcode.one_of(&[
                ("global", Space::Global),
                ("shared", Space::SharedCta),
                ("shared::cta", Space::SharedCta),
                ("shared::cluster", Space::SharedCluster),
                ("param", Space::Param),
            ])?;
            let ty = opcode.ty(&[Ty::U32, Ty::U64])?;
            let (dst, a) = (operands.dst(ty.class())?, operands.src(ty)?);
            Ok(if from_generic {
                MemoryOp::FromGeneric { space, dst, a }
            } else {
                MemoryOp::ToGeneric { space, dst, a }
            })
        }
        "mapa" => {
            opcode.all(&["shared::cluster"])?;
            let ty = opcode.ty(&[Ty::U32, Ty::U64])?;
            let (dst, a) = (operands.dst(ty.class())?, operands.src(ty)?);
            Ok(MemoryOp::MapToCta { dst, a, cta: operands.src(Ty::U32)? })
        }
        "prefetch" => {
            let space = opcode.take_any(&[("global", Space::Global)]).unwrap_or(Space::Generic);
            opcode.one_of(&[("L1", ()), ("L2", ())])?;
            Ok(MemoryOp::Prefetch { space, addr: operands.address()? })
        }
        _ => Err(opcode.unknown()),
    }
}

fn load(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<MemoryOp, Fault> {
    let mut order = order(opcode, true)?;
    let space =
        if opcode.take("param") || opcode.take("param::entry") { Space::Param } else { space(opcode) };
    if order == Order::Weak && space == Space::Global && opcode.take("nc") {
        order = Order::NonCoherent;
    }
    cache_advice(opcode, &["ca", "cg", "cs", "lu"]);
    let (count, ty) = shape(opcode)?;
    let dst = operands.wide_dsts(count, ty.class())?;
    Ok(MemoryOp::Load { space, ty, dst, addr: operands.address()?, order })
}

fn store(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<MemoryOp, Fault> {
    let order = order(opcode, false)?;
    let space = space(opcode);
    cache_advice(opcode, &["wb", "cg", "cs", "wt"]);
    let (count, ty) = shape(opcode)?;
    let addr = operands.address()?;
    Ok(MemoryOp::Store { space, ty, src: operands.wide_srcs(count, ty)?, addr, order })
}

/// The memory order of a load or store.
fn order(opcode: &mut Opcode<'_>, load: bool) -> Result<Order, Fault> {
    if opcode.take("volatile") {
        return Ok(Order::Volatile);
    }
    if opcode.take("relaxed") {
        return Ok(Order::Relaxed(opcode.scope()?));
    }
    if load && opcode.take("acquire") {
        return Ok(Order::Acquire(opcode.scope()?));
    }
    if !load && opcode.take("release") {
        return Ok(Order::Release(opcode.scope()?));
    }
    opcode.take("weak");
    Ok(Order::Weak)
}

fn space(opcode: &mut Opcode<'_>) -> Space {
    let named = opcode.take_any(&[
        ("global", Space::Global),
        ("shared", Space::SharedCta),
        ("shared::cta", Space::SharedCta),
        ("shared::cluster", Space::SharedCluster),
    ]);
    named.unwrap_or(Space::Generic)
}

/// Passes over advice to the caches, which has no effect on results.
fn cache_advice(opcode: &mut Opcode<'_>, operators: &[&str]) {
    let _ = operators.iter().any(|operator| opcode.take(operator));
    for advice in [
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
        "L2::64B",
        "L2::128B",
        "L2::256B",
    ] {
        opcode.take(advice);
    }
}

/// The number of elements and their type.
fn shape(opcode: &mut Opcode<'_>) -> Result<(usize, Ty), Fault> {
    let count = opcode.take_any(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let ty = opcode.take_ty().ok_or_else(|| opcode.unknown())?;
    // PTX ISA, "Vectors": at most 128 bits together.
    if count * ty.bytes() as usize > 16 || matches!(ty, Ty::F16 | Ty::Bf16) {
        return Err(opcode.unknown());
    }
    Ok((count, ty))
}

fn atomic(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<MemoryOp, Fault> {
    let order = opcode.take_any::<fn(Scope) -> Order>(&[
        ("relaxed", Order::Relaxed),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
        ("acq_rel", Order::AcqRel),
    ]);
    let scope = opcode.take_scope().unwrap_or(Scope::Gpu);
    let order = order.map_or(Order::Relaxed(scope), |order| order(scope));
    let space = space(opcode);
    let f = opcode.one_of(&[
        ("add", AtomicFunction::Add),
        ("min", AtomicFunction::Min),
        ("max", AtomicFunction::Max),
        ("and", AtomicFunction::And),
        ("or", AtomicFunction::Or),
        ("xor", AtomicFunction::Xor),
        ("inc", AtomicFunction::Inc),
        ("dec", AtomicFunction::Dec),
        ("exch", AtomicFunction::Exchange),
        ("cas", AtomicFunction::Cas),
    ])?;
    let ty = opcode.ty(match f {
        AtomicFunction::Add => &[Ty::U32, Ty::S32, Ty::U64, Ty::F32],
        AtomicFunction::Min | AtomicFunction::Max => &[Ty::U32, Ty::S32, Ty::U64, Ty::S64],
        AtomicFunction::Inc | AtomicFunction::Dec => &[Ty::U32],
        _ => &[Ty::B32, Ty::B64],
    })?;
    let returns = opcode.root() == "atom";
    if !returns && matches!(f, AtomicFunction::Exchange | AtomicFunction::Cas) {
        return Err(opcode.unknown());
    }
    let dst = if returns { operands.dst_or_sink(ty.class())? } else { None };
    let (addr, a) = (operands.address()?, operands.src(ty)?);
    let b = if f == AtomicFunction::Cas { Some(operands.src(ty)?) } else { None };
    Ok(MemoryOp::Atomic { space, f, ty, dst, addr, a, b, order })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{d, instruction, r, unknown};
    use super::*;
    use crate::ir::{Address, Op, Src};

    fn memory(text: &str) -> Result<MemoryOp, Fault> {
        match instruction(text)?.op {
            Op::Memory(memory) => Ok(memory),
            _ => Err(Fault::Undeclared(text.to_owned())),
        }
    }

    #[test]
    fn loads() {
        let load = |space, ty, dst, addr| MemoryOp::Load { space, ty, dst, addr, order: Order::Weak };
        let below = Address { base: Some(d(0)), offset: -4 };
        let param = load(Space::Param, Ty::U32, Box::new([Some(r(0))]), below);
        assert_eq!(memory("ld.param.u32 %r1, [%d1+-4];"), Ok(param));
        let absolute = Address { base: None, offset: 12 };
        let param = load(Space::Param, Ty::U32, Box::new([Some(d(0))]), absolute);
        assert_eq!(memory("ld.param.u32 %d1, [param+4];"), Ok(param));
        let vector = load(
            Space::SharedCta,
            Ty::F32,
            Box::new([Some(r(0)), None]),
            Address { base: Some(r(1)), offset: 0 },
        );
        assert_eq!(memory("ld.shared.v2.f32 {%r1, _}, [%r2];"), Ok(vector));
        let nc = memory("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];");
        assert!(matches!(nc, Ok(MemoryOp::Load { order: Order::NonCoherent, .. })));
        let acquire = memory("ld.acquire.gpu.global.u32 %r1, [%d1];");
        assert!(matches!(acquire, Ok(MemoryOp::Load { order: Order::Acquire(Scope::Gpu), .. })));
        for form in
            ["ld.local.u32", "ld.global.v4.u64", "ld.release.gpu.u32", "ld.shared.nc.u32", "ld.global.v8.b32"]
        {
            assert_eq!(memory(&format!("{form} %r1, [%d1];")), Err(unknown(form)));
        }
        assert!(memory("ld.global.u64 %r1, [%d1];").is_err(), "the register is narrower");
        assert!(memory("ld.shared.v2.f32 {%r1, %r2, %r3}, [%r4];").is_err());
    }

    #[test]
    fn stores() {
        let addr = Address { base: Some(r(0)), offset: 384 };
        let src = Box::new([Src::Reg(r(1))]);
        let store = MemoryOp::Store { space: Space::SharedCta, ty: Ty::F32, src, addr, order: Order::Weak };
        assert_eq!(memory("st.shared.f32 [%r1+384], %r2;"), Ok(store));
        let addr = Address { base: None, offset: 4 };
        let store = MemoryOp::Store {
            space: Space::SharedCta,
            ty: Ty::U8,
            src: Box::new([Src::Imm(255)]),
            addr,
            order: Order::Weak,
        };
        assert_eq!(memory("st.shared.u8 [tile+4], -1;"), Ok(store));
        assert_eq!(memory("st.param.u32 [%d1], %r1;"), Err(unknown("st.param.u32")));
    }

    #[test]
    fn atomics() {
        let addr = Address { base: Some(d(0)), offset: 0 };
        let order = Order::Relaxed(Scope::Gpu);
        let add = MemoryOp::Atomic {
            space: Space::Global,
            f: AtomicFunction::Add,
            ty: Ty::U32,
            dst: Some(r(0)),
            addr,
            a: Src::Imm(1),
            b: None,
            order,
        };
        assert_eq!(memory("atom.global.add.u32 %r1, [%d1], 1;"), Ok(add));
        let red = memory("red.release.cluster.global.add.f32 [%d1], %r1;");
        assert!(matches!(red, Ok(MemoryOp::Atomic { dst: None, order: Order::Release(Scope::Cluster), .. })));
        let cas = memory("atom.shared.cas.b32 _, [tile], 0, %r1;");
        assert!(matches!(cas, Ok(MemoryOp::Atomic { dst: None, b: Some(_), .. })));
        assert_eq!(memory("red.global.exch.b32 [%d1], 1;"), Err(unknown("red.global.exch.b32")));
        assert_eq!(memory("atom.global.add.f64 %d1, [%d2], %d3;"), Err(unknown("atom.global.add.f64")));
    }

    #[test]
    fn address_spaces() {
        let (dst, a) = (d(0), Src::Reg(d(1)));
        assert_eq!(
            memory("cvta.param.u64 %d1, %d2;"),
            Ok(MemoryOp::ToGeneric { space: Space::Param, dst, a })
        );
        assert_eq!(
            memory("cvta.to.global.u64 %d1, %d2;"),
            Ok(MemoryOp::FromGeneric { space: Space::Global, dst, a })
        );
        let mapped = MemoryOp::MapToCta { dst: r(0), a: Src::Reg(r(1)), cta: Src::Imm(1) };
        assert_eq!(memory("mapa.shared::cluster.u32 %r1, %r2, 1;"), Ok(mapped));
    }
}
