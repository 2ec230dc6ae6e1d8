//! Batched transposes.

use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};

use crate::params::TransposeParams;
use crate::{MOST, Plan, PlanError, TRANSPOSE, TransposeKernel, check_stride, checked, padded};

/// `out[b, c, r] = scale · in[b, r, c]` in bf16.
///
/// ```
/// use fa3_tma_examples::Transpose;
///
/// let plan = Transpose::new(3, 200, 200, 0.5).plan()?;
/// assert_eq!(plan.grid, 3 * 2 * 4);
///
/// let odd = Transpose { input: [20_104, 201], ..Transpose::new(1, 100, 201, 1.0) };
/// let error = odd.plan().unwrap_err().to_string();
/// assert_eq!(error, "input[1] = 201, but it has to be a multiple of 8, less than 2³⁹");
/// # Ok::<(), fa3_tma_examples::PlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transpose {
    /// Matrices.
    pub batch: u64,
    /// Rows of each of the input.
    pub rows: u64,
    /// Columns of each of the input.
    pub columns: u64,
    /// What each element is multiplied by, in f32; NaN and infinities as IEEE 754 has them.
    pub scale: f32,
    /// Elements from one matrix, and from one row, of the input to the next: multiples of 8. They may
    /// overlap.
    pub input: [u64; 2],
    /// The same of the output. What lies between the end of a row and the next multiple of 8 elements is
    /// written too.
    pub output: [u64; 2],
}

/// Columns a box: a row of the 128-byte swizzle.
const PANEL: u32 = 64;

impl Transpose {
    /// Rows and matrices one after the other, but for the padding of rows to a multiple of 8 elements.
    pub const fn new(batch: u64, rows: u64, columns: u64, scale: f32) -> Self {
        let (row, column) = (padded(columns), padded(rows));
        let (input, output) = ([rows.saturating_mul(row), row], [columns.saturating_mul(column), column]);
        Self { batch, rows, columns, scale, input, output }
    }

    /// The launch, a tile a CTA.
    ///
    /// # Errors
    /// [`PlanError`]: an extent is zero or too large, a stride is no multiple of 8.
    pub fn plan(&self) -> Result<Plan<TransposeParams, 2>, PlanError> {
        let Self { batch, rows, columns, scale, input, output } = *self;
        for (argument, value) in [("batch", batch), ("rows", rows), ("columns", columns)] {
            PlanError::unless((1..=MOST).contains(&value), argument, value, "1 to 2³¹ − 1024")?;
        }
        for (argument, stride) in [
            ("input[0]", input[0]),
            ("input[1]", input[1]),
            ("output[0]", output[0]),
            ("output[1]", output[1]),
        ] {
            check_stride(argument, stride)?;
        }
        // Rows of the output, `columns` in each matrix, and matrices: whichever is closer, inside the other.
        let [(inner, count), (outer, outer_count)] = if output[1] <= output[0] {
            [(output[1], columns), (output[0], batch)]
        } else {
            [(output[0], batch), (output[1], columns)]
        };
        let apart = |stride: u64, extent: u64, count: u64| count == 1 || stride >= extent;
        let rule = "so large that rows of the output do not overlap";
        PlanError::unless(apart(inner, rows, count), "the smaller of output", inner, rule)?;
        let extent = (count - 1).saturating_mul(inner).saturating_add(rows);
        PlanError::unless(apart(outer, extent, outer_count), "the larger of output", outer, rule)?;
        let TransposeKernel { tile_rows, tile_columns, .. } = TRANSPOSE;
        let (tiles_rows, tiles_columns) =
            (rows.div_ceil(tile_rows.into()), columns.div_ceil(tile_columns.into()));
        let tiles = u128::from(tiles_rows) * u128::from(tiles_columns) * u128::from(batch);
        let tiles = u64::try_from(tiles).unwrap_or(u64::MAX);
        PlanError::unless(tiles <= MOST, "batch·rows·columns in tiles", tiles, "at most 2³¹ − 1024")?;
        let map = |matrices, [rows, columns]: [u64; 2], strides: [u64; 2], box_rows| {
            let [matrix, row] = strides.map(|stride| stride.saturating_mul(2));
            let boxes = [PANEL, box_rows, 1];
            let desc = TensorMapDesc::tiled(DataType::Bf16, &[columns, rows, batch], &[row, matrix], &boxes);
            checked(matrices, desc.map(|desc| desc.with_swizzle(Swizzle::Bytes128)))
        };
        let counted = |value| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(Plan {
            symbol: TransposeKernel::SYMBOL,
            maps: [
                map("the input", [rows, columns], input, tile_rows)?,
                map("the output", [columns, rows], output, tile_columns)?,
            ],
            params: TransposeParams {
                scale,
                tiles_rows: counted(tiles_rows),
                tiles_columns: counted(tiles_columns),
            },
            grid: u32::try_from(tiles).unwrap_or(u32::MAX),
            threads: TransposeKernel::THREADS,
            shared_bytes: TRANSPOSE.shared_bytes(),
        })
    }
}
