//! Protocols of kernels as sequences of events: the right ones are silent, and each way to break one
//! is found.

mod cluster;
mod memory;
mod registers;
mod ring;
mod store;

use super::*;

/// Stages, barriers and outputs of the protocols.
const STAGE: u32 = 1024;
const BARRIERS: u32 = 0x8000;

fn actor(warp: u32, pc: u32) -> Actor {
    Actor { warp, pc, lanes: 1 }
}

fn checker(ctas: u32, warps: u32) -> Checker<'static> {
    Checker::new(Shape { ctas, warps, shared_bytes: 0x9000 }, Rules::ALL, None)
}

/// The addresses of a tile's chunks.
fn tile(start: u32, bytes: u32) -> impl Iterator<Item = u32> {
    (start..start + bytes).step_by(16)
}

/// All warps of a CTA meet at named barrier 0.
fn sync_all(checker: &mut Checker<'_>, cta: u32) {
    let warps = checker.shape.warps;
    for warp in 0..warps {
        checker.named_arrive(cta * warps + warp, cta, 0, true, warp == warps - 1);
    }
}

/// An mbarrier as the machine keeps it: its phase advances with the last of its arrivals.
struct Barrier {
    cta: u32,
    address: u32,
    expected: u32,
    arrived: u32,
    phase: u64,
}

impl Barrier {
    fn init(checker: &mut Checker<'_>, by: Actor, cta: u32, address: u32, expected: u32) -> Self {
        checker.mbarrier_init(by, cta, address).expect("the bytes are free");
        Self { cta, address, expected, arrived: 0, phase: 0 }
    }

    fn arrive(&mut self, checker: &mut Checker<'_>, by: Actor) -> Checked {
        checker.mbarrier_arrive(by, self.cta, self.address, self.phase, true)?;
        self.arrived += 1;
        if self.arrived == self.expected {
            self.arrived = 0;
            self.phase += 1;
        }
        Ok(())
    }

    fn wait(&self, checker: &mut Checker<'_>, by: Actor) -> Checked {
        checker.mbarrier_wait(by, self.cta, self.address, self.phase, true)
    }

    /// What a load completes on, whose phase the arrival for it has yet to come.
    fn completion(&self) -> Completion {
        Completion { cta: self.cta, barrier: self.address, phase: self.phase }
    }
}
