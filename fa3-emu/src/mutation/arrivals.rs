//! Arrivals at barriers of every kind, what they expect, and the pool of registers. PTX ISA,
//! "mbarrier", "bar, barrier", "barrier.cluster", "setmaxnreg".

use super::Kind;
use super::site::{Change, Edit, Site, Width};
use crate::ptx::Operand;

/// The numbers that named barriers have.
const NAMED: std::ops::Range<i128> = 0..16;

/// Initialisation, arrivals, expected bytes.
pub(super) fn mbarrier(site: &Site<'_, '_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if site.has("init") {
        let count = (1, Width::Bits32);
        edits.extend(site.changed(Kind::Arrive, "count + 1", count, Change::Add(1)));
        edits.extend(site.changed(Kind::Arrive, "count - 1", count, Change::Add(-1)));
    }
    if site.has("arrive") {
        edits.extend([site.dropped(Kind::Arrive), site.doubled(Kind::Arrive)]);
    }
    if site.has("expect_tx") {
        let bytes = (site.instruction.operands.len().saturating_sub(1), Width::Bits32);
        for (name, change) in [
            ("16 more", Change::Add(16)),
            ("16 fewer", Change::Add(-16)),
            ("halved", Change::Halve),
            ("doubled", Change::Double),
        ] {
            edits.extend(site.changed(Kind::Bytes, name, bytes, change));
        }
    }
    edits
}

/// `barrier.cluster`.
pub(super) fn cluster(site: &Site<'_, '_>) -> Vec<Edit> {
    if site.has("wait") {
        return vec![site.dropped(Kind::Wait)];
    }
    vec![site.dropped(Kind::Arrive), site.doubled(Kind::Arrive)]
}

/// `bar` and `barrier`, of numbered barriers of the CTA. The count stands behind the number, and of
/// `red` between the result and the predicate.
pub(super) fn named(site: &Site<'_, '_>) -> Vec<Edit> {
    let mut edits = if site.has("arrive") {
        vec![site.dropped(Kind::Arrive), site.doubled(Kind::Arrive)]
    } else if site.has("sync") {
        vec![site.dropped(Kind::Wait)]
    } else {
        Vec::new()
    };
    let number = usize::from(site.has("red"));
    for (name, by) in [("number + 1", 1), ("number - 1", -1)] {
        // A constant out of range would not assemble.
        let exists = match site.operand(number) {
            Some(Operand::Integer(number)) => NAMED.contains(&number.saturating_add(by.into())),
            _ => true,
        };
        let change = site.changed(Kind::NamedBarrier, name, (number, Width::Bits32), Change::Add(by));
        edits.extend(change.filter(|_| exists));
    }
    if site.instruction.operands.len() > 1 && !site.has("red") {
        for (name, by) in [("32 threads more", 32), ("32 threads fewer", -32)] {
            edits.extend(site.changed(Kind::NamedBarrier, name, (1, Width::Bits32), Change::Add(by)));
        }
    }
    edits
}

/// `setmaxnreg`.
pub(super) fn registers(site: &Site<'_, '_>) -> Vec<Edit> {
    let (from, to) = if site.has("dec") { ("dec", "inc") } else { ("inc", "dec") };
    let opcode = site.instruction.opcode.replacen(from, to, 1);
    let swapped = site.with_opcode(Kind::Registers, format!("{from} to {to}"), &opcode);
    let more = site.changed(Kind::Registers, "8 more", (0, Width::Bits32), Change::Add(8));
    [Some(swapped), more].into_iter().flatten().collect()
}
