//! Where the elements of a tensor lie in memory.

use crate::{Layout, Operand};

/// How the four tensors of a case are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrangement {
    /// `[batch, sequence, heads, dim]`, contiguous.
    Bshd,
    /// `[batch, heads, sequence, dim]`, contiguous.
    Bhsd,
    /// `[sequence, batch, heads, dim]`, contiguous.
    Sbhd,
    /// As [`Bshd`](Self::Bshd), with unused elements after each head, row and batch entry; every
    /// stride is a multiple of 8 elements when `dim` is.
    Padded,
    /// Rows three times as far apart as contiguous ones, as a fused QKV projection leaves them.
    Fused,
    /// K and V have batch stride 0: one copy serves the whole batch.
    ExpandBatch,
    /// K and V have head stride 0: one copy serves all heads.
    ExpandHeads,
    /// Contiguous, but a dimension of extent 1 has a stride that means nothing.
    OddUnit,
    /// Each tensor in its own way, 16 bytes after a multiple of 128: Q [`Bhsd`](Self::Bhsd), K
    /// [`Padded`](Self::Padded), V [`Fused`](Self::Fused), O [`Sbhd`](Self::Sbhd).
    Mixed,
    /// Rows one element further apart than contiguous ones.
    OddRows,
}

impl Arrangement {
    /// Every arrangement and its name.
    pub(super) const NAMES: [(Self, &'static str); 10] = [
        (Self::Bshd, "bshd"),
        (Self::Bhsd, "bhsd"),
        (Self::Sbhd, "sbhd"),
        (Self::Padded, "padded"),
        (Self::Fused, "fused"),
        (Self::ExpandBatch, "expand_batch"),
        (Self::ExpandHeads, "expand_heads"),
        (Self::OddUnit, "odd_unit"),
        (Self::Mixed, "mixed"),
        (Self::OddRows, "odd_rows"),
    ];

    /// The layout of a tensor. Slices of K and V may coincide.
    pub(super) fn layout(self, shape: [usize; 4], operand: Operand) -> Layout {
        let [b, s, h, d] = shape;
        let shared = matches!(operand, Operand::K | Operand::V);
        let contiguous = Layout::contiguous(shape);
        let strides = match self {
            Self::Bshd => contiguous.strides,
            Self::Bhsd => [h * s * d, d, s * d, 1],
            Self::Sbhd => [h * d, b * h * d, d, 1],
            Self::Padded => {
                let row = h * (d + 8) + 16;
                [s * row + 8, row, d + 8, 1]
            }
            Self::Fused => [s * 3 * h * d, 3 * h * d, d, 1],
            Self::ExpandBatch if shared => [0, h * d, d, 1],
            Self::ExpandHeads if shared => [s * d, d, 0, 1],
            Self::ExpandBatch | Self::ExpandHeads => contiguous.strides,
            Self::OddUnit => {
                let mut strides = contiguous.strides;
                for (stride, &extent) in strides.iter_mut().zip(&shape) {
                    if extent == 1 {
                        *stride = 7;
                    }
                }
                strides
            }
            Self::Mixed => {
                let own = match operand {
                    Operand::Q => Self::Bhsd,
                    Operand::K => Self::Padded,
                    Operand::V => Self::Fused,
                    _ => Self::Sbhd,
                };
                return own.layout(shape, operand);
            }
            Self::OddRows => [s * (h * d + 1), h * d + 1, d, 1],
        };
        Layout { shape, strides }
    }

    /// Bytes between a multiple of 128 and the first element.
    pub(super) fn offset(self) -> usize {
        if self == Self::Mixed { 16 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_written_tensors_do_not_coincide() {
        let operands = [Operand::Q, Operand::O];
        for ((arrangement, name), operand) in
            Arrangement::NAMES.into_iter().flat_map(|known| operands.map(|operand| (known, operand)))
        {
            let layout = arrangement.layout([2, 3, 4, 8], operand);
            let mut seen = std::collections::HashSet::new();
            let [b, s, h, d] = layout.shape;
            for index in 0..b * s * h * d {
                let at = [index / (s * h * d), index / (h * d) % s, index / d % h, index % d];
                let offset: usize = at.iter().zip(&layout.strides).map(|(i, stride)| i * stride).sum();
                assert!(seen.insert(offset), "{name} stores two elements at {offset}");
            }
        }
    }
}
