//! The tensor cores and the moves of their fragments. A product is delivered eagerly: it takes
//! effect when the last of the warpgroup's four warps has issued it, so that fences, commits and
//! waits have nothing to do.

use super::address::of;
use super::cluster::{Cluster, Flow, Violation};
use super::exchange::converge;
use super::fault::FaultKind;
use super::lanes::{ALL, Lanes};
use super::warp::{Wait, Warp};
use crate::engine::matrix;
use crate::engine::wgmma::{Accumulator, Descriptor, Major, MatrixA, MatrixB};
use crate::ir::mma::{MmaOp, OperandA, Wgmma};
use crate::ir::{Address, Op, Space};

/// Warps of a warpgroup.
const GROUP: usize = 4;

impl Cluster<'_> {
    pub(super) fn matrices(
        &mut self,
        op: &MmaOp,
        warp: &mut Warp,
        pc: usize,
        mask: u32,
    ) -> Result<Flow, Violation> {
        if let Some(flow) = converge(warp, mask, ALL) {
            return Ok(flow);
        }
        let everywhere = |kind: FaultKind| Violation { kind, lanes: mask };
        match *op {
            MmaOp::Wgmma(ref wgmma) => {
                let others = self.partners(warp);
                if !others.iter().all(|&index| self.is_waiting_at(index, pc)) || others.len() != GROUP - 1 {
                    return Ok(Flow::Park(Wait::Warpgroup));
                }
                self.multiply(wgmma, warp, &others, mask).map_err(everywhere)?;
                for index in others {
                    for group in &mut self.warps[index].groups {
                        group.wait = None;
                        group.pc += 1;
                    }
                    self.steps += 1;
                }
                Ok(Flow::Next)
            }
            MmaOp::Fence | MmaOp::Commit | MmaOp::Wait { .. } => Ok(Flow::Next),
            MmaOp::StoreMatrix { transpose, addr, ref src } => {
                let addresses = self.rows(warp, addr).map_err(everywhere)?;
                let words: Vec<_> = src.iter().map(|&reg| warp.registers.word(reg)).collect();
                let shared = &mut self.ctas[warp.cta].shared;
                matrix::store(&addresses, &words, transpose, shared)
                    .map_err(|error| everywhere(error.into()))?;
                Ok(Flow::Next)
            }
            MmaOp::LoadMatrix { transpose, ref dst, addr } => {
                let addresses = self.rows(warp, addr).map_err(everywhere)?;
                let mut words = vec![[0; 32]; dst.len()];
                matrix::load(&addresses, &mut words, transpose, &self.ctas[warp.cta].shared)
                    .map_err(|error| everywhere(error.into()))?;
                for (&reg, words) in dst.iter().zip(&words) {
                    warp.registers.set_b32(reg, words, mask);
                }
                Ok(Flow::Next)
            }
        }
    }

    /// The address that each lane gives.
    fn rows(&self, warp: &Warp, addr: Address) -> Result<Lanes<u32>, FaultKind> {
        let mut rows = [0; 32];
        for (lane, row) in rows.iter_mut().enumerate() {
            *row = self.shared(warp.cta, Space::SharedCta, of(&warp.registers, addr, lane))?.1;
        }
        Ok(rows)
    }

    /// The other warps of a warp's warpgroup, as far as there are any.
    fn partners(&self, warp: &Warp) -> Vec<usize> {
        let in_cta = self.geometry.warps();
        let first = warp.index as usize / GROUP * GROUP;
        let members = (first..(first + GROUP).min(in_cta)).filter(|&index| index != warp.index as usize);
        members.map(|index| warp.cta * in_cta + index).collect()
    }

    fn is_waiting_at(&self, index: usize, pc: usize) -> bool {
        matches!(self.warps[index].groups[..], [group] if group.pc == pc && group.wait == Some(Wait::Warpgroup))
    }

    /// D = A·B, or D + A·B, for the four warps of a warpgroup.
    fn multiply(
        &mut self,
        op: &Wgmma,
        warp: &mut Warp,
        others: &[usize],
        mask: u32,
    ) -> Result<(), FaultKind> {
        let position = warp.index as usize % GROUP;
        let shared = &self.ctas[warp.cta].shared[..];
        let major = |mn: bool| if mn { Major::Mn } else { Major::K };
        // The four warps in order, the executing one at its place.
        let at = |place: usize| match place.cmp(&position) {
            std::cmp::Ordering::Less => &self.warps[others[place]].registers,
            std::cmp::Ordering::Equal => &warp.registers,
            std::cmp::Ordering::Greater => &self.warps[others[place - 1]].registers,
        };
        let a = match op.a {
            OperandA::Registers(registers) => {
                MatrixA::from_registers(op.operand, |place, index| at(place).word(registers[index]))
            }
            OperandA::Shared { descriptor, mn_major } => {
                let descriptor = Descriptor::decode(warp.registers.uniform(descriptor, mask))?;
                MatrixA::from_shared(op.operand, &descriptor, major(mn_major), shared)?
            }
        };
        let a = if op.negate_a == op.negate_b { a } else { a.negated() };
        let descriptor = Descriptor::decode(warp.registers.uniform(op.b, mask))?;
        let b = MatrixB::from_shared(op.operand, op.n as usize, &descriptor, major(op.b_mn_major), shared)?;
        let mut sums = Accumulator::new(op.n as usize)?;
        if warp.registers.predicate(op.accumulate) & mask != 0 {
            for place in 0..GROUP {
                for (index, &reg) in op.d.iter().enumerate() {
                    sums.set(place, index, at(place).word(reg))?;
                }
            }
        }
        sums.add_product(&a, &b)?;
        for place in 0..GROUP {
            let registers = match place.cmp(&position) {
                std::cmp::Ordering::Less => &mut self.warps[others[place]].registers,
                std::cmp::Ordering::Equal => &mut warp.registers,
                std::cmp::Ordering::Greater => &mut self.warps[others[place - 1]].registers,
            };
            for (index, &reg) in op.d.iter().enumerate() {
                *registers.word_mut(reg) = sums.get(place, index)?;
            }
        }
        Ok(())
    }
}

/// Whether an instruction takes the lanes of a warp together, so that lanes whose guard is false
/// must go their own way.
pub(super) const fn takes_lanes_together(op: &Op) -> bool {
    matches!(op, Op::Warp(_) | Op::Sync(_) | Op::Mma(_))
}
