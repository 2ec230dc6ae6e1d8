//! Operands behind addresses.

use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use super::math::widen;
use super::matrix::Matrix;
use crate::{DType, Element, Layout, Pointer};

/// A tensor that is read.
pub(super) struct Input<T> {
    first: *const T,
    layout: Layout,
}

/// A tensor that is written, every element by one thread only.
pub(super) struct Output<T> {
    first: *mut T,
    layout: Layout,
}

// SAFETY: an `Input` only reads memory that nothing writes while it lives.
unsafe impl<T: Sync> Sync for Input<T> {}
// SAFETY: each element is written by one thread only and read by none, which `Output::new`'s caller
// promises.
unsafe impl<T: Send> Sync for Output<T> {}

/// The offset of a row of `dim` elements, having checked that the row exists.
fn offset(layout: &Layout, batch: usize, token: usize, head: usize) -> usize {
    let ([batches, tokens, heads, _], [sb, ss, sh, _]) = (layout.shape, layout.strides);
    assert!(batch < batches && token < tokens && head < heads, "no such row");
    // No overflow: at most the layout's span, which the binding found to be addressable.
    batch * sb + token * ss + head * sh
}

impl<T: Element> Input<T> {
    /// # Safety
    /// `pointer` is of this process's memory and aligned for `T`; while this lives, each element of
    /// the layout is initialised wherever a row is asked for, and nothing writes it.
    pub(super) unsafe fn new(pointer: Pointer, layout: Layout) -> Self {
        Self { first: with_exposed_provenance(pointer.address as usize), layout }
    }

    /// A row: `dim` elements.
    pub(super) fn row(&self, batch: usize, token: usize, head: usize) -> &[T] {
        let offset = offset(&self.layout, batch, token, head);
        // SAFETY: the row exists, so by the promise of `new` its elements are live, initialised and
        // not written; they lie next to each other, as validation demands of the last stride.
        unsafe { core::slice::from_raw_parts(self.first.add(offset), self.layout.shape[3]) }
    }

    /// Rows `token..token + rows` of one head in f32: in place where they are f32 already, else
    /// converted into `scratch`.
    pub(super) fn rows<'a>(
        &'a self,
        batch: usize,
        token: usize,
        head: usize,
        rows: usize,
        scratch: &'a mut Vec<f32>,
    ) -> Matrix<'a> {
        let dim = self.layout.shape[3];
        if rows == 0 {
            return Matrix::of(&[], 0, dim);
        }
        if T::DTYPE == DType::F32 {
            let first = self.row(batch, token, head).as_ptr().cast::<f32>();
            offset(&self.layout, batch, token + rows - 1, head);
            // SAFETY: `T` is f32; the first and the last of the rows exist, so all do.
            return unsafe { Matrix::from_raw(first, rows, dim, self.layout.strides[1]) };
        }
        scratch.resize(rows * dim, 0.0);
        for (n, converted) in scratch.chunks_exact_mut(dim).enumerate() {
            widen(self.row(batch, token + n, head), converted);
        }
        Matrix::of(scratch, rows, dim)
    }
}

impl<T: Element> Output<T> {
    /// # Safety
    /// `pointer` is of this process's memory and aligned for `T`; while this lives, the elements of
    /// the layout are live, distinct, and used by nothing else; each row is stored by one thread.
    pub(super) unsafe fn new(pointer: Pointer, layout: Layout) -> Self {
        Self { first: with_exposed_provenance_mut(pointer.address as usize), layout }
    }

    /// Rounds and stores a row, or as many elements of it as there are values.
    pub(super) fn store(&self, batch: usize, token: usize, head: usize, values: impl Iterator<Item = f32>) {
        let offset = offset(&self.layout, batch, token, head);
        for (n, value) in values.take(self.layout.shape[3]).enumerate() {
            // SAFETY: the row exists and has more than `n` elements next to each other, which only
            // this thread uses, by the promise of `new`.
            unsafe { self.first.add(offset + n).write(T::from_f32(value)) };
        }
    }
}

/// Optional arrays behind addresses.
pub(super) trait Array {
    /// # Safety
    /// Where there is a pointer, it is of this process's memory, aligned, and addresses `len`
    /// elements of type `T` that are initialised, live and not written during `'a`.
    unsafe fn array<'a, T: bytemuck::AnyBitPattern>(self, len: usize) -> Option<&'a [T]>;
}

impl Array for Option<Pointer> {
    unsafe fn array<'a, T: bytemuck::AnyBitPattern>(self, len: usize) -> Option<&'a [T]> {
        let pointer = self?;
        if len == 0 {
            return Some(&[]);
        }
        // SAFETY: the caller's promise.
        Some(unsafe { core::slice::from_raw_parts(with_exposed_provenance(pointer.address as usize), len) })
    }
}
