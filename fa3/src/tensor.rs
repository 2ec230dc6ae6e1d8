//! Tensors: a backend-tagged pointer, a shape, strides and an element type.

use core::fmt;

use crate::DType;

/// The memory that a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// This process's own memory.
    Host,
    /// The memory of the CUDA device of this ordinal.
    Cuda(u32),
    /// The memory of an emulated device: each has a number of its own in the process.
    Emulated(u32),
    /// The address space of the recording mock.
    Mock,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host memory"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Emulated(number) => write!(f, "the memory of emulated device {number}"),
            Self::Mock => f.write_str("mock memory"),
        }
    }
}

/// An address and the memory it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The address, in the address space of `place`.
    pub address: u64,
    /// Whose address it is.
    pub place: Place,
}

/// The shape and strides of a four-dimensional tensor, both in elements and in the order
/// `[batch, sequence, heads, dim]`, whatever the order in memory. A packed batch of sequences of
/// unequal length is `[1, total, heads, dim]`.
///
/// ```
/// use fa3::Layout;
/// let bshd = Layout::contiguous([2, 128, 8, 64]);
/// assert_eq!(bshd.strides, [128 * 8 * 64, 8 * 64, 64, 1]);
/// // The same extents stored as [batch, heads, sequence, dim]:
/// let bhsd = Layout { shape: bshd.shape, strides: [8 * 128 * 64, 64, 128 * 64, 1] };
/// assert_eq!(bhsd.span(), bshd.span());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Extents: batch, sequence, heads, dim.
    pub shape: [usize; 4],
    /// Strides in elements; zero repeats a slice, the last one must be 1 wherever the extent of
    /// `dim` exceeds 1.
    pub strides: [usize; 4],
}

impl Layout {
    /// Row-major `[batch, sequence, heads, dim]`.
    pub const fn contiguous(shape: [usize; 4]) -> Self {
        let [_, s, h, d] = shape;
        Self { shape, strides: [s.saturating_mul(h).saturating_mul(d), h.saturating_mul(d), d, 1] }
    }

    /// Whether some extent is zero.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Elements from the first to one past the last, `None` where that overflows; zero when empty.
    pub fn span(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let last = self
            .shape
            .iter()
            .zip(&self.strides)
            .try_fold(0usize, |sum, (&n, &stride)| sum.checked_add((n - 1).checked_mul(stride)?))?;
        last.checked_add(1)
    }
}

/// An element type and a layout: all that planning needs to know of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorSpec {
    /// The type of the elements.
    pub dtype: DType,
    /// Shape and strides.
    pub layout: Layout,
}

/// A tensor in some memory. A plain value: it neither owns nor borrows what it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// The first element.
    pub pointer: Pointer,
    /// Type and layout.
    pub spec: TensorSpec,
}
