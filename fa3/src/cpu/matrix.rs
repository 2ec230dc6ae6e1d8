//! Matrices in f32 and the two products of a tile.

use core::marker::PhantomData;

use gemm::{Parallelism, gemm};

/// Rows of `columns` elements each, `stride` elements apart.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    first: *const f32,
    pub(super) rows: usize,
    pub(super) columns: usize,
    stride: usize,
    elements: PhantomData<&'a f32>,
}

impl<'a> Matrix<'a> {
    /// Contiguous rows.
    pub(super) fn of(data: &'a [f32], rows: usize, columns: usize) -> Self {
        assert!(data.len() >= rows * columns, "fewer elements than the matrix has");
        Self { first: data.as_ptr(), rows, columns, stride: columns, elements: PhantomData }
    }

    /// # Safety
    /// For each `row < rows`, the `columns` elements from `first + row · stride` are live,
    /// initialised and not written during `'a`.
    pub(super) unsafe fn from_raw(first: *const f32, rows: usize, columns: usize, stride: usize) -> Self {
        Self { first, rows, columns, stride, elements: PhantomData }
    }
}

/// `out = scale · a · bᵀ`, contiguous.
pub(super) fn product_transposed(out: &mut [f32], a: Matrix<'_>, b: Matrix<'_>, scale: f32) {
    assert!(a.columns == b.columns && out.len() >= a.rows * b.rows, "shapes agree");
    // SAFETY: `out` holds `a.rows × b.rows` elements and is borrowed exclusively; the matrices' own
    // promise covers their elements; `b` is read with its strides exchanged.
    unsafe {
        gemm(
            a.rows,
            b.rows,
            a.columns,
            out.as_mut_ptr(),
            1,
            b.rows as isize,
            false,
            a.first,
            1,
            a.stride as isize,
            b.first,
            b.stride as isize,
            1,
            0.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `out = a · b`, or `out += a · b` when `add`; contiguous.
pub(super) fn product(out: &mut [f32], a: Matrix<'_>, b: Matrix<'_>, add: bool) {
    assert!(a.columns == b.rows && out.len() >= a.rows * b.columns, "shapes agree");
    // SAFETY: `out` holds `a.rows × b.columns` elements and is borrowed exclusively; the matrices'
    // own promise covers their elements.
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            out.as_mut_ptr(),
            1,
            b.columns as isize,
            add,
            a.first,
            1,
            a.stride as isize,
            b.first,
            1,
            b.stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_of_rows_with_rows_and_with_columns() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let (a, b) = (Matrix::of(&a, 2, 3), Matrix::of(&a, 2, 3));
        let mut out = [f32::NAN; 4];
        product_transposed(&mut out, a, b, 0.5);
        assert_eq!(out, [7.0, 16.0, 16.0, 38.5]);
        let c = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let mut out = [f32::NAN; 4];
        product(&mut out, a, Matrix::of(&c, 3, 2), false);
        assert_eq!(out, [4.0, 5.0, 10.0, 11.0]);
        product(&mut out, a, Matrix::of(&c, 3, 2), true);
        assert_eq!(out, [8.0, 10.0, 20.0, 22.0]);
    }

    #[test]
    fn what_lies_between_rows_is_not_read() {
        let data = [1.0, 2.0, f32::NAN, 3.0, 4.0];
        // SAFETY: two rows of two elements, three apart, within `data`.
        let strided = unsafe { Matrix::from_raw(data.as_ptr(), 2, 2, 3) };
        let mut out = [f32::NAN; 4];
        product_transposed(&mut out, strided, strided, 1.0);
        assert_eq!(out, [5.0, 11.0, 11.0, 25.0]);
    }
}
