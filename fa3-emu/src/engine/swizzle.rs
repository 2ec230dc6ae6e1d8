//! The order of 16-byte chunks in shared memory, one rule for what TMA writes and what the tensor
//! cores read.

use fa3_sys::tensormap;

/// A swizzle with chunks of 16 bytes: bits 4 and up of an address are combined with bits 7 and up, as
/// many as the span has chunks to choose from (PTX ISA, "Swizzling Modes"). The address is that in
/// shared memory, not the offset in the tile, so a tile may begin within the pattern.
///
/// ```
/// use fa3_emu::engine::swizzle::Swizzle;
/// // In the third row of 128 bytes, chunk 1 and chunk 3 change places.
/// assert_eq!(Swizzle::Bytes128.apply(2 * 128 + 16), 2 * 128 + 48);
/// assert_eq!(Swizzle::Bytes128.apply(2 * 128 + 48), 2 * 128 + 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Rows as they are.
    None,
    /// Within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// Every mode, from the shortest span to the longest.
    pub const ALL: [Self; 4] = [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128];

    /// The bytes within which chunks move: a chunk, without swizzle.
    pub const fn span_bytes(self) -> usize {
        match self {
            Self::None => 16,
            Self::Bytes32 => 32,
            Self::Bytes64 => 64,
            Self::Bytes128 => 128,
        }
    }

    /// Where the byte lies that has address `address` in an unswizzled tile.
    pub const fn apply(self, address: usize) -> usize {
        let chunks = self.span_bytes() / 16 - 1;
        address ^ (((address >> 7) & chunks) << 4)
    }

    /// The mode of a tensor map; `None` for the modes of larger chunks, which Hopper lacks.
    pub const fn of_map(swizzle: tensormap::Swizzle) -> Option<Self> {
        match swizzle {
            tensormap::Swizzle::None => Some(Self::None),
            tensormap::Swizzle::Bytes32 => Some(Self::Bytes32),
            tensormap::Swizzle::Bytes64 => Some(Self::Bytes64),
            tensormap::Swizzle::Bytes128 => Some(Self::Bytes128),
            tensormap::Swizzle::Bytes128Atom32
            | tensormap::Swizzle::Bytes128Atom32Flip8
            | tensormap::Swizzle::Bytes128Atom64 => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chunks_go_where_the_isa_draws_them() {
        // Row r of 128 bytes holds chunk c at place c ^ r; rows of 64 bytes come in pairs with the
        // same order, rows of 32 bytes in fours.
        let place = |swizzle: Swizzle, row: usize, chunk: usize| {
            let row = row * swizzle.span_bytes();
            (swizzle.apply(row + 16 * chunk) - row) / 16
        };
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|c| place(Swizzle::Bytes128, 5, c)),
            [5, 4, 7, 6, 1, 0, 3, 2]
        );
        assert_eq!([0, 1, 2, 3].map(|c| place(Swizzle::Bytes64, 1, c)), [0, 1, 2, 3]);
        assert_eq!([0, 1, 2, 3].map(|c| place(Swizzle::Bytes64, 6, c)), [3, 2, 1, 0]);
        assert_eq!([0, 1].map(|c| place(Swizzle::Bytes32, 3, c)), [0, 1]);
        assert_eq!([0, 1].map(|c| place(Swizzle::Bytes32, 4, c)), [1, 0]);
        assert_eq!(Swizzle::None.apply(0x1_2345), 0x1_2345);
    }

    proptest! {
        #[test]
        fn it_is_an_involution_within_the_span(
            address in 0_usize..1 << 18,
            swizzle in prop::sample::select(Swizzle::ALL.to_vec()),
        ) {
            let moved = swizzle.apply(address);
            prop_assert_eq!(swizzle.apply(moved), address);
            prop_assert_eq!(moved / swizzle.span_bytes(), address / swizzle.span_bytes());
            prop_assert_eq!(moved % 16, address % 16);
        }

        #[test]
        fn it_repeats_every_eight_spans(
            address in 0_usize..1 << 17,
            swizzle in prop::sample::select(Swizzle::ALL.to_vec()),
        ) {
            let period = 8 * swizzle.span_bytes();
            prop_assert_eq!(swizzle.apply(address + period), swizzle.apply(address) + period);
        }
    }
}
