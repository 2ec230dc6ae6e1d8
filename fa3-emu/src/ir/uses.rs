//! Which registers an instruction reads and writes.

use super::alu::AluOp;
use super::bulk::{BulkOp, Tile};
use super::memory::MemoryOp;
use super::mma::{MmaOp, OperandA};
use super::op::Op;
use super::operand::{Address, Reg, Src};
use super::sync::{Fence, Phase, SyncOp};
use super::warp::WarpOp;

/// How an instruction uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It reads it.
    Read,
    /// It writes it, in some lanes at least.
    Write,
}

/// Calls `each` with the registers that `op` accesses as it is executed, sources first; predicates
/// are not among them. Of `wgmma` these are the descriptors: its fragments are accessed later.
///
/// ```
/// use fa3_emu::ir::{AluOp, Class, Op, Reg, Src, uses::{Mode, registers}};
/// let reg = |index| Reg { class: Class::B32, index };
/// let op = Op::Alu(AluOp::Mov { dst: reg(1), a: Src::Reg(reg(2)) });
/// let mut found = Vec::new();
/// registers(&op, &mut |reg, mode| found.push((reg.index, mode)));
/// assert_eq!(found, [(2, Mode::Read), (1, Mode::Write)]);
/// ```
pub fn registers(op: &Op, each: &mut dyn FnMut(Reg, Mode)) {
    let mut uses = Uses { each };
    match op {
        Op::Alu(op) => uses.alu(op),
        Op::Memory(op) => uses.memory(op),
        Op::Warp(op) => uses.warp(op),
        Op::Sync(op) => uses.sync(op),
        Op::Bulk(op) => uses.bulk(op),
        Op::Mma(op) => uses.mma(op),
        Op::Branch { .. } | Op::Exit | Op::Trap | Op::LaunchDependents | Op::WaitForGrids => {}
    }
}

struct Uses<'a> {
    each: &'a mut dyn FnMut(Reg, Mode),
}

impl Uses<'_> {
    fn read(&mut self, sources: impl IntoIterator<Item = Src>) {
        for src in sources {
            if let Src::Reg(reg) = src {
                (self.each)(reg, Mode::Read);
            }
        }
    }

    fn address(&mut self, addr: Address) {
        self.read(addr.base.map(Src::Reg));
    }

    fn write(&mut self, destinations: impl IntoIterator<Item = Reg>) {
        destinations.into_iter().for_each(|reg| (self.each)(reg, Mode::Write));
    }

    fn alu(&mut self, op: &AluOp) {
        match *op {
            AluOp::Mov { dst, a }
            | AluOp::Int1 { dst, a, .. }
            | AluOp::Float1 { dst, a, .. }
            | AluOp::Cvt { dst, a, .. } => {
                self.read([a]);
                self.write([dst]);
            }
            AluOp::ReadSpecial { dst, .. } | AluOp::CreatePolicy { dst } => self.write([dst]),
            AluOp::Pack { dst, ref parts } => {
                self.read(parts.iter().copied());
                self.write([dst]);
            }
            AluOp::Unpack { ref parts, a } => {
                self.read([Src::Reg(a)]);
                self.write(parts.iter().flatten().copied());
            }
            AluOp::Int2 { dst, a, b, .. }
            | AluOp::MulWide { dst, a, b, .. }
            | AluOp::Float2 { dst, a, b, .. }
            | AluOp::Selp { dst, a, b, .. }
            | AluOp::CvtPack { dst, high: a, low: b, .. } => {
                self.read([a, b]);
                self.write([dst]);
            }
            AluOp::Mad { dst, a, b, c, .. }
            | AluOp::BitFieldExtract { dst, a, position: b, length: c, .. }
            | AluOp::FunnelShift { dst, low: a, high: b, amount: c, .. }
            | AluOp::Permute { dst, a, b, selector: c }
            | AluOp::Lop3 { dst, a, b, c, .. }
            | AluOp::Fma { dst, a, b, c, .. } => {
                self.read([a, b, c]);
                self.write([dst]);
            }
            AluOp::BitFieldInsert { dst, a, b, position, length, .. } => {
                self.read([a, b, position, length]);
                self.write([dst]);
            }
            AluOp::Setp { a, b, .. } => self.read([a, b]),
            AluOp::PredSet { .. } | AluOp::PredMov { .. } | AluOp::PredNot { .. } | AluOp::Pred2 { .. } => {}
        }
    }

    fn memory(&mut self, op: &MemoryOp) {
        match *op {
            MemoryOp::Load { ref dst, addr, .. } => {
                self.address(addr);
                self.write(dst.iter().flatten().copied());
            }
            MemoryOp::Store { ref src, addr, .. } => {
                self.address(addr);
                self.read(src.iter().copied());
            }
            MemoryOp::Atomic { dst, addr, a, b, .. } => {
                self.address(addr);
                self.read([a].into_iter().chain(b));
                self.write(dst);
            }
            MemoryOp::ToGeneric { dst, a, .. } | MemoryOp::FromGeneric { dst, a, .. } => {
                self.read([a]);
                self.write([dst]);
            }
            MemoryOp::MapToCta { dst, a, cta } => {
                self.read([a, cta]);
                self.write([dst]);
            }
            MemoryOp::Prefetch { addr, .. } => self.address(addr),
        }
    }

    fn warp(&mut self, op: &WarpOp) {
        match *op {
            WarpOp::Shuffle { dst, a, b, c, members, .. } => {
                self.read([a, b, c, members]);
                self.write([dst]);
            }
            WarpOp::Vote { members, .. } => self.read([members]),
            WarpOp::Ballot { dst, members, .. } => {
                self.read([members]);
                self.write([dst]);
            }
            WarpOp::ActiveMask { dst } => self.write([dst]),
            WarpOp::Elect { lane, members, .. } => {
                self.read([members]);
                self.write(lane);
            }
            WarpOp::Reduce { dst, a, members, .. } => {
                self.read([a, members]);
                self.write([dst]);
            }
        }
    }

    fn sync(&mut self, op: &SyncOp) {
        match *op {
            SyncOp::BarSync { barrier, threads, .. } => self.read([barrier].into_iter().chain(threads)),
            SyncOp::BarArrive { barrier, threads, .. } => self.read([barrier, threads]),
            SyncOp::WarpSync { members } => self.read([members]),
            SyncOp::MbarInit { addr, count } => {
                self.address(addr);
                self.read([count]);
            }
            SyncOp::MbarInval { addr } => self.address(addr),
            SyncOp::MbarArrive { addr, count, expect, state, .. } => {
                self.address(addr);
                self.read(count.into_iter().chain(expect));
                self.write(state);
            }
            SyncOp::MbarExpect { addr, bytes, .. } => {
                self.address(addr);
                self.read([bytes]);
            }
            SyncOp::MbarWait { addr, phase, .. } => {
                self.address(addr);
                self.read([match phase {
                    Phase::Parity(parity) => parity,
                    Phase::State(state) => Src::Reg(state),
                }]);
            }
            SyncOp::Fence(Fence::TensorMapAcquire { addr, .. }) => self.address(addr),
            SyncOp::Sleep { duration } => self.read([duration]),
            SyncOp::Fence(_)
            | SyncOp::ClusterArrive { .. }
            | SyncOp::ClusterWait { .. }
            | SyncOp::SetMaxRegisters { .. } => {}
        }
    }

    fn bulk(&mut self, op: &BulkOp) {
        match *op {
            BulkOp::TensorLoad { dst, ref tile, barrier, multicast, .. } => {
                self.address(dst);
                self.tile(tile);
                self.address(barrier);
                self.read(multicast);
            }
            BulkOp::TensorStore { ref tile, src } | BulkOp::TensorReduce { ref tile, src, .. } => {
                self.tile(tile);
                self.address(src);
            }
            BulkOp::Load { dst, src, bytes, barrier, multicast, .. } => {
                [dst, src, barrier].into_iter().for_each(|addr| self.address(addr));
                self.read([bytes].into_iter().chain(multicast));
            }
            BulkOp::Store { dst, src, bytes } | BulkOp::Reduce { dst, src, bytes, .. } => {
                self.address(dst);
                self.address(src);
                self.read([bytes]);
            }
            BulkOp::PrefetchTensorMap { addr } => self.address(addr),
            BulkOp::Commit | BulkOp::Wait { .. } => {}
        }
    }

    fn tile(&mut self, tile: &Tile) {
        self.address(tile.map);
        self.read(tile.coordinates.iter().copied());
    }

    fn mma(&mut self, op: &MmaOp) {
        match *op {
            MmaOp::Wgmma(ref wgmma) => {
                if let OperandA::Shared { descriptor, .. } = wgmma.a {
                    self.read([descriptor]);
                }
                self.read([wgmma.b]);
            }
            MmaOp::StoreMatrix { addr, ref src, .. } => {
                self.address(addr);
                self.read(src.iter().map(|&reg| Src::Reg(reg)));
            }
            MmaOp::LoadMatrix { ref dst, addr, .. } => {
                self.address(addr);
                self.write(dst.iter().copied());
            }
            MmaOp::Fence | MmaOp::Commit | MmaOp::Wait { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Program;
    use crate::ptx::parse;

    /// The 32-bit registers `%rN` that an instruction reads, and those that it writes, as text.
    fn uses(text: &str) -> (String, String) {
        // Declared first, so that register N has number N.
        let module = format!(
            ".version 9.0\n.target sm_90a\n.entry k() {{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n\
             .reg .b32 %r<99>;\n.reg .b64 %d<4>;\n{}\n{text}\n}}",
            (0..20).map(|n| format!("mov.b32 %r{n}, 0;\n")).collect::<String>()
        );
        let program = Program::compile(&parse(&module).expect("parses"), "k").expect("compiles");
        let instr = program.instructions.get(20).expect("the instruction");
        let (mut read, mut written) = (Vec::new(), Vec::new());
        registers(&instr.op, &mut |reg, mode| {
            if reg.class == crate::ir::Class::B32 {
                if mode == Mode::Read { read.push(reg.index) } else { written.push(reg.index) }
            }
        });
        (format!("{read:?}"), format!("{written:?}"))
    }

    #[test]
    fn instructions_use_the_registers_that_they_name() {
        let cases = [
            ("fma.rn.f32 %r1, %r2, %r3, %r4;", "[2, 3, 4]", "[1]"),
            ("mov.b64 %d1, {%r5, %r6};", "[5, 6]", "[]"),
            ("mov.b64 {%r5, %r6}, %d1;", "[]", "[5, 6]"),
            ("cvt.rn.bf16x2.f32 %r1, %r2, %r3;", "[2, 3]", "[1]"),
            ("ex2.approx.ftz.f32 %r1, %r2;", "[2]", "[1]"),
            ("setp.lt.f32 %p1, %r2, %r3;", "[2, 3]", "[]"),
            ("selp.b32 %r1, %r2, 0, %p1;", "[2]", "[1]"),
            ("bfi.b32 %r1, %r2, %r3, %r4, 5;", "[2, 3, 4]", "[1]"),
            ("mov.u32 %r1, %tid.x;", "[]", "[1]"),
            ("shfl.sync.bfly.b32 %r1|%p1, %r2, %r3, %r4, %r5;", "[2, 3, 4, 5]", "[1]"),
            ("vote.sync.any.pred %p1, %p2, %r3;", "[3]", "[]"),
            ("ld.shared.v2.b32 {%r1, %r2}, [%r3];", "[3]", "[1, 2]"),
            ("st.shared.v2.b32 [%r3], {%r1, %r2};", "[3, 1, 2]", "[]"),
            ("atom.shared.cas.b32 %r1, [%r2], %r3, %r4;", "[2, 3, 4]", "[1]"),
            ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r1, %r2};", "[3, 1, 2]", "[]"),
            ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3];", "[3]", "[1, 2]"),
            ("bar.sync %r1, %r2;", "[1, 2]", "[]"),
            ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2;", "[1, 2]", "[]"),
            ("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", "[1, 2]", "[]"),
            ("mapa.shared::cluster.u32 %r1, %r2, %r3;", "[2, 3]", "[1]"),
            (
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes \
                 [%r1], [%d1, {%r2, %r3}], [%r4];",
                "[1, 2, 3, 4]",
                "[]",
            ),
            (
                "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r2, %r3}], [%r1];",
                "[2, 3, 1]",
                "[]",
            ),
            (
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 \
                 {%r1, %r2, %r3, %r4}, %d1, %d2, %p1, 1, 1, 0, 0;",
                "[]",
                "[]",
            ),
        ];
        for (text, read, written) in cases {
            assert_eq!(uses(text), (read.to_owned(), written.to_owned()), "{text}");
        }
    }
}
