//! C = A·Bᵀ + bias.

use fa3_sys::tensormap::{DataType, Swizzle, TensorMapDesc};

use crate::params::GemmParams;
use crate::{GEMM, GemmKernel, MOST, Plan, PlanError, check_stride, checked, padded};

/// A product of row-major matrices in bf16, sums in f32: A is m×k, B is n×k, C is m×n, and the bias, in
/// f32, has a value for each column of C.
///
/// ```
/// use fa3_tma_examples::Gemm;
///
/// let plan = Gemm { bias: true, ..Gemm::new(300, 500, 72) }.plan(132)?;
/// assert_eq!((plan.grid, plan.threads), (3 * 2, 384));
///
/// let error = Gemm::new(300, 500, 70).plan(132).unwrap_err();
/// assert_eq!(error.to_string(), "k = 70, but it has to be a multiple of 8, from 8 to 2³¹ − 1024");
/// # Ok::<(), fa3_tma_examples::PlanError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// Rows of A and of C.
    pub m: u64,
    /// Rows of B, columns of C.
    pub n: u64,
    /// Columns of A and of B, a multiple of 8.
    pub k: u64,
    /// Whether there is a bias.
    pub bias: bool,
    /// Elements from one row of A, B and C to the next: multiples of 8. Rows of A and of B may overlap. What lies between the end of a
    /// row of C and the next multiple of 8 elements is written too.
    pub strides: [u64; 3],
}

/// A CTA's next tile is counted in 31 bits, too, past the last one.
const MOST_CTAS: u32 = 1024;

/// Rows of tiles that are worked on together: with the columns that CTAs then share, A and B are read
/// from L2. On an H200, TFLOP/s at 8192³: 16 rows 661, 8 rows 657; at 4096³ 629 and 632.
const BAND: u32 = 16;

impl Gemm {
    /// Without a bias, rows one after the other but for the padding to a multiple of 8 elements.
    pub const fn new(m: u64, n: u64, k: u64) -> Self {
        Self { m, n, k, bias: false, strides: [k, k, padded(n)] }
    }

    /// The launch on a GPU of `sms` SMs.
    ///
    /// # Errors
    /// [`PlanError`]: an extent is zero or too large, `k` or a stride is no multiple of 8, or rows
    /// of C overlap.
    pub fn plan(&self, sms: u32) -> Result<Plan<GemmParams, 4>, PlanError> {
        let GemmKernel { tile_m, tile_n, .. } = GEMM;
        let Self { m, n, k, bias, strides: [stride_a, stride_b, stride_c] } = *self;
        for (argument, value) in [("m", m), ("n", n)] {
            PlanError::unless((1..=MOST).contains(&value), argument, value, "1 to 2³¹ − 1024")?;
        }
        let whole = k.is_multiple_of(8) && (8..=MOST).contains(&k);
        PlanError::unless(whole, "k", k, "a multiple of 8, from 8 to 2³¹ − 1024")?;
        for (argument, stride) in
            [("strides[0]", stride_a), ("strides[1]", stride_b), ("strides[2]", stride_c)]
        {
            check_stride(argument, stride)?;
        }
        PlanError::unless(stride_c >= n, "strides[2]", stride_c, "at least n, lest rows of C overlap")?;
        let tiles_m = u32::try_from(m.div_ceil(tile_m.into())).unwrap_or(u32::MAX);
        let tiles_n = u32::try_from(n.div_ceil(tile_n.into())).unwrap_or(u32::MAX);
        let tiles = u64::from(tiles_m) * u64::from(tiles_n);
        PlanError::unless(tiles <= MOST, "m·n in tiles of 128×256", tiles, "at most 2³¹ − 1024")?;
        let map = |matrix, rows, columns, stride: u64, box_rows| {
            let strides = [stride.saturating_mul(2)];
            let desc = TensorMapDesc::tiled(DataType::Bf16, &[columns, rows], &strides, &[64, box_rows]);
            checked(matrix, desc.map(|desc| desc.with_swizzle(Swizzle::Bytes128)))
        };
        let bias_map = checked("bias", TensorMapDesc::tiled(DataType::F32, &[n], &[], &[tile_n]))?;
        Ok(Plan {
            symbol: GemmKernel::SYMBOL,
            maps: [
                map("A", m, k, stride_a, tile_m)?,
                map("B", n, k, stride_b, tile_n)?,
                bias_map,
                map("C", m, n, stride_c, 64)?,
            ],
            params: GemmParams {
                k: counted(k),
                tiles_m: counted(tiles_m.into()),
                tiles_n: counted(tiles_n.into()),
                band: counted(BAND.into()),
                has_bias: i32::from(bias),
            },
            grid: u32::try_from(tiles).unwrap_or(u32::MAX).min(sms.clamp(1, MOST_CTAS)),
            threads: GemmKernel::THREADS,
            shared_bytes: GEMM.shared_bytes(),
        })
    }
}

/// At most [`MOST`].
fn counted(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
