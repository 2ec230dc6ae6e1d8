//! The accumulator: 64×N sums in f32, and their places in the registers of a warpgroup.

use super::operand::check_columns;
use super::{M, MatrixA, MatrixB, WgmmaError};

/// D, 64×N.
///
/// In registers, each of 128 threads has N/2 of its elements: register `4j + 2r + c` of lane `l` of
/// warp `w` is row `16w + l/4 + 8r`, column `8j + 2(l mod 4) + c` (PTX ISA, "Register Fragments for
/// wgmma.mma_async.m64nNk16").
///
/// ```
/// use fa3_emu::engine::wgmma::Accumulator;
/// let mut sums = Accumulator::new(8)?;
/// sums.set(1, 2, &[1.5_f32.to_bits(); 32])?;
/// assert_eq!(sums.at(16 + 8, 0), Some(1.5), "lane 0 of warp 1");
/// assert_eq!(sums.get(1, 2)?, [1.5_f32.to_bits(); 32]);
/// # Ok::<(), fa3_emu::engine::wgmma::WgmmaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulator {
    /// Row by row, eight columns at a time.
    blocks: Vec<[f32; 8]>,
    /// Blocks of a row.
    width: usize,
}

impl Accumulator {
    /// Zeros, `n` columns of them.
    ///
    /// # Errors
    /// [`WgmmaError::Columns`].
    pub fn new(n: usize) -> Result<Self, WgmmaError> {
        check_columns(n)?;
        Ok(Self { blocks: vec![[0.0; 8]; M * n / 8], width: n / 8 })
    }

    /// The columns.
    pub const fn columns(&self) -> usize {
        self.width * 8
    }

    /// An element; `None` outside the matrix.
    pub fn at(&self, row: usize, column: usize) -> Option<f32> {
        if row >= M || column >= self.columns() {
            return None;
        }
        self.blocks.get(row * self.width + column / 8)?.get(column % 8).copied()
    }

    /// Takes register `register` of a warp's lanes, as bits.
    ///
    /// # Errors
    /// [`WgmmaError::Fragment`] unless the warp is 0 to 3 and the register less than N/2.
    pub fn set(&mut self, warp: usize, register: usize, lanes: &[u32; 32]) -> Result<(), WgmmaError> {
        let (first, column) = self.place(warp, register)?;
        let rows = self.blocks.iter_mut().skip(first).step_by(self.width);
        for (block, lanes) in rows.zip(lanes.as_chunks::<4>().0) {
            for (pair, bits) in lanes.iter().enumerate() {
                block[2 * pair + column] = f32::from_bits(*bits);
            }
        }
        Ok(())
    }

    /// Register `register` of a warp's lanes, as bits.
    ///
    /// # Errors
    /// Those of [`set`](Self::set).
    pub fn get(&self, warp: usize, register: usize) -> Result<[u32; 32], WgmmaError> {
        let (first, column) = self.place(warp, register)?;
        let mut lanes = [0; 32];
        let rows = self.blocks.iter().skip(first).step_by(self.width);
        for (block, lanes) in rows.zip(lanes.as_chunks_mut::<4>().0) {
            for (pair, bits) in lanes.iter_mut().enumerate() {
                *bits = block[2 * pair + column].to_bits();
            }
        }
        Ok(lanes)
    }

    /// Adds A·B.
    ///
    /// # Errors
    /// [`WgmmaError::Shapes`] unless B has as many columns.
    pub fn add_product(&mut self, a: &MatrixA, b: &MatrixB) -> Result<(), WgmmaError> {
        if b.columns.len() != self.width {
            return Err(WgmmaError::Shapes { accumulator: self.columns(), n: b.columns.len() * 8 });
        }
        for (sums, a) in self.blocks.chunks_exact_mut(self.width).zip(&a.rows) {
            for (sums, b) in sums.iter_mut().zip(&b.columns) {
                let mut total = *sums;
                for (a, b) in a.iter().zip(b) {
                    for (total, b) in total.iter_mut().zip(b) {
                        *total += a * b;
                    }
                }
                *sums = total;
            }
        }
        Ok(())
    }

    /// The block that lane 0 has its element in, and the element's place in it, 0 or 1.
    fn place(&self, warp: usize, register: usize) -> Result<(usize, usize), WgmmaError> {
        let registers = self.width * 4;
        if warp >= M / 16 || register >= registers {
            return Err(WgmmaError::Fragment { warp, register, registers });
        }
        let row = 16 * warp + register / 2 % 2 * 8;
        Ok((row * self.width + register / 4, register % 2))
    }
}
