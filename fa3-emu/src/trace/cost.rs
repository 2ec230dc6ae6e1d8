//! What an instruction costs: the unit that executes it, for how long, and how long its result takes.

use crate::ir::alu::{AluOp, FloatBinary, FloatUnary, IntBinary};
use crate::ir::{MemoryOp, MmaOp, Op, Space, SyncOp};

/// A unit that executes instructions of warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nothing but the scheduler.
    None,
    /// Floating-point sums and products.
    Float,
    /// Integers, comparisons, selection, conversion.
    Integer,
    /// Exponentials and the like.
    Special,
    /// Exchange within a warp.
    Exchange,
    /// Shared and global memory, one for the whole SM.
    Memory,
}

impl Unit {
    /// How many kinds there are that every scheduler has one of.
    pub(super) const OF_A_SCHEDULER: usize = 5;
}

/// What an instruction costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) unit: Unit,
    /// Cycles for which it occupies the unit.
    pub(super) cycles: u64,
    /// Cycles after which the warp goes on.
    pub(super) latency: u64,
}

impl Cost {
    const fn new(unit: Unit, cycles: u64) -> Self {
        Self { unit, cycles, latency: 1 }
    }

    const fn with_latency(self, latency: u64) -> Self {
        Self { latency, ..self }
    }
}

const FLOAT: Cost = Cost::new(Unit::Float, 1);
const INTEGER: Cost = Cost::new(Unit::Integer, 2);
const SPECIAL: Cost = Cost::new(Unit::Special, 8);
const EXCHANGE: Cost = Cost::new(Unit::Exchange, 4);
const NOTHING: Cost = Cost::new(Unit::None, 1);
/// Bytes that shared memory moves in a cycle.
const MEMORY_WIDTH: u64 = 128;
const SHARED_LATENCY: u64 = 30;
const GLOBAL_LATENCY: u64 = 500;

/// The cost of an instruction of a whole warp.
pub(super) fn of(op: &Op) -> Cost {
    match op {
        Op::Alu(op) => arithmetic(op),
        Op::Memory(op) => memory(op),
        Op::Warp(_) => EXCHANGE,
        Op::Sync(SyncOp::Fence(_) | SyncOp::Sleep { .. } | SyncOp::SetMaxRegisters { .. }) => NOTHING,
        Op::Sync(_) | Op::Bulk(_) => Cost::new(Unit::Memory, 1),
        Op::Mma(MmaOp::StoreMatrix { src, .. }) => bytes(32 * 4 * src.len()),
        Op::Mma(MmaOp::LoadMatrix { dst, .. }) => bytes(32 * 4 * dst.len()).with_latency(SHARED_LATENCY),
        Op::Mma(_) | Op::Branch { .. } | Op::Exit | Op::Trap | Op::LaunchDependents | Op::WaitForGrids => {
            NOTHING
        }
    }
}

/// An access of so many bytes by a warp.
fn bytes(bytes: usize) -> Cost {
    Cost::new(Unit::Memory, (bytes as u64).div_ceil(MEMORY_WIDTH).max(1))
}

fn memory(op: &MemoryOp) -> Cost {
    let latency = |space| if is_shared(space) { SHARED_LATENCY } else { GLOBAL_LATENCY };
    match op {
        // Parameters are in a cache of constants.
        MemoryOp::Load { space: Space::Param, .. } => NOTHING,
        MemoryOp::Load { space, ty, dst, .. } => {
            bytes(32 * ty.bytes() as usize * dst.len()).with_latency(latency(*space))
        }
        MemoryOp::Store { ty, src, .. } => bytes(32 * ty.bytes() as usize * src.len()),
        MemoryOp::Atomic { space, ty, dst, .. } => {
            let cost = bytes(32 * ty.bytes() as usize);
            if dst.is_some() { cost.with_latency(latency(*space)) } else { cost }
        }
        MemoryOp::Prefetch { .. } => bytes(0),
        MemoryOp::ToGeneric { .. } | MemoryOp::FromGeneric { .. } | MemoryOp::MapToCta { .. } => INTEGER,
    }
}

const fn is_shared(space: Space) -> bool {
    matches!(space, Space::SharedCta | Space::SharedCluster)
}

/// Moves cost nothing but their issue: in machine code most of them are gone.
const fn arithmetic(op: &AluOp) -> Cost {
    match op {
        AluOp::Mov { .. }
        | AluOp::Pack { .. }
        | AluOp::Unpack { .. }
        | AluOp::PredSet { .. }
        | AluOp::PredMov { .. }
        | AluOp::CreatePolicy { .. } => NOTHING,
        AluOp::Float1 { f, .. } => match f {
            FloatUnary::Neg | FloatUnary::Abs => FLOAT,
            FloatUnary::Rcp
            | FloatUnary::RcpApprox
            | FloatUnary::Sqrt
            | FloatUnary::SqrtApprox
            | FloatUnary::RsqrtApprox
            | FloatUnary::Ex2Approx
            | FloatUnary::Lg2Approx
            | FloatUnary::TanhApprox => SPECIAL,
        },
        AluOp::Float2 { f, .. } => match f {
            FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul => FLOAT,
            FloatBinary::Div | FloatBinary::DivApprox => SPECIAL,
            FloatBinary::Min | FloatBinary::Max | FloatBinary::MinNan | FloatBinary::MaxNan => INTEGER,
        },
        AluOp::Fma { .. } => FLOAT,
        // Division and remainder are loops of some twenty instructions in machine code.
        AluOp::Int2 { f: IntBinary::Div | IntBinary::Rem, .. } => Cost::new(Unit::Integer, 40),
        AluOp::ReadSpecial { .. }
        | AluOp::Int1 { .. }
        | AluOp::Int2 { .. }
        | AluOp::MulWide { .. }
        | AluOp::Mad { .. }
        | AluOp::BitFieldExtract { .. }
        | AluOp::BitFieldInsert { .. }
        | AluOp::FunnelShift { .. }
        | AluOp::Permute { .. }
        | AluOp::Lop3 { .. }
        | AluOp::Setp { .. }
        | AluOp::Selp { .. }
        | AluOp::PredNot { .. }
        | AluOp::Pred2 { .. }
        | AluOp::Cvt { .. }
        | AluOp::CvtPack { .. } => INTEGER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::memory::Order;
    use crate::ir::{Address, Class, Reg, Src, Ty};

    const REG: Reg = Reg { class: Class::B32, index: 0 };
    const A: Src = Src::Imm(0);

    #[test]
    fn exponentials_are_eight_times_a_product() {
        let ex2 = Op::Alu(AluOp::Float1 { f: FloatUnary::Ex2Approx, ftz: true, dst: REG, a: A });
        let mul = Op::Alu(AluOp::Float2 { f: FloatBinary::Mul, ftz: true, dst: REG, a: A, b: A });
        assert_eq!(of(&ex2).cycles, 8 * of(&mul).cycles);
        assert_ne!(of(&ex2).unit, of(&mul).unit);
    }

    #[test]
    fn memory_takes_what_its_bytes_take() {
        let addr = Address { base: None, offset: 0 };
        let order = Order::Weak;
        let load = |space, elements: usize| {
            let dst = vec![Some(REG); elements].into();
            of(&Op::Memory(MemoryOp::Load { space, ty: Ty::B32, dst, addr, order }))
        };
        assert_eq!(load(Space::SharedCta, 4), Cost { unit: Unit::Memory, cycles: 4, latency: 30 });
        assert_eq!(load(Space::Global, 1).latency, GLOBAL_LATENCY);
        assert_eq!(load(Space::Param, 4), NOTHING);
        let src = [A; 2].into();
        let store = Op::Memory(MemoryOp::Store { space: Space::Global, ty: Ty::B64, src, addr, order });
        assert_eq!(of(&store), Cost { unit: Unit::Memory, cycles: 4, latency: 1 });
    }
}
