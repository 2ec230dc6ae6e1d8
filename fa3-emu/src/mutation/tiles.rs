//! Tiles that copies and matrix stores move. PTX ISA, "cp.async.bulk.tensor",
//! "cp.reduce.async.bulk.tensor", "stmatrix", "ldmatrix".

use super::Kind;
use super::site::{Change, Edit, Site, Width};
use super::waits;
use crate::ptx::Operand;

/// A row of a 128-byte swizzle, and the eight rows after which it repeats.
const ROWS: [(&str, i64); 2] = [("128 bytes on", 128), ("1024 bytes on", 1024)];
/// One element, and the columns of such a row of 16-bit elements.
const STEPS: [i64; 4] = [1, -1, 64, -64];

/// Bulk copies, their groups, and their waits.
pub(super) fn bulk(site: &Site<'_, '_>) -> Vec<Edit> {
    if site.has("commit_group") {
        return waits::commit(site);
    }
    if site.has("wait_group") {
        return waits::group_wait(site);
    }
    let mut edits = Vec::new();
    let operands = &site.instruction.operands;
    for (index, operand) in operands.iter().enumerate() {
        if let Operand::Address { coordinates: Some(coordinates), .. } = operand {
            for (dimension, coordinate) in coordinates.iter().enumerate() {
                edits.extend(STEPS.iter().filter_map(|&by| moved(site, index, dimension, coordinate, by)));
            }
        }
    }
    // The first place named is the destination; the tile in shared memory is the one without
    // coordinates, and of a plain copy the destination of a load and the source of a store.
    let shared = usize::from(site.instruction.opcode.contains("bulk_group"));
    edits.extend(ROWS.iter().filter_map(|&(name, by)| address(site, shared, name, by)));
    edits
}

/// `stmatrix` and `ldmatrix`.
pub(super) fn matrices(site: &Site<'_, '_>) -> Vec<Edit> {
    let opcode = site.instruction.opcode;
    let other = if site.has("trans") {
        opcode.replacen(".trans", "", 1)
    } else {
        opcode.replacen(".shared", ".trans.shared", 1)
    };
    let place = usize::from(opcode.starts_with("ldmatrix"));
    let mut edits = vec![site.with_opcode(Kind::Transpose, "transposed", &other)];
    edits.extend(ROWS.iter().filter_map(|&(name, by)| address(site, place, name, by)));
    edits
}

/// One coordinate of operand `index` moved.
fn moved(
    site: &Site<'_, '_>,
    index: usize,
    dimension: usize,
    coordinate: &Operand<'_>,
    by: i64,
) -> Option<Edit> {
    let (setup, new) = site.number(coordinate, Width::Bits32, Change::Add(by))?;
    let name = format!("dimension {dimension}, {by:+}");
    Some(site.with(Kind::Coordinate, name, &setup, |operands| {
        if let Some(Operand::Address { coordinates: Some(coordinates), .. }) = operands.get_mut(index)
            && let Some(coordinate) = coordinates.get_mut(dimension)
        {
            *coordinate = new;
        }
    }))
}

/// The address of operand `index` moved.
fn address(site: &Site<'_, '_>, index: usize, name: &str, by: i64) -> Option<Edit> {
    let Some(Operand::Address { offset, .. }) = site.operand(index) else { return None };
    let offset = offset.checked_add(by)?;
    Some(site.with(Kind::Stride, name, "", |operands| {
        if let Some(Operand::Address { offset: place, .. }) = operands.get_mut(index) {
            *place = offset;
        }
    }))
}
