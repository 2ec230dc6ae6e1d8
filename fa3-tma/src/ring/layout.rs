//! Stages and barriers in shared memory.

/// Bytes of an mbarrier object, and its alignment (PTX ISA, "mbarrier: Contents").
pub const BARRIER_BYTES: u32 = 8;

/// The most bytes one phase of a barrier can expect: the tx-count goes to 2²⁰ − 1 (PTX ISA,
/// "mbarrier: Tracking asynchronous operations").
pub const MAX_TILE_BYTES: u32 = (1 << 20) - 1;

/// What a stage's address is a multiple of.
///
/// TMA asks for 128 bytes; a swizzle pattern also starts anew only at a multiple of its own
/// length (PTX ISA, "Tensor: Swizzling modes").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// No swizzle: 128 bytes.
    Unswizzled,
    /// Swizzle of 32 bytes: the pattern repeats every 256 bytes.
    Swizzle32,
    /// Swizzle of 64 bytes: the pattern repeats every 512 bytes.
    Swizzle64,
    /// Swizzle of 128 bytes: the pattern repeats every 1024 bytes.
    Swizzle128,
}

impl Alignment {
    /// In bytes, a power of two.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Unswizzled => 128,
            Self::Swizzle32 => 256,
            Self::Swizzle64 => 512,
            Self::Swizzle128 => 1024,
        }
    }
}

/// What a stage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Bytes a load brings, out-of-bounds elements included: what the producer expects.
    pub bytes: u32,
    /// What its address is a multiple of.
    pub alignment: Alignment,
}

/// A ring in shared memory: the stages, then `full[stages]`, then `empty[stages]`. Offsets are in
/// bytes from the start of dynamic shared memory, which the kernel aligns to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    tile: Tile,
    stages: u32,
    first: u32,
    stride: u32,
    barriers: u32,
}

/// A ring that cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A ring has at least one stage.
    #[error("`stages` is 0: a ring needs at least 1")]
    NoStages,
    /// The bytes of a tile are not a positive multiple of 16 within the tx-count.
    #[error(
        "`tile.bytes` is {bytes}: it must be a multiple of 16 from 16 to {MAX_TILE_BYTES}, what one barrier can expect"
    )]
    TileBytes {
        /// The given size.
        bytes: u32,
    },
    /// The ring ends beyond the limit.
    #[error(
        "{stages} stages of {tile_bytes} bytes from offset {start} end at {end}, over `limit` {limit}: at most {most} fit"
    )]
    OverBudget {
        /// The given number of stages.
        stages: u32,
        /// The given size of a tile.
        tile_bytes: u32,
        /// The given start.
        start: u32,
        /// Where the ring would end.
        end: u64,
        /// The given limit.
        limit: u32,
        /// The number of stages that would fit.
        most: u32,
    },
}

impl Layout {
    /// A ring of `stages` stages from offset `start` on, within `limit` bytes of shared memory.
    ///
    /// # Errors
    /// [`LayoutError`] when `stages` is 0, the tile's bytes are not a multiple of 16 that one
    /// barrier can expect, or the ring would end beyond `limit`.
    pub const fn new(tile: Tile, stages: u32, start: u32, limit: u32) -> Result<Self, LayoutError> {
        if stages == 0 {
            return Err(LayoutError::NoStages);
        }
        if tile.bytes == 0 || !tile.bytes.is_multiple_of(16) || tile.bytes > MAX_TILE_BYTES {
            return Err(LayoutError::TileBytes { bytes: tile.bytes });
        }
        let (first, stride) = placement(tile, start);
        let barriers = first + stride * stages as u64;
        let end = barriers + ring_barriers(stages);
        if end > limit as u64 {
            return Err(LayoutError::OverBudget {
                stages,
                tile_bytes: tile.bytes,
                start,
                end,
                limit,
                most: Self::most_stages(tile, start, limit),
            });
        }
        // All are at most `end`, which is at most a u32.
        Ok(Self { tile, stages, first: first as u32, stride: stride as u32, barriers: barriers as u32 })
    }

    /// How many stages of `tile` fit from offset `start` on within `limit` bytes; 0 if none does.
    pub const fn most_stages(tile: Tile, start: u32, limit: u32) -> u32 {
        let (first, stride) = placement(tile, start);
        let free = (limit as u64).saturating_sub(first);
        // At most `limit`, which is a u32.
        (free / (stride + ring_barriers(1))) as u32
    }

    /// The number of stages.
    pub const fn stages(&self) -> u32 {
        self.stages
    }

    /// What the producer expects on `full` for each tile.
    pub const fn expected_bytes(&self) -> u32 {
        self.tile.bytes
    }

    /// The distance between two stages: the tile's bytes rounded up to its alignment.
    pub const fn stage_bytes(&self) -> u32 {
        self.stride
    }

    /// The offset of stage `index`.
    pub const fn stage(&self, index: u32) -> Option<u32> {
        if index < self.stages { Some(self.first + self.stride * index) } else { None }
    }

    /// The offset of the ring's barriers: the address that the device's `Ring` takes.
    pub const fn barriers(&self) -> u32 {
        self.barriers
    }

    /// The offset of the `full` barrier of stage `index`.
    pub const fn full_barrier(&self, index: u32) -> Option<u32> {
        if index < self.stages { Some(self.barriers + BARRIER_BYTES * index) } else { None }
    }

    /// The offset of the `empty` barrier of stage `index`.
    pub const fn empty_barrier(&self, index: u32) -> Option<u32> {
        if index < self.stages { Some(self.barriers + BARRIER_BYTES * (self.stages + index)) } else { None }
    }

    /// The offset after the last barrier: the dynamic shared memory to ask for, or the `start` of
    /// what comes next.
    pub const fn end(&self) -> u32 {
        self.barriers + 2 * BARRIER_BYTES * self.stages
    }
}

/// The offset of the first stage and the distance between stages. A tile of 0 bytes takes one
/// alignment, so that the distance is never 0.
const fn placement(tile: Tile, start: u32) -> (u64, u64) {
    let alignment = tile.alignment.bytes() as u64;
    let bytes = if tile.bytes == 0 { 1 } else { tile.bytes as u64 };
    ((start as u64).next_multiple_of(alignment), bytes.next_multiple_of(alignment))
}

const fn ring_barriers(stages: u32) -> u64 {
    2 * BARRIER_BYTES as u64 * stages as u64
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    const ALIGNMENTS: [Alignment; 4] =
        [Alignment::Unswizzled, Alignment::Swizzle32, Alignment::Swizzle64, Alignment::Swizzle128];

    fn tiles() -> impl Strategy<Value = Tile> {
        (1_u32..=MAX_TILE_BYTES / 16, 0_usize..4)
            .prop_map(|(units, alignment)| Tile { bytes: 16 * units, alignment: ALIGNMENTS[alignment] })
    }

    proptest! {
        #[test]
        fn parts_are_aligned_and_disjoint(tile in tiles(), stages in 1_u32..9, start in 0_u32..1 << 20) {
            let ring = Layout::new(tile, stages, start, u32::MAX).unwrap();
            let mut parts: Vec<(u32, u32)> = Vec::new();
            for index in 0..stages {
                let stage = ring.stage(index).unwrap();
                prop_assert_eq!(stage % tile.alignment.bytes(), 0);
                parts.push((stage, tile.bytes));
            }
            for index in 0..stages {
                parts.push((ring.full_barrier(index).unwrap(), BARRIER_BYTES));
            }
            for index in 0..stages {
                parts.push((ring.empty_barrier(index).unwrap(), BARRIER_BYTES));
            }
            prop_assert!(parts[0].0 >= start);
            prop_assert!(parts.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            prop_assert!(parts[stages as usize..].iter().all(|part| part.0 % BARRIER_BYTES == 0));
            let (last, bytes) = parts[parts.len() - 1];
            prop_assert_eq!(last + bytes, ring.end());
            prop_assert_eq!(ring.stage(stages), None);
            prop_assert_eq!(ring.full_barrier(stages), None);
            prop_assert_eq!(ring.empty_barrier(stages), None);
        }

        #[test]
        fn most_stages_is_the_most(tile in tiles(), start in 0_u32..300_000, limit in 0_u32..300_000) {
            let most = Layout::most_stages(tile, start, limit);
            if most > 0 {
                prop_assert!(Layout::new(tile, most, start, limit).unwrap().end() <= limit);
            }
            let over = Layout::new(tile, most + 1, start, limit);
            let is_over = matches!(over, Err(LayoutError::OverBudget { most: said, .. }) if said == most);
            prop_assert!(is_over, "{:?}", over);
        }

        #[test]
        fn nothing_overflows(bytes: u32, stages: u32, start: u32, limit: u32, alignment in 0_usize..4) {
            let tile = Tile { bytes, alignment: ALIGNMENTS[alignment] };
            if let Ok(ring) = Layout::new(tile, stages, start, limit) {
                prop_assert!(ring.end() <= limit);
                prop_assert!(ring.empty_barrier(stages - 1).is_some());
            }
        }
    }

    #[test]
    fn limits_of_each_rule() {
        let tile = |bytes| Tile { bytes, alignment: Alignment::Unswizzled };
        let new = |bytes, stages, limit| Layout::new(tile(bytes), stages, 0, limit);
        assert_eq!(new(128, 0, 1024), Err(LayoutError::NoStages));
        for bytes in [0, 8, 17, 1 << 20] {
            assert_eq!(new(bytes, 1, u32::MAX), Err(LayoutError::TileBytes { bytes }));
        }
        assert!(new((1 << 20) - 16, 1, u32::MAX).is_ok());
        assert!(new(128, 2, 2 * 128 + 32).is_ok());
        let over = new(128, 2, 2 * 128 + 31).unwrap_err();
        assert_eq!(
            over.to_string(),
            "2 stages of 128 bytes from offset 0 end at 288, over `limit` 287: at most 1 fit"
        );
    }
}
