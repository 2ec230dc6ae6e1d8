//! Whether two strided tensors may share a byte.

use crate::{Pointer, TensorSpec};

/// The bytes that an operand occupies.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    start: u64,
    span: u64,
    /// Bytes an element.
    pub(crate) element: usize,
    /// Of each dimension with more than one element: stride in bytes and elements.
    steps: Vec<(u64, u64)>,
}

impl Extent {
    /// Of a tensor whose layout was checked.
    pub(crate) fn tensor(pointer: Pointer, spec: &TensorSpec) -> Self {
        let size = spec.dtype.size();
        let span = spec.layout.span().unwrap_or(0).saturating_mul(size) as u64;
        let dims = spec.layout.strides.into_iter().zip(spec.layout.shape);
        let steps = dims
            .filter(|&(stride, extent)| extent > 1 && stride > 0)
            .map(|(stride, extent)| ((stride as u64).saturating_mul(size as u64), extent as u64))
            .collect();
        Self { start: pointer.address, span, element: size, steps }
    }

    /// Of `count` tensors of a layout that was checked, `stride` elements from one to the next.
    pub(crate) fn stack(pointer: Pointer, spec: &TensorSpec, count: usize, stride: usize) -> Self {
        let mut extent = Self::tensor(pointer, spec);
        let (count, step) = (count as u64, stride.saturating_mul(spec.dtype.size()) as u64);
        let last = count.saturating_sub(1).saturating_mul(step);
        // Of none, and of empty ones, there is no byte.
        extent.span = if count == 0 || extent.span == 0 { 0 } else { extent.span.saturating_add(last) };
        if count > 1 && step > 0 {
            extent.steps.push((step, count));
        }
        extent
    }

    /// Of `len` elements in a row.
    pub(crate) fn array(pointer: Pointer, len: usize, element: usize) -> Self {
        let span = len.saturating_mul(element) as u64;
        Self { start: pointer.address, span, element, steps: vec![(element as u64, len as u64)] }
    }

    /// From the first byte to the last.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.span).unwrap_or(usize::MAX)
    }

    /// The length of the contiguous runs that the tensor consists of, and the strides of the
    /// dimensions that step from run to run.
    fn runs(&self) -> (u64, Vec<u64>) {
        let mut steps = self.steps.clone();
        steps.sort_unstable();
        let mut run = self.element as u64;
        let mut outer = Vec::new();
        for (stride, extent) in steps {
            if stride <= run && outer.is_empty() {
                run = run.saturating_add(stride.saturating_mul(extent.saturating_sub(1)));
            } else {
                outer.push(stride);
            }
        }
        (run, outer)
    }
}

/// False only where no byte is shared: the ranges are apart, or the tensors are interleaved slices
/// of one buffer (Q, K, V and O side by side in each row), whose runs of bytes repeat with a common
/// period and never meet within it.
pub(crate) fn may_overlap(a: &Extent, b: &Extent) -> bool {
    if a.span == 0 || b.span == 0 {
        return false;
    }
    let apart = a.start.saturating_add(a.span) <= b.start || b.start.saturating_add(b.span) <= a.start;
    if apart {
        return false;
    }
    let ((run_a, outer_a), (run_b, outer_b)) = (a.runs(), b.runs());
    let period = outer_a.into_iter().chain(outer_b).fold(0, gcd);
    if period == 0 || run_a > period || run_b > period {
        return true;
    }
    // Modulo the period, A's runs start at 0 and B's at `offset`.
    let offset = if b.start >= a.start {
        (b.start - a.start) % period
    } else {
        (period - (a.start - b.start) % period) % period
    };
    offset < run_a || offset.saturating_add(run_b) > period
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Layout, Place};
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn extent(address: u64, shape: [usize; 4], strides: [usize; 4]) -> Extent {
        let spec = TensorSpec { dtype: DType::Bf16, layout: Layout { shape, strides } };
        Extent::tensor(Pointer { address, place: Place::Mock }, &spec)
    }

    fn bytes(address: u64, shape: [usize; 4], strides: [usize; 4]) -> HashSet<u64> {
        let mut all = HashSet::new();
        for b in 0..shape[0] {
            for s in 0..shape[1] {
                for h in 0..shape[2] {
                    for d in 0..shape[3] {
                        let at = b * strides[0] + s * strides[1] + h * strides[2] + d * strides[3];
                        all.extend([address + 2 * at as u64, address + 2 * at as u64 + 1]);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn slices_of_a_fused_buffer_do_not_overlap() {
        // [batch 2, sequence 5, (q, k, v, o), heads 3, dim 8]
        let (shape, strides) = ([2, 5, 3, 8], [5 * 4 * 24, 4 * 24, 8, 1]);
        for (i, j) in [(0, 3), (3, 0), (1, 2), (2, 3)] {
            let a = extent(4096 + i * 48, shape, strides);
            let b = extent(4096 + j * 48, shape, strides);
            assert!(!may_overlap(&a, &b), "{i} {j}");
        }
        let (a, shifted) = (extent(4096, shape, strides), extent(4096 + 46, shape, strides));
        assert!(may_overlap(&a, &shifted));
        assert!(may_overlap(&a, &a));
    }

    proptest! {
        #[test]
        fn never_misses_a_shared_byte(
            shape_a in prop::array::uniform4(1usize..4), strides_a in prop::array::uniform3(0usize..40),
            shape_b in prop::array::uniform4(1usize..4), strides_b in prop::array::uniform3(0usize..40),
            shift in 0u64..120,
        ) {
            let [x, y, z] = strides_a;
            let strides_a = [x, y, z, 1];
            let [x, y, z] = strides_b;
            let strides_b = [x, y, z, 1];
            let shared = !bytes(1000, shape_a, strides_a).is_disjoint(&bytes(1000 + shift, shape_b, strides_b));
            let said = may_overlap(&extent(1000, shape_a, strides_a), &extent(1000 + shift, shape_b, strides_b));
            prop_assert!(said || !shared);
        }
    }
}
