//! Bulk and tensor copies. PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk",
//! "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.commit_group",
//! "cp.async.bulk.wait_group", "prefetch.tensormap".

use super::opcode::Opcode;
use super::operands::Operands;
use crate::ir::bulk::{BulkReduce, ElementTy};
use crate::ir::{BulkOp, Space, Src, Ty};
use crate::ptx::Fault;

const REDUCTIONS: [(&str, BulkReduce); 8] = [
    ("add", BulkReduce::Add),
    ("min", BulkReduce::Min),
    ("max", BulkReduce::Max),
    ("inc", BulkReduce::Inc),
    ("dec", BulkReduce::Dec),
    ("and", BulkReduce::And),
    ("or", BulkReduce::Or),
    ("xor", BulkReduce::Xor),
];

pub(super) fn lower(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<BulkOp, Fault> {
    if opcode.root() == "prefetch" {
        opcode.all(&["tensormap"])?;
        return Ok(BulkOp::PrefetchTensorMap { addr: operands.address()? });
    }
    let reduces = opcode.take("reduce");
    opcode.all(&["async", "bulk"])?;
    if !reduces && opcode.take("commit_group") {
        return Ok(BulkOp::Commit);
    }
    if !reduces && opcode.take("wait_group") {
        let read = opcode.take("read");
        return Ok(BulkOp::Wait { pending: operands.constant(u32::MAX, "a number of groups")?, read });
    }
    let dimensions = if opcode.take("tensor") {
        Some(opcode.one_of(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)])?)
    } else {
        None
    };
    match (dimensions, opcode.take("global")) {
        (_, false) if reduces => Err(opcode.unknown()),
        (Some(dimensions), false) => tensor_load(opcode, operands, dimensions),
        (Some(dimensions), true) => from_tile(opcode, operands, dimensions, reduces),
        (None, false) => load(opcode, operands),
        (None, true) => from_shared(opcode, operands, reduces),
    }
}

/// `.shared::… .global`: where a load goes.
fn destination(opcode: &mut Opcode<'_>) -> Result<Space, Fault> {
    let spaces = [("shared::cta", Space::SharedCta), ("shared::cluster", Space::SharedCluster)];
    let space = opcode.one_of(&spaces)?;
    opcode.all(&["global"])?;
    Ok(space)
}

/// `[.multicast::cluster][.L2::cache_hint]`, and the operands that they bring.
fn tail(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    space: Space,
) -> Result<Option<Src>, Fault> {
    let mut mask = None;
    if space == Space::SharedCluster && opcode.take("multicast::cluster") {
        mask = Some(operands.src(Ty::U16)?);
    }
    cache_hint(opcode, operands)?;
    Ok(mask)
}

/// A policy has no effect on results.
fn cache_hint(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<(), Fault> {
    if opcode.take("L2::cache_hint") {
        operands.src(Ty::B64)?;
    }
    Ok(())
}

fn tensor_load(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    dimensions: usize,
) -> Result<BulkOp, Fault> {
    let space = destination(opcode)?;
    opcode.take("tile");
    opcode.all(&["mbarrier::complete_tx::bytes"])?;
    let (dst, tile) = (operands.address()?, operands.tile(dimensions)?);
    let barrier = operands.address()?;
    Ok(BulkOp::TensorLoad { space, dst, tile, barrier, multicast: tail(opcode, operands, space)? })
}

/// A store or reduction of a tile, behind `.global`.
fn from_tile(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    dimensions: usize,
    reduces: bool,
) -> Result<BulkOp, Fault> {
    opcode.all(&["shared::cta"])?;
    let f = if reduces { Some(opcode.one_of(&REDUCTIONS)?) } else { None };
    opcode.take("tile");
    opcode.all(&["bulk_group"])?;
    let (tile, src) = (operands.tile(dimensions)?, operands.address()?);
    cache_hint(opcode, operands)?;
    Ok(match f {
        Some(f) => BulkOp::TensorReduce { f, tile, src },
        None => BulkOp::TensorStore { tile, src },
    })
}

fn load(opcode: &mut Opcode<'_>, operands: &mut Operands<'_, '_>) -> Result<BulkOp, Fault> {
    let space = destination(opcode)?;
    opcode.all(&["mbarrier::complete_tx::bytes"])?;
    let (dst, src) = (operands.address()?, operands.address()?);
    let (bytes, barrier) = (operands.src(Ty::U32)?, operands.address()?);
    Ok(BulkOp::Load { space, dst, src, bytes, barrier, multicast: tail(opcode, operands, space)? })
}

/// A store or reduction of bytes, behind `.global`.
fn from_shared(
    opcode: &mut Opcode<'_>,
    operands: &mut Operands<'_, '_>,
    reduces: bool,
) -> Result<BulkOp, Fault> {
    opcode.all(&["shared::cta", "bulk_group"])?;
    let hint = opcode.take("L2::cache_hint");
    let reduction = if reduces { Some(reduction(opcode)?) } else { None };
    let (dst, src, bytes) = (operands.address()?, operands.address()?, operands.src(Ty::U32)?);
    if hint {
        operands.src(Ty::B64)?;
    }
    Ok(match reduction {
        Some((f, ty)) => BulkOp::Reduce { f, ty, dst, src, bytes },
        None => BulkOp::Store { dst, src, bytes },
    })
}

/// The pairs that PTX ISA, "cp.reduce.async.bulk", lists.
fn reduction(opcode: &mut Opcode<'_>) -> Result<(BulkReduce, ElementTy), Fault> {
    let f = opcode.one_of(&REDUCTIONS)?;
    let halves_keep_denormals = f == BulkReduce::Add && opcode.take("noftz");
    let ty = opcode.one_of(&[
        ("u32", ElementTy::U32),
        ("s32", ElementTy::S32),
        ("u64", ElementTy::U64),
        ("s64", ElementTy::S64),
        ("b32", ElementTy::B32),
        ("b64", ElementTy::B64),
        ("f16", ElementTy::F16),
        ("bf16", ElementTy::Bf16),
        ("f32", ElementTy::F32),
    ])?;
    let half = matches!(ty, ElementTy::F16 | ElementTy::Bf16);
    let right = match f {
        BulkReduce::Add => match ty {
            ElementTy::U32 | ElementTy::S32 | ElementTy::U64 | ElementTy::F32 => !halves_keep_denormals,
            _ => half && halves_keep_denormals,
        },
        BulkReduce::Min | BulkReduce::Max => !matches!(ty, ElementTy::B32 | ElementTy::B64 | ElementTy::F32),
        BulkReduce::Inc | BulkReduce::Dec => ty == ElementTy::U32,
        BulkReduce::And | BulkReduce::Or | BulkReduce::Xor => {
            matches!(ty, ElementTy::B32 | ElementTy::B64)
        }
    };
    if right { Ok((f, ty)) } else { Err(opcode.unknown()) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{d, instruction, r, unknown};
    use super::*;
    use crate::ir::bulk::Tile;
    use crate::ir::{Address, Op, Reg};

    fn bulk(text: &str) -> Result<BulkOp, Fault> {
        match instruction(text)?.op {
            Op::Bulk(bulk) => Ok(bulk),
            _ => Err(Fault::Undeclared(text.to_owned())),
        }
    }

    const fn at(reg: Reg) -> Address {
        Address { base: Some(reg), offset: 0 }
    }

    #[test]
    fn tile_loads() {
        const LOAD: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
        let load = |multicast| BulkOp::TensorLoad {
            space: Space::SharedCluster,
            dst: at(r(0)),
            tile: Tile { map: at(d(0)), coordinates: Box::new([Src::Reg(r(1)), Src::Imm(8)]) },
            barrier: at(r(2)),
            multicast,
        };
        assert_eq!(bulk(&format!("{LOAD} [%r1], [%d1, {{%r2, 8}}], [%r3];")), Ok(load(None)));
        let mask = Some(Src::Reg(super::super::testing::h(0)));
        assert_eq!(
            bulk(&format!("{LOAD}.multicast::cluster [%r1], [%d1, {{%r2, 8}}], [%r3], %h1;")),
            Ok(load(mask))
        );
        let hinted =
            format!("{LOAD}.multicast::cluster.L2::cache_hint [%r1], [%d1, {{%r2, 8}}], [%r3], %h1, %d2;");
        assert_eq!(bulk(&hinted), Ok(load(mask)));
        assert!(matches!(
            bulk(&format!("{LOAD} [%r1], [%d1, {{%r2}}], [%r3];")),
            Err(Fault::Operand { number: 2, .. })
        ));
        let im2col = "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes";
        assert_eq!(bulk(&format!("{im2col} [%r1], [%d1, {{%r2, 8, 8}}], [%r3];")), Err(unknown(im2col)));
    }

    #[test]
    fn tile_stores_and_reductions() {
        let tile = Tile { map: at(d(0)), coordinates: Box::new([Src::Reg(r(0))]) };
        let store = BulkOp::TensorStore { tile: tile.clone(), src: at(r(1)) };
        assert_eq!(
            bulk("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%d1, {%r1}], [%r2];"),
            Ok(store.clone())
        );
        assert_eq!(
            bulk("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%r1}], [%r2];"),
            Ok(store)
        );
        let reduce = BulkOp::TensorReduce { f: BulkReduce::Add, tile, src: at(r(1)) };
        assert_eq!(
            bulk(
                "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%d1, {%r1}], [%r2];"
            ),
            Ok(reduce)
        );
    }

    #[test]
    fn bytes() {
        let load = bulk(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 64, [%r2];",
        );
        let expected = BulkOp::Load {
            space: Space::SharedCluster,
            dst: at(r(0)),
            src: at(d(0)),
            bytes: Src::Imm(64),
            barrier: at(r(1)),
            multicast: None,
        };
        assert_eq!(load, Ok(expected));
        let store = BulkOp::Store { dst: at(d(0)), src: at(r(0)), bytes: Src::Reg(r(1)) };
        assert_eq!(bulk("cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], %r2;"), Ok(store));
        let reduce = BulkOp::Reduce {
            f: BulkReduce::Add,
            ty: ElementTy::F32,
            dst: at(d(0)),
            src: at(r(0)),
            bytes: Src::Imm(16),
        };
        assert_eq!(
            bulk("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d1], [%r1], 16;"),
            Ok(reduce)
        );
        for form in ["add.f16", "add.noftz.f32", "min.f32", "and.u32", "inc.s32"] {
            let opcode = format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{form}");
            assert_eq!(bulk(&format!("{opcode} [%d1], [%r1], 16;")), Err(unknown(&opcode)));
        }
    }

    #[test]
    fn groups() {
        assert_eq!(bulk("cp.async.bulk.commit_group;"), Ok(BulkOp::Commit));
        assert_eq!(bulk("cp.async.bulk.wait_group.read 1;"), Ok(BulkOp::Wait { pending: 1, read: true }));
        assert_eq!(bulk("cp.async.bulk.wait_group 0;"), Ok(BulkOp::Wait { pending: 0, read: false }));
        assert!(bulk("cp.async.bulk.wait_group %r1;").is_err());
        assert_eq!(bulk("prefetch.tensormap [%d1];"), Ok(BulkOp::PrefetchTensorMap { addr: at(d(0)) }));
        assert_eq!(
            bulk("cp.reduce.async.bulk.commit_group;"),
            Err(unknown("cp.reduce.async.bulk.commit_group"))
        );
    }
}
