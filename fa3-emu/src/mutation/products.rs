//! `wgmma`. PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".

use super::site::{Change, Edit, Site, Width};
use super::waits;
use super::{Kind, bits_of};
use crate::ptx::Operand;

/// The swizzle mode in a descriptor (PTX ISA, "Matrix Descriptor Format"); 0 is none.
const SWIZZLE: u64 = 3 << 62;
/// One step of 16 elements of two bytes along a row, in the 16-byte units of a descriptor.
const STEP_ALONG_ROW: i64 = 2;
/// One step of 16 rows of 128 bytes, in the same units.
const STEP_OVER_ROWS: i64 = 128;

pub(super) fn wgmma(site: &Site<'_, '_>) -> Vec<Edit> {
    if site.has("mma_async") {
        return multiply(site);
    }
    if site.has("fence") {
        return waits::fence(site);
    }
    if site.has("commit_group") { waits::commit(site) } else { waits::group_wait(site) }
}

/// `wgmma.mma_async d, a, b, accumulate, negate-a, negate-b, transpose-a, transpose-b`; A in
/// registers has no `transpose-a`, and operands of other than 16 bits have neither.
fn multiply(site: &Site<'_, '_>) -> Vec<Edit> {
    let a_in_registers = matches!(site.operand(1), Some(Operand::Vector(_)));
    let flags = if a_in_registers { [None, Some(6)] } else { [Some(6), Some(7)] };
    let mut edits = Vec::new();
    for ((name, descriptor), flag) in [("A", 1), ("B", 2)].into_iter().zip(flags) {
        let across = flag.and_then(|flag| site.operand(flag)) == Some(&Operand::Integer(1));
        if !matches!(site.operand(descriptor), Some(Operand::Vector(_))) {
            fields(site, &mut edits, (name, descriptor), across);
        }
        if let Some(flag) = flag {
            let transposed = Change::Flip(1);
            edits.extend(site.changed(Kind::Transpose, name, (flag, Width::Bits32), transposed));
        }
    }
    edits.push(site.dropped(Kind::KStep));
    if let Some(Operand::Name(accumulate)) = site.operand(3) {
        let scratch = site.scratch;
        let setup = format!(".reg .pred {scratch}; not.pred {scratch}, {accumulate};");
        edits.push(site.with(Kind::KStep, "accumulates or not", &setup, |operands| {
            if let Some(operand) = operands.get_mut(3) {
                *operand = Operand::Name(scratch);
            }
        }));
    }
    edits
}

/// The fields of a descriptor, whose matrix lies with its M or N dimension contiguous if `across`.
fn fields(site: &Site<'_, '_>, edits: &mut Vec<Edit>, (name, index): (&str, usize), across: bool) {
    let known = match site.operand(index) {
        Some(Operand::Name(register)) => site.constants.get(register).copied().unwrap_or(0),
        Some(Operand::Integer(value)) => bits_of(*value).unwrap_or(0),
        _ => 0,
    };
    let mut change = |kind, field: &str, change| {
        edits.extend(site.changed(kind, format!("{name} {field}"), (index, Width::Bits64), change));
    };
    change(Kind::Descriptor, "address + 1", Change::Add(1));
    change(Kind::Descriptor, "swizzle bit 62", Change::Flip(1 << 62));
    change(Kind::Descriptor, "swizzle bit 63", Change::Flip(1 << 63));
    // "Leading Dimension Byte Offset": of a K-major matrix in a swizzled layout, it is not used.
    if across || known & SWIZZLE == 0 {
        change(Kind::Descriptor, "leading offset + 1", Change::Add(1 << 16));
    }
    change(Kind::Descriptor, "stride offset + 1", Change::Add(1 << 32));
    let step = if across { STEP_OVER_ROWS } else { STEP_ALONG_ROW };
    change(Kind::KStep, "one step on", Change::Add(step));
}
