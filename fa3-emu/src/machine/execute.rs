//! One instruction of one group of lanes.

use super::cluster::{Cluster, Flow, Violation};
use super::fault::FaultKind;
use super::matrices::takes_lanes_together;
use super::warp::Warp;
use super::{alu, exchange};
use crate::ir::{AluOp, Op, Program};

impl<'a> Cluster<'a> {
    /// Executes instruction `pc` in the lanes of `mask` where its guard holds.
    #[inline]
    pub(super) fn execute(&mut self, warp: &mut Warp, pc: usize, mask: u32) -> Result<Flow, Violation> {
        let program: &'a Program = self.program;
        let instr = &program.instructions[pc];
        let active = match instr.guard {
            None => mask,
            Some(guard) => {
                let holds = warp.registers.predicate(guard.pred);
                mask & if guard.negated { !holds } else { holds }
            }
        };
        if active == 0 {
            return Ok(Flow::Next);
        }
        if active != mask && takes_lanes_together(&instr.op) {
            return Ok(Flow::Apart(active));
        }
        self.check_registers(warp, pc, active)?;
        match &instr.op {
            Op::Alu(op) => {
                let special = match *op {
                    AluOp::ReadSpecial { special, .. } => self.special(special, warp),
                    _ => [0; 32],
                };
                alu::execute(op, &mut warp.registers, &special, active);
                Ok(Flow::Next)
            }
            Op::Memory(op) => {
                self.check_access(op, warp, pc, active)?;
                self.access(op, warp, active).map(|()| Flow::Next)
            }
            Op::Warp(op) => exchange::execute(op, warp, active),
            Op::Sync(op) => self.synchronise(op, warp, pc, active),
            Op::Bulk(op) => self.copy(op, warp, pc, active),
            Op::Mma(op) => self.matrices(op, warp, pc, active),
            &Op::Branch { target, .. } if active == mask => Ok(Flow::Jump(target as usize)),
            &Op::Branch { target, .. } => Ok(Flow::Branch { taken: active, target: target as usize }),
            Op::Exit => {
                let exited = self.barrier.exit(active.count_ones());
                exited.map_err(|error| Violation { kind: error.into(), lanes: active })?;
                Ok(Flow::Exit(active))
            }
            Op::Trap => Err(Violation { kind: FaultKind::Trap, lanes: active }),
            // A launch runs alone, so that there is no other grid to start or to wait for.
            Op::LaunchDependents | Op::WaitForGrids => Ok(Flow::Next),
        }
    }
}
