//! Exchange between the lanes of a warp.

use super::cluster::{Flow, Violation};
use super::fault::{FaultKind, NotUniform};
use super::lanes::{Lanes, WARP, lanes_of, mask_where};
use super::registers::Registers;
use super::warp::{Group, Wait, Warp};
use crate::ir::warp::{ReduceFunction, ShuffleMode, VoteMode};
use crate::ir::{Src, WarpOp};

/// Waits until the group has all lanes of `needed` that have not exited.
pub(super) fn converge(warp: &Warp, mask: u32, needed: u32) -> Option<Flow> {
    let needed = needed & warp.live;
    (needed & !mask != 0).then_some(Flow::Park(Wait::Lanes { needed }))
}

/// Executes `op` in each part of the group once all lanes of its member mask are there.
pub(super) fn execute(op: &WarpOp, warp: &mut Warp, mask: u32) -> Result<Flow, Violation> {
    let members = match *op {
        WarpOp::ActiveMask { dst } => {
            warp.registers.set_b32(dst, &[mask; 32], mask);
            return Ok(Flow::Next);
        }
        WarpOp::Shuffle { members, .. }
        | WarpOp::Vote { members, .. }
        | WarpOp::Ballot { members, .. }
        | WarpOp::Elect { members, .. }
        | WarpOp::Reduce { members, .. } => members,
    };
    let (mut done, mut needed) = (0, 0);
    let mut rest = mask;
    while rest != 0 {
        let Part { lanes, members } = part(warp, mask, rest, members)?;
        rest &= !lanes;
        if members & warp.live & !lanes == 0 {
            exchange(op, &mut warp.registers, lanes);
            done |= lanes;
        } else {
            needed |= members & warp.live;
        }
    }
    Ok(match (done, Wait::Lanes { needed }) {
        _ if needed == 0 => Flow::Next,
        (0, wait) => Flow::Park(wait),
        (_, wait) => Flow::Partly { done, wait },
    })
}

/// Executes `op` among `members`, which are all there.
fn exchange(op: &WarpOp, registers: &mut Registers, members: u32) {
    let votes = |predicate: u32, negated: bool| if negated { !predicate } else { predicate };
    match *op {
        WarpOp::ActiveMask { .. } => {}
        WarpOp::Shuffle { mode, dst, in_range, a, b, c, .. } => {
            let (sources, valid) = sources(mode, &registers.b32(b), &registers.b32(c));
            let a = registers.b32(a);
            let values = std::array::from_fn(|lane| a[sources[lane]]);
            registers.set_b32(dst, &values, members);
            if let Some(in_range) = in_range {
                registers.set_predicate(in_range, valid, members);
            }
        }
        WarpOp::Vote { mode, dst, a, negated, .. } => {
            let votes = votes(registers.predicate(a), negated) & members;
            let holds = match mode {
                VoteMode::All => votes == members,
                VoteMode::Any => votes != 0,
                VoteMode::Uniform => votes == 0 || votes == members,
            };
            registers.set_predicate(dst, if holds { u32::MAX } else { 0 }, members);
        }
        WarpOp::Ballot { dst, a, negated, .. } => {
            let votes = votes(registers.predicate(a), negated) & members;
            registers.set_b32(dst, &[votes; 32], members);
        }
        WarpOp::Elect { lane, dst, .. } => {
            let elected = members.trailing_zeros();
            if let Some(lane) = lane {
                registers.set_b32(lane, &[elected; 32], members);
            }
            registers.set_predicate(dst, 1_u32.checked_shl(elected).unwrap_or(0), members);
        }
        WarpOp::Reduce { f, signed, dst, a, .. } => {
            let a = registers.b32(a);
            let result = lanes_of(members).map(|lane| a[lane]).reduce(|x, y| reduce(f, signed, x, y));
            registers.set_b32(dst, &[result.unwrap_or(0); 32], members);
        }
    }
}

/// `bar.warp.sync`: each part of the group goes on, and with it those that wait, once all its members
/// are there. They need not be at the same instruction.
pub(super) fn synchronise(warp: &mut Warp, pc: usize, mask: u32, members: Src) -> Result<Flow, Violation> {
    let mut parts = Vec::with_capacity(1);
    let mut rest = mask;
    while rest != 0 {
        let Part { lanes, members } = part(warp, mask, rest, members)?;
        rest &= !lanes;
        let wait = Wait::Warp { members };
        let waiting = warp.groups.iter().filter(|group| group.wait == Some(wait));
        let arrived = waiting.fold(lanes, |arrived, group| arrived | group.mask);
        if members & warp.live & !arrived != 0 {
            parts.push(Group { pc, mask: lanes, wait: Some(wait) });
            continue;
        }
        for group in warp.groups.iter_mut().filter(|group| group.wait == Some(wait)) {
            group.wait = None;
            group.pc += 1;
        }
        parts.push(Group { pc: pc + 1, mask: lanes, wait: None });
    }
    match parts[..] {
        [Group { wait: Some(wait), .. }] => Ok(Flow::Park(wait)),
        [Group { pc, .. }] => Ok(Flow::Jump(pc)),
        _ => {
            warp.groups.retain(|group| group.mask & mask == 0);
            warp.groups.append(&mut parts);
            Ok(Flow::Regrouped)
        }
    }
}

/// Lanes of a group that give the same member mask.
struct Part {
    lanes: u32,
    members: u32,
}

/// The part of the first lane of `rest`. Lanes of a group may give masks of their own: then each part
/// exchanges apart (PTX ISA, "shfl.sync": lanes wait for those that execute it with the same mask). A
/// lane is in its own mask, and no lane of that gives another.
fn part(warp: &Warp, mask: u32, rest: u32, members: Src) -> Result<Part, Violation> {
    let first = rest.trailing_zeros() as usize % WARP;
    let of = |lane: usize| warp.registers.lane(members, lane) as u32;
    let given = of(first);
    let lanes = match members {
        Src::Imm(_) => mask,
        Src::Reg(_) => mask & mask_where(|lane| of(lane) == given),
    };
    if lanes & !given != 0 {
        return Err(Violation { kind: FaultKind::NotMember { members: given }, lanes: lanes & !given });
    }
    if let Some(other) = lanes_of(mask & given & !lanes).next() {
        let values = [given.into(), of(other).into()];
        let kind = NotUniform { operand: "the member mask", who: "lanes", at: [first, other], values };
        return Err(Violation { kind: Box::new(kind).into(), lanes: mask });
    }
    Ok(Part { lanes, members: given })
}

/// The lane that each lane's value comes from, and in which lanes it is in range (PTX ISA,
/// "shfl.sync").
fn sources(mode: ShuffleMode, b: &Lanes<u32>, c: &Lanes<u32>) -> (Lanes<usize>, u32) {
    let source = |lane: usize| {
        let (own, by) = (lane as i64, i64::from(b[lane] & 31));
        let (clamp, segment) = (i64::from(c[lane] & 31), i64::from(c[lane] >> 8 & 31));
        let last = own & segment | clamp & !segment;
        let first = own & segment;
        let (from, valid) = match mode {
            ShuffleMode::Up => (own - by, own - by >= last),
            ShuffleMode::Down => (own + by, own + by <= last),
            ShuffleMode::Butterfly => (own ^ by, own ^ by <= last),
            ShuffleMode::Index => (first | by & !segment, (first | by & !segment) <= last),
        };
        if valid { (from as usize & 31, true) } else { (lane, false) }
    };
    (std::array::from_fn(|lane| source(lane).0), mask_where(|lane| source(lane).1))
}

fn reduce(f: ReduceFunction, signed: bool, a: u32, b: u32) -> u32 {
    match f {
        ReduceFunction::Add => a.wrapping_add(b),
        ReduceFunction::Min if signed => (a as i32).min(b as i32) as u32,
        ReduceFunction::Min => a.min(b),
        ReduceFunction::Max if signed => (a as i32).max(b as i32) as u32,
        ReduceFunction::Max => a.max(b),
        ReduceFunction::And => a & b,
        ReduceFunction::Or => a | b,
        ReduceFunction::Xor => a ^ b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(mode: ShuffleMode, b: u32, c: u32) -> (Vec<usize>, u32) {
        let (sources, valid) = sources(mode, &[b; 32], &[c; 32]);
        (sources.to_vec(), valid)
    }

    #[test]
    fn shuffles_find_their_lanes() {
        let whole = 31;
        assert_eq!(shuffled(ShuffleMode::Index, 7, whole), (vec![7; 32], u32::MAX));
        let (sources, valid) = shuffled(ShuffleMode::Butterfly, 2, whole);
        assert!(sources.iter().enumerate().all(|(lane, &source)| source == lane ^ 2) && valid == u32::MAX);
        let (sources, valid) = shuffled(ShuffleMode::Down, 4, whole);
        assert_eq!((sources[0], sources[27], sources[28], valid), (4, 31, 28, 0x0fff_ffff));
        // Up clamps at the segment's first lane: c = 0.
        let (sources, valid) = shuffled(ShuffleMode::Up, 4, 0);
        assert_eq!((sources[3], sources[4], sources[31], valid), (3, 0, 27, 0xffff_fff0));
    }

    #[test]
    fn segments_keep_to_themselves() {
        // Width 8: the segment mask is 0b11000.
        let c = 0x18 << 8 | 31;
        let (sources, valid) = shuffled(ShuffleMode::Index, 3, c);
        assert!(sources.iter().enumerate().all(|(lane, &source)| source == (lane & !7) + 3));
        assert_eq!(valid, u32::MAX);
        let (_, valid) = shuffled(ShuffleMode::Down, 1, c);
        assert_eq!(valid, 0x7f7f_7f7f);
    }
}
