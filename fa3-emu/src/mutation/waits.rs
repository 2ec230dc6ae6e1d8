//! Waits for phases and groups, fences, commits. PTX ISA, "mbarrier.test_wait, mbarrier.try_wait",
//! "wgmma.wait_group", "cp.async.bulk.wait_group", "membar, fence".

use super::Kind;
use super::site::{Change, Edit, Site, Width, render};
use crate::ptx::Operand;

/// `mbarrier.try_wait` and `mbarrier.test_wait`: not executed, and executed once, its answer taken for
/// yes; and for the phase of the other parity.
pub(super) fn phase_wait(site: &Site<'_, '_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if let Some(Operand::Name(done)) = site.operand(0) {
        let yes = format!("setp.eq.u32 {done}, 0, 0;");
        let asked = render(site.instruction, site.instruction.opcode);
        edits.push(site.replaced(Kind::Wait, "dropped", yes.clone()));
        edits.push(site.replaced(Kind::Wait, "asked once", format!("{asked} {yes}")));
    }
    if site.has("parity") {
        let parity = (2, Width::Bits32);
        edits.extend(site.changed(Kind::Phase, "parity ^ 1", parity, Change::Flip(1)));
    }
    edits
}

/// `wait_group`, of `wgmma` or of bulk copies.
pub(super) fn group_wait(site: &Site<'_, '_>) -> Vec<Edit> {
    let more = site.changed(Kind::Wait, "one more pending", (0, Width::Bits32), Change::Add(1));
    [Some(site.dropped(Kind::Wait)), more].into_iter().flatten().collect()
}

/// `commit_group`, of `wgmma` or of bulk copies.
pub(super) fn commit(site: &Site<'_, '_>) -> Vec<Edit> {
    vec![site.dropped(Kind::Commit)]
}

/// Any fence.
pub(super) fn fence(site: &Site<'_, '_>) -> Vec<Edit> {
    vec![site.dropped(Kind::Fence)]
}
