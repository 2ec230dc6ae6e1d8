//! The operands, as f32, in the order that multiplying them wants.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::engine::shared::chunk;
use crate::ir::mma::OperandTy;

use super::{Descriptor, K, M, MAX_N, Major, WgmmaError};

/// Eight neighbours of the contiguous dimension.
type Chunk = [f32; 8];

/// A, 64×16.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixA {
    pub(super) rows: [[f32; K]; M],
}

impl MatrixA {
    /// A from shared memory.
    ///
    /// # Errors
    /// [`WgmmaError::Shared`].
    pub fn from_shared(
        operand: OperandTy,
        descriptor: &Descriptor,
        major: Major,
        shared: &[u8],
    ) -> Result<Self, WgmmaError> {
        let mut rows = [[0.0; K]; M];
        match major {
            Major::K => {
                for (index, row) in rows.iter_mut().enumerate() {
                    for (half, values) in row.as_chunks_mut().0.iter_mut().enumerate() {
                        *values = read(operand, descriptor, major, half, index, shared)?;
                    }
                }
            }
            Major::Mn => {
                for (group, rows) in rows.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    for k in 0..K {
                        let values = read(operand, descriptor, major, group, k, shared)?;
                        rows.iter_mut().zip(values).for_each(|(row, value)| row[k] = value);
                    }
                }
            }
        }
        Ok(Self { rows })
    }

    /// A from the registers of a warpgroup: register `r` of the four that hold a pair of elements each
    /// is `register(warp, r)`, a word for each lane (PTX ISA, "Register Fragments for
    /// wgmma.mma_async.m64nNk16").
    pub fn from_registers<'a>(
        operand: OperandTy,
        mut register: impl FnMut(usize, usize) -> &'a [u32; 32],
    ) -> Self {
        let mut rows = [[0.0; K]; M];
        for (warp, rows) in rows.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            for r in 0..4 {
                for (lane, word) in register(warp, r).iter().enumerate() {
                    let (row, column) = (lane / 4 + r % 2 * 8, lane % 4 * 2 + r / 2 * 8);
                    rows[row][column] = value(operand, *word as u16);
                    rows[row][column + 1] = value(operand, (*word >> 16) as u16);
                }
            }
        }
        Self { rows }
    }

    /// −A, for the immediates that negate A or B.
    #[must_use]
    pub fn negated(mut self) -> Self {
        self.rows.as_flattened_mut().iter_mut().for_each(|value| *value = -*value);
        self
    }
}

/// B, 16×N.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixB {
    /// For every eight columns, the sixteen rows of them.
    pub(super) columns: Vec<[Chunk; K]>,
}

impl MatrixB {
    /// B, of `n` columns, from shared memory.
    ///
    /// # Errors
    /// [`WgmmaError::Columns`] and [`WgmmaError::Shared`].
    pub fn from_shared(
        operand: OperandTy,
        n: usize,
        descriptor: &Descriptor,
        major: Major,
        shared: &[u8],
    ) -> Result<Self, WgmmaError> {
        check_columns(n)?;
        let mut columns = vec![[[0.0; 8]; K]; n / 8];
        for (group, block) in columns.iter_mut().enumerate() {
            match major {
                Major::K => {
                    for column in 0..8 {
                        for half in 0..K / 8 {
                            let values = read(operand, descriptor, major, half, 8 * group + column, shared)?;
                            let rows = block.iter_mut().skip(8 * half);
                            rows.zip(values).for_each(|(row, value)| row[column] = value);
                        }
                    }
                }
                Major::Mn => {
                    for (k, row) in block.iter_mut().enumerate() {
                        *row = read(operand, descriptor, major, group, k, shared)?;
                    }
                }
            }
        }
        Ok(Self { columns })
    }
}

/// That the instruction has a shape of `n` columns.
pub(super) fn check_columns(n: usize) -> Result<(), WgmmaError> {
    if n == 0 || n > MAX_N || !n.is_multiple_of(8) { Err(WgmmaError::Columns { n }) } else { Ok(()) }
}

fn read(
    operand: OperandTy,
    descriptor: &Descriptor,
    major: Major,
    contiguous: usize,
    other: usize,
    shared: &[u8],
) -> Result<Chunk, WgmmaError> {
    let bytes = chunk(shared, descriptor.chunk(major, contiguous, other))
        .map_err(|source| WgmmaError::Shared { descriptor: descriptor.bits, source })?;
    let pairs = bytes.as_chunks().0.iter();
    let mut values = [0.0; 8];
    match operand {
        OperandTy::Bf16 => {
            let words = pairs.map(|pair| u16::from_le_bytes(*pair));
            values.iter_mut().zip(words).for_each(|(value, bits)| *value = bf16::from_bits(bits).to_f32());
        }
        OperandTy::F16 => {
            let mut halves = [f16::ZERO; 8];
            halves.iter_mut().zip(pairs).for_each(|(half, pair)| *half = f16::from_le_bytes(*pair));
            halves.convert_to_f32_slice(&mut values);
        }
    }
    Ok(values)
}

fn value(operand: OperandTy, bits: u16) -> f32 {
    match operand {
        OperandTy::F16 => f16::from_bits(bits).to_f32(),
        OperandTy::Bf16 => bf16::from_bits(bits).to_f32(),
    }
}
