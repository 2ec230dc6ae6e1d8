//! Addresses: which memory they point into.
//!
//! A `.shared::cta` address is an offset in the CTA's shared memory. A `.shared::cluster` address
//! says in its highest byte whose: 0 is the executing CTA, so that the addresses of a CTA's own
//! shared memory are addresses of the cluster's too (PTX ISA, "Shared State Space"), and `r + 1`
//! the CTA of rank `r`. A generic address below the windows is a global one.

use super::cluster::{Cluster, Violation};
use super::fault::{Access, FaultKind};
use super::registers::Registers;
use crate::ir::{Address, Class, Space};

/// Where the rank begins in a `.shared::cluster` address.
const RANK_SHIFT: u32 = 24;
/// Where shared memory lies among the generic addresses.
const SHARED_WINDOW: u64 = 1 << 56;
/// Where the parameters lie among them.
const PARAM_WINDOW: u64 = 2 << 56;

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Global(u64),
    Shared { cta: usize, offset: u32 },
    Param(u64),
}

/// The generic address of an address in a space.
pub(super) const fn to_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Generic | Space::Global => address,
        Space::SharedCta | Space::SharedCluster => SHARED_WINDOW | address & 0xffff_ffff,
        Space::Param => PARAM_WINDOW | address & 0xffff_ffff,
    }
}

/// The address in a space of a generic address.
pub(super) const fn from_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Generic | Space::Global => address,
        Space::SharedCta | Space::SharedCluster | Space::Param => address & 0xffff_ffff,
    }
}

/// The highest rank that an address can name, which no cluster has.
const LAST_RANK: u32 = 0xfe;

/// The `.shared::cluster` address of an offset in the shared memory of the CTA of rank `cta`. That of
/// a rank beyond the cluster points nowhere, and may be made: compilers move `mapa` above branches.
pub(super) fn in_cta(offset: u32, cta: u32) -> u32 {
    offset & ((1 << RANK_SHIFT) - 1) | (cta.min(LAST_RANK) + 1) << RANK_SHIFT
}

/// The address that an operand means in a lane.
pub(super) fn of(registers: &Registers, addr: Address, lane: usize) -> u64 {
    let Some(base) = addr.base else { return addr.offset as u64 };
    let value = registers.lane(crate::ir::Src::Reg(base), lane).wrapping_add(addr.offset as u64);
    if base.class == Class::B64 { value } else { value & 0xffff_ffff }
}

/// The name of a space in diagnostics.
const fn name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::SharedCta => "shared::cta",
        Space::SharedCluster => "shared::cluster",
        Space::Param => "param",
    }
}

/// A fault in one lane.
pub(super) fn in_lane(lane: usize, kind: FaultKind) -> Violation {
    Violation { kind, lanes: 1 << lane }
}

/// The fault of an access that is out of bounds.
pub(super) const fn out_of_bounds(access: Access, space: Space, address: u64, bytes: usize) -> FaultKind {
    FaultKind::OutOfBounds { access, space: name(space), address, bytes }
}

/// That an address is a multiple of what the access needs.
pub(super) const fn aligned(space: Space, address: u64, alignment: u64) -> Result<(), FaultKind> {
    if address.is_multiple_of(alignment) {
        Ok(())
    } else {
        Err(FaultKind::Misaligned { space: name(space), address, alignment })
    }
}

impl Cluster<'_> {
    /// What `address` points to, seen from the CTA of rank `own`; `None` where there is nothing.
    pub(super) fn place(&self, own: usize, space: Space, address: u64) -> Option<Place> {
        match space {
            Space::Global => Some(Place::Global(address)),
            Space::Param => Some(Place::Param(address)),
            Space::SharedCta => Some(Place::Shared { cta: own, offset: u32::try_from(address).ok()? }),
            Space::SharedCluster => {
                let address = u32::try_from(address).ok()?;
                let cta = match address >> RANK_SHIFT {
                    0 => own,
                    beyond => beyond as usize - 1,
                };
                (cta < self.ctas.len())
                    .then_some(Place::Shared { cta, offset: address & ((1 << RANK_SHIFT) - 1) })
            }
            Space::Generic => match address & !0xffff_ffff {
                SHARED_WINDOW => self.place(own, Space::SharedCluster, address & 0xffff_ffff),
                PARAM_WINDOW => Some(Place::Param(address & 0xffff_ffff)),
                _ => Some(Place::Global(address)),
            },
        }
    }

    /// Reads what is at `address`.
    pub(super) fn read(
        &self,
        own: usize,
        space: Space,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), FaultKind> {
        let length = bytes.len();
        let refused = || out_of_bounds(Access::Read, space, address, length);
        let there = match self.place(own, space, address).ok_or_else(refused)? {
            Place::Global(address) => return self.memory.load(address, bytes),
            Place::Shared { cta, offset } => {
                self.check_running(cta)?;
                slice(&self.ctas[cta].shared, offset.into(), length).ok_or_else(refused)?
            }
            Place::Param(offset) => slice(self.params, offset, length).ok_or_else(refused)?,
        };
        bytes.copy_from_slice(there);
        Ok(())
    }

    /// Writes `bytes` at `address`.
    pub(super) fn write(
        &mut self,
        own: usize,
        space: Space,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), FaultKind> {
        let refused = || out_of_bounds(Access::Write, space, address, bytes.len());
        match self.place(own, space, address).ok_or_else(refused)? {
            Place::Global(address) => self.memory.store(address, bytes),
            Place::Shared { cta, offset } => {
                self.check_running(cta)?;
                let shared = self.ctas[cta].shared.get_mut(offset as usize..);
                let there = shared.and_then(|rest| rest.get_mut(..bytes.len())).ok_or_else(refused)?;
                there.copy_from_slice(bytes);
                Ok(())
            }
            Place::Param(_) => Err(refused()),
        }
    }

    /// The CTA and the offset of an address in shared memory.
    pub(super) fn shared(&self, own: usize, space: Space, address: u64) -> Result<(usize, u32), FaultKind> {
        match self.place(own, space, address) {
            Some(Place::Shared { cta, offset }) => Ok((cta, offset)),
            _ => Err(out_of_bounds(Access::Read, space, address, 1)),
        }
    }
}

fn slice(bytes: &[u8], offset: u64, length: usize) -> Option<&[u8]> {
    bytes.get(usize::try_from(offset).ok()?..)?.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_have_windows_of_their_own() {
        for space in [Space::Global, Space::SharedCta, Space::SharedCluster, Space::Param] {
            assert_eq!(from_generic(space, to_generic(space, 0x1234)), 0x1234);
        }
        assert_ne!(to_generic(Space::SharedCta, 16), to_generic(Space::Param, 16));
        assert_eq!(in_cta(in_cta(0x400, 3), 1), in_cta(0x400, 1));
    }

    #[test]
    fn a_misaligned_address_is_named() {
        assert!(aligned(Space::Global, 32, 16).is_ok());
        let error = aligned(Space::SharedCta, 24, 16).unwrap_err();
        assert_eq!(error.to_string(), "shared::cta address 0x18 is not a multiple of 16");
    }
}
