//! The tensor cores' instructions and the moves of their fragments. A product is issued when the last
//! of the warpgroup's four warps reaches it.

use super::address::of;
use super::asynchronous::{GROUP, Issuer, Product, SourceA, major};
use super::cluster::{Cluster, Flow, Violation};
use super::exchange::converge;
use super::fault::{FaultKind, NotUniform};
use super::lanes::{ALL, Lanes};
use super::registers::Registers;
use super::warp::{Wait, Warp};
use crate::check::Access;
use crate::engine::matrix;
use crate::engine::wgmma::Descriptor;
use crate::ir::mma::{MmaOp, OperandA, Wgmma};
use crate::ir::{Address, Op, Space};
use crate::options::Order;

impl<'a> Cluster<'a> {
    pub(super) fn matrices(
        &mut self,
        op: &'a MmaOp,
        warp: &mut Warp,
        pc: usize,
        mask: u32,
    ) -> Result<Flow, Violation> {
        if let Some(flow) = converge(warp, mask, ALL) {
            return Ok(flow);
        }
        let everywhere = |kind: FaultKind| Violation { kind, lanes: mask };
        if mask != ALL {
            return Err(everywhere(FaultKind::PartOfWarp { missing: !mask }));
        }
        let place = self.place_of(warp);
        match *op {
            MmaOp::Wgmma(ref wgmma) => {
                let others = self.partners(warp);
                if others.len() != GROUP - 1 {
                    return Err(everywhere(FaultKind::Warpgroup { warps: others.len() + 1 }));
                }
                if !others.iter().all(|&index| self.is_waiting_at(index, pc)) {
                    return Ok(Flow::Park(Wait::Warpgroup));
                }
                let product = self.product(wgmma, warp, &others, pc, mask).map_err(everywhere)?;
                self.check_product(&product).map_err(everywhere)?;
                self.issue_product(product);
                let (place, from_registers) =
                    (self.place_of(warp), matches!(wgmma.a, OperandA::Registers(_)));
                self.trace(|tracer, program| tracer.product(place, program, pc, wgmma.n, from_registers));
                for index in others {
                    for group in &mut self.warps[index].groups {
                        group.wait = None;
                        group.pc += 1;
                    }
                    self.steps += 1;
                }
                Ok(if self.options.order == Order::Eager { Flow::Yield } else { Flow::Next })
            }
            MmaOp::Fence => {
                self.tell(|checker| checker.product_fence(place as u32));
                Ok(Flow::Next)
            }
            MmaOp::Commit => {
                self.commit_products(warp);
                self.tell(|checker| checker.product_commit(place as u32));
                Ok(Flow::Next)
            }
            MmaOp::Wait { pending } => {
                let flow = self.wait_for_products(warp, pending);
                if matches!(flow, Flow::Next) {
                    self.tell(|checker| checker.product_wait(place as u32, pending));
                }
                Ok(flow)
            }
            MmaOp::StoreMatrix { transpose, addr, ref src } => {
                let addresses = self.rows(warp, addr).map_err(everywhere)?;
                self.check_rows(warp, pc, &addresses, src.len(), Access::WRITE).map_err(everywhere)?;
                let words: Vec<_> = src.iter().map(|&reg| warp.registers.word(reg)).collect();
                let shared = &mut self.ctas[warp.cta].shared;
                matrix::store(&addresses, &words, transpose, shared)
                    .map_err(|error| everywhere(error.into()))?;
                Ok(Flow::Next)
            }
            MmaOp::LoadMatrix { transpose, ref dst, addr } => {
                let addresses = self.rows(warp, addr).map_err(everywhere)?;
                self.check_rows(warp, pc, &addresses, dst.len(), Access::READ).map_err(everywhere)?;
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

    /// The product that a warpgroup issues, as its descriptors and its scale say now.
    fn product<'p>(
        &self,
        op: &'p Wgmma,
        warp: &Warp,
        others: &[usize],
        pc: usize,
        mask: u32,
    ) -> Result<Product<'p>, FaultKind> {
        let ours = operands(op, &warp.registers, mask)?;
        for &index in others {
            let other = &self.warps[index];
            let theirs = operands(op, &other.registers, other.live)?;
            let mut pairs = OPERANDS.iter().zip(ours.iter().zip(theirs));
            if let Some((&operand, (&value, their))) = pairs.find(|(_, (value, their))| **value != *their) {
                let at = [warp.index, other.index].map(|index| index as usize);
                let values = [value, their];
                return Err(Box::new(NotUniform { operand, who: "warps", at, values }).into());
            }
        }
        let [a, b, accumulate] = ours;
        let a = match op.a {
            OperandA::Registers(registers) => SourceA::Registers(registers),
            OperandA::Shared { mn_major, .. } => SourceA::Shared(Descriptor::decode(a)?, major(mn_major)),
        };
        let b = Descriptor::decode(b)?;
        let place = self.place_of(warp);
        let issuer = Issuer { warp: place - warp.index as usize % GROUP, lanes: mask, pc };
        Ok(Product { op, a, b, accumulate: accumulate != 0, issuer })
    }
}

/// What all threads of a warpgroup must agree on (PTX ISA, "Matrix Descriptor Format",
/// "wgmma.mma_async").
const OPERANDS: [&str; 3] = ["the descriptor of A", "the descriptor of B", "scale-d"];

/// Those of a product in a warp, as numbers.
fn operands(op: &Wgmma, registers: &Registers, mask: u32) -> Result<[u64; 3], FaultKind> {
    let a = match op.a {
        OperandA::Registers(_) => 0,
        OperandA::Shared { descriptor, .. } => registers.agreed(OPERANDS[0], descriptor, mask)?,
    };
    let b = registers.agreed(OPERANDS[1], op.b, mask)?;
    let accumulate = registers.agreed_predicate(OPERANDS[2], op.accumulate, mask)?;
    Ok([a, b, accumulate.into()])
}

/// Whether an instruction takes the lanes of a warp together, so that lanes whose guard is false
/// must go their own way.
pub(super) const fn takes_lanes_together(op: &Op) -> bool {
    matches!(op, Op::Warp(_) | Op::Sync(_) | Op::Mma(_))
}
