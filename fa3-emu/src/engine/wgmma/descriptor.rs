//! Where a matrix lies in shared memory.

use crate::engine::swizzle::Swizzle;

use super::{K, WgmmaError};

/// Which dimension of an operand is contiguous in shared memory (the immediates `tnspA` and `tnspB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// The contraction.
    K,
    /// The other one: rows of A, columns of B. For 16-bit types alone.
    Mn,
}

/// A decoded matrix descriptor (PTX ISA, "Matrix Descriptor Format").
///
/// ```
/// use fa3_emu::engine::swizzle::Swizzle;
/// use fa3_emu::engine::wgmma::Descriptor;
/// // At 0x400, swizzle 128B, 1024 bytes from one group of eight rows to the next.
/// let descriptor = Descriptor::decode(1 << 62 | (1024 >> 4) << 32 | 0x400 >> 4)?;
/// assert_eq!(descriptor.start, 0x400);
/// assert_eq!((descriptor.stride, descriptor.swizzle), (1024, Swizzle::Bytes128));
/// # Ok::<(), fa3_emu::engine::wgmma::WgmmaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The descriptor itself.
    pub bits: u64,
    /// The matrix's address in shared memory.
    pub start: usize,
    /// The leading dimension's byte offset.
    pub leading: usize,
    /// The stride dimension's byte offset.
    pub stride: usize,
    /// The order of chunks.
    pub swizzle: Swizzle,
}

impl Descriptor {
    /// Takes the fields apart: address at bits 0–13, leading offset at 16–29 and stride offset at
    /// 32–45, all in units of 16 bytes; base offset at 49–51; swizzle at 62–63.
    ///
    /// # Errors
    /// [`WgmmaError::Reserved`] for bits that belong to no field, [`WgmmaError::BaseOffset`] for a base
    /// offset.
    pub const fn decode(descriptor: u64) -> Result<Self, WgmmaError> {
        const FIELDS: u64 = 0x3fff | 0x3fff << 16 | 0x3fff << 32 | 0x7 << 49 | 0x3 << 62;
        if descriptor & !FIELDS != 0 {
            return Err(WgmmaError::Reserved { descriptor, bits: descriptor & !FIELDS });
        }
        let offset = (descriptor >> 49 & 0x7) as u8;
        if offset != 0 {
            return Err(WgmmaError::BaseOffset { descriptor, offset });
        }
        let swizzle = match descriptor >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        Ok(Self {
            bits: descriptor,
            start: Self::field(descriptor),
            leading: Self::field(descriptor >> 16),
            stride: Self::field(descriptor >> 32),
            swizzle,
        })
    }

    const fn field(bits: u64) -> usize {
        ((bits & 0x3fff) as usize) << 4
    }

    /// The addresses of the chunks of 16 bytes of an operand: A, whose `extent` is 64, or B, whose
    /// `extent` is N.
    pub fn chunks(self, major: Major, extent: usize) -> impl Iterator<Item = usize> {
        let (contiguous, other) = match major {
            Major::K => (K / 8, extent),
            Major::Mn => (extent / 8, K),
        };
        (0..other).flat_map(move |row| (0..contiguous).map(move |chunk| self.chunk(major, chunk, row)))
    }

    /// The address of the chunk of 16 bytes with elements `8 · contiguous` to `8 · contiguous + 7` of
    /// the contiguous dimension, and element `other` of the other (PTX ISA, "Strides" and "Canonical
    /// Layouts").
    ///
    /// Groups of eight rows of 16 to 128 bytes, as long as the swizzle's span, lie together. From group
    /// to group along the rows is the stride offset, across them the leading offset. A K-major matrix
    /// is no wider than a row when swizzled. Unswizzled and MN-major, the offsets have changed places.
    pub(super) const fn chunk(&self, major: Major, contiguous: usize, other: usize) -> usize {
        let span = self.swizzle.span_bytes();
        let (along, across) = match (major, self.swizzle) {
            (Major::Mn, Swizzle::None) => (self.leading, self.stride),
            (Major::K | Major::Mn, _) => (self.stride, self.leading),
        };
        let within = match (major, self.swizzle) {
            (Major::K, Swizzle::Bytes32 | Swizzle::Bytes64 | Swizzle::Bytes128) => contiguous * 16,
            (Major::K, Swizzle::None) | (Major::Mn, _) => {
                let chunks = span / 16;
                contiguous % chunks * 16 + contiguous / chunks * across
            }
        };
        self.swizzle.apply(self.start + other / 8 * along + other % 8 * span + within)
    }
}
