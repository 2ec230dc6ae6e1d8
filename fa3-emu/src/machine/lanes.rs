//! Values of a warp's 32 lanes, and masks of them.

/// Lanes of a warp (PTX ISA, `WARP_SZ`).
pub(crate) const WARP: usize = 32;

/// A value for each lane.
pub(crate) type Lanes<T> = [T; WARP];

/// Every lane.
pub(crate) const ALL: u32 = u32::MAX;

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < WARP).then_some(lane)
    })
}

/// Writes the lanes of `mask`.
#[inline(always)]
pub(crate) fn write<T: Copy>(register: &mut Lanes<T>, values: &Lanes<T>, mask: u32) {
    if mask == ALL {
        *register = *values;
        return;
    }
    for (lane, (slot, value)) in register.iter_mut().zip(values).enumerate() {
        if mask >> lane & 1 != 0 {
            *slot = *value;
        }
    }
}

/// The lanes for which `holds`.
#[inline(always)]
pub(crate) fn mask_where(holds: impl Fn(usize) -> bool) -> u32 {
    (0..WARP).fold(0, |mask, lane| mask | u32::from(holds(lane)) << lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_lanes_agree() {
        assert_eq!(lanes_of(0).count(), 0);
        assert_eq!(lanes_of(ALL).collect::<Vec<_>>(), (0..32).collect::<Vec<_>>());
        assert_eq!(lanes_of(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
        assert_eq!(mask_where(|lane| [0, 2, 31].contains(&lane)), 0x8000_0005);
    }

    #[test]
    fn only_the_lanes_of_the_mask_are_written() {
        for mask in [0, 1, 0x8000_0001, 0x0f0f_0f0f, ALL] {
            let mut register = [7_u16; WARP];
            write(&mut register, &[9; WARP], mask);
            assert_eq!(mask_where(|lane| register[lane] == 9), mask);
        }
    }
}
