//! Loads, stores and atomics, lane by lane, lowest lane first.

use super::address::{aligned, from_generic, in_cta, in_lane, of, to_generic};
use super::cluster::{Cluster, Violation};
use super::fault::FaultKind;
use super::lanes::lanes_of;
use super::warp::Warp;
use crate::ir::memory::{AtomicFunction, Order};
use crate::ir::{Address, MemoryOp, Reg, Space, Src, Ty};

/// Bytes of the widest access, a vector of four double words.
const WIDEST: usize = 32;

/// Whether an access is one that others see whole (PTX ISA, "Memory Consistency Model", "Strong
/// Operations").
const fn is_strong(order: Order) -> bool {
    !matches!(order, Order::Weak | Order::NonCoherent)
}

impl Cluster<'_> {
    pub(super) fn access(&mut self, op: &MemoryOp, warp: &mut Warp, mask: u32) -> Result<(), Violation> {
        match *op {
            MemoryOp::Load { space, ty, ref dst, addr, order } => {
                let _alone = is_strong(order).then(|| self.memory.alone());
                self.load(warp, mask, space, ty, dst, addr)
            }
            MemoryOp::Store { space, ty, ref src, addr, order } => {
                let _alone = is_strong(order).then(|| self.memory.alone());
                self.store(warp, mask, space, ty, src, addr)
            }
            MemoryOp::Atomic { space, f, ty, dst, addr, a, b, .. } => {
                let _alone = self.memory.alone();
                for lane in lanes_of(mask) {
                    let address = of(&warp.registers, addr, lane);
                    let operand = warp.registers.lane(a, lane);
                    let new = b.map_or(0, |b| warp.registers.lane(b, lane));
                    let old = self
                        .atomic(warp.cta, space, f, ty, address, [operand, new])
                        .map_err(|kind| in_lane(lane, kind))?;
                    if let Some(dst) = dst {
                        warp.registers.set_lane(dst, lane, old);
                    }
                }
                Ok(())
            }
            MemoryOp::ToGeneric { space, dst, a } => {
                let addresses = warp.registers.wide(a).map(|address| to_generic(space, address));
                warp.registers.set_wide(dst, &addresses, mask);
                Ok(())
            }
            MemoryOp::FromGeneric { space, dst, a } => {
                let addresses = warp.registers.wide(a).map(|address| from_generic(space, address));
                warp.registers.set_wide(dst, &addresses, mask);
                Ok(())
            }
            MemoryOp::MapToCta { dst, a, cta } => {
                let registers = &mut warp.registers;
                let addresses = std::array::from_fn(|lane| {
                    in_cta(registers.lane(a, lane) as u32, registers.lane(cta, lane) as u32).into()
                });
                registers.set_wide(dst, &addresses, mask);
                Ok(())
            }
            MemoryOp::Prefetch { .. } => Ok(()),
        }
    }

    fn load(
        &self,
        warp: &mut Warp,
        mask: u32,
        space: Space,
        ty: Ty,
        dst: &[Option<Reg>],
        addr: Address,
    ) -> Result<(), Violation> {
        let size = ty.bytes() as usize;
        let bytes = size * dst.len();
        for lane in lanes_of(mask) {
            let address = of(&warp.registers, addr, lane);
            let mut found = [0; WIDEST];
            let found = &mut found[..bytes];
            aligned(space, address, bytes as u64)
                .and_then(|()| self.read(warp.cta, space, address, found))
                .map_err(|kind| in_lane(lane, kind))?;
            for (element, &dst) in found.chunks_exact(size).zip(dst) {
                if let Some(dst) = dst {
                    warp.registers.set_lane(dst, lane, extended(ty, element));
                }
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        warp: &Warp,
        mask: u32,
        space: Space,
        ty: Ty,
        src: &[Src],
        addr: Address,
    ) -> Result<(), Violation> {
        let size = ty.bytes() as usize;
        let bytes = size * src.len();
        for lane in lanes_of(mask) {
            let address = of(&warp.registers, addr, lane);
            let mut values = [0; WIDEST];
            let values = &mut values[..bytes];
            for (element, &src) in values.chunks_exact_mut(size).zip(src) {
                let value = warp.registers.lane(src, lane).to_le_bytes();
                element.iter_mut().zip(value).for_each(|(to, from)| *to = from);
            }
            aligned(space, address, bytes as u64)
                .and_then(|()| self.write(warp.cta, space, address, values))
                .map_err(|kind| in_lane(lane, kind))?;
        }
        Ok(())
    }

    /// The value that was there.
    fn atomic(
        &mut self,
        own: usize,
        space: Space,
        f: AtomicFunction,
        ty: Ty,
        address: u64,
        operands: [u64; 2],
    ) -> Result<u64, FaultKind> {
        let size = ty.bytes() as usize;
        aligned(space, address, size as u64)?;
        let mut old = [0; 8];
        self.read(own, space, address, &mut old[..size])?;
        let old = u64::from_le_bytes(old);
        let new = combined(f, ty, old, operands).to_le_bytes();
        self.write(own, space, address, &new[..size])?;
        Ok(old)
    }
}

/// A value in memory, extended by its type to 64 bits.
fn extended(ty: Ty, bytes: &[u8]) -> u64 {
    let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let unused = 64 - ty.bits();
    if ty.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value }
}

/// What an atomic function makes of the old value.
fn combined(f: AtomicFunction, ty: Ty, old: u64, [a, b]: [u64; 2]) -> u64 {
    let signed = |value: u64| {
        let unused = 64 - ty.bits();
        (value << unused) as i64 >> unused
    };
    let smaller = if ty.is_signed() { signed(a) < signed(old) } else { a < old };
    match f {
        AtomicFunction::Add if ty == Ty::F32 => {
            (f32::from_bits(old as u32) + f32::from_bits(a as u32)).to_bits().into()
        }
        AtomicFunction::Add => old.wrapping_add(a),
        AtomicFunction::Min if smaller => a,
        AtomicFunction::Max if !smaller => a,
        AtomicFunction::Min | AtomicFunction::Max => old,
        AtomicFunction::And => old & a,
        AtomicFunction::Or => old | a,
        AtomicFunction::Xor => old ^ a,
        AtomicFunction::Inc => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        AtomicFunction::Dec => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        AtomicFunction::Exchange => a,
        AtomicFunction::Cas => {
            if old == a {
                b
            } else {
                old
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_extend_by_the_type() {
        assert_eq!(extended(Ty::S8, &[0x80]), 0xffff_ffff_ffff_ff80);
        assert_eq!(extended(Ty::U16, &[0x34, 0xf2]), 0xf234);
        assert_eq!(extended(Ty::S32, &[0xff; 4]), u64::MAX);
        assert_eq!(extended(Ty::B64, &[1, 0, 0, 0, 0, 0, 0, 0x80]), 0x8000_0000_0000_0001);
    }

    #[test]
    fn atomics_combine_by_the_type() {
        let minus_one = 0xffff_ffff;
        let cases = [
            (AtomicFunction::Min, Ty::S32, 5, minus_one, minus_one),
            (AtomicFunction::Min, Ty::U32, 5, minus_one, 5),
            (AtomicFunction::Max, Ty::S32, 5, minus_one, 5),
            (AtomicFunction::Max, Ty::U32, 5, minus_one, minus_one),
            (AtomicFunction::Inc, Ty::U32, 3, 3, 0),
            (AtomicFunction::Inc, Ty::U32, 2, 3, 3),
            (AtomicFunction::Dec, Ty::U32, 0, 3, 3),
            (AtomicFunction::Dec, Ty::U32, 2, 3, 1),
            (AtomicFunction::Cas, Ty::B32, 7, 7, 9),
            (AtomicFunction::Cas, Ty::B32, 6, 7, 6),
            (AtomicFunction::Exchange, Ty::B32, 6, 7, 7),
        ];
        for (f, ty, old, a, expected) in cases {
            assert_eq!(combined(f, ty, old, [a, 9]), expected, "{f:?} {ty:?}");
        }
        let sum =
            combined(AtomicFunction::Add, Ty::F32, 1.5_f32.to_bits().into(), [2.0_f32.to_bits().into(), 0]);
        assert_eq!(f32::from_bits(sum as u32), 3.5);
    }
}
