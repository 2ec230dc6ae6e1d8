//! The description of a tensor map.

use core::fmt;

use super::error::TensorMapError;
use super::rule::{Check, Limit, Rule, Value};
use super::rules;
use super::types::{DataType, Fill, Interleave, L2Promotion, Swizzle};

/// The most dimensions a tensor map has.
pub const MAX_RANK: usize = 5;

/// What one instruction copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A box of the tensor.
    Tiled {
        /// Elements traversed in each dimension, zero past the rank.
        box_extents: [u32; MAX_RANK],
    },
    /// Pixels of a convolution's input, gathered as columns of its matrix.
    Im2col(Im2col),
}

/// The pixels and channels of an im2col map, over a tensor of channels, 1 to 3 spatial dimensions
/// and a batch (innermost first: C, W, H, D, N).
///
/// Offset `i` of a corner belongs to tensor dimension `i + 1`, so the order is W, H, D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Im2col {
    lower_corner: [i32; MAX_RANK - 2],
    upper_corner: [i32; MAX_RANK - 2],
    /// Channels taken of each pixel.
    pub channels: u32,
    /// Pixels of a column.
    pub pixels: u32,
}

impl Im2col {
    /// The offsets of the box's lower corner from the tensor's, in pixels, zero past the rank.
    pub fn lower_corner(&self) -> &[i32; MAX_RANK - 2] {
        &self.lower_corner
    }

    /// The offsets of the box's upper corner from the tensor's, in pixels, zero past the rank.
    pub fn upper_corner(&self) -> &[i32; MAX_RANK - 2] {
        &self.upper_corner
    }
}

/// Everything that [`TensorMap`](super::TensorMap) holds but the address: one value for each
/// argument of `cuTensorMapEncodeTiled` or `cuTensorMapEncodeIm2col`.
///
/// Any description can be made whose arrays agree in length; whether the driver would take it is
/// what [`validate`](Self::validate) says. See the [module](super) for the order of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMapDesc {
    data_type: DataType,
    rank: usize,
    extents: [u64; MAX_RANK],
    strides: [u64; MAX_RANK - 1],
    element_strides: [u32; MAX_RANK],
    access: Access,
    interleave: Interleave,
    swizzle: Swizzle,
    l2_promotion: L2Promotion,
    fill: Fill,
}

impl TensorMapDesc {
    /// Boxes of `box_extents` elements over a tensor of `extents` elements, whose dimension `i + 1`
    /// has a stride of `strides[i]` bytes. Element strides are 1; no interleave, no swizzle, no L2
    /// promotion, zeros outside the tensor.
    ///
    /// ```
    /// use fa3_sys::tensormap::{DataType, TensorMapDesc};
    /// // 1000 rows of 64 half-precision elements, each 80 elements (160 bytes) after the last.
    /// let desc = TensorMapDesc::tiled(DataType::F16, &[64, 1000], &[160], &[64, 128])?;
    /// assert_eq!((desc.rank(), desc.strides()), (2, &[160][..]));
    /// assert_eq!(desc.box_bytes(), Some(64 * 128 * 2));
    /// # Ok::<(), fa3_sys::TensorMapError>(())
    /// ```
    ///
    /// # Errors
    /// [`Rule::Rank`] unless there are 1 to 5 extents, [`Rule::Lengths`] unless there is one stride
    /// fewer and as many box extents.
    pub fn tiled(
        data_type: DataType,
        extents: &[u64],
        strides: &[u64],
        box_extents: &[u32],
    ) -> Result<Self, TensorMapError> {
        TensorMapError::unless_holds(rules::rank(extents.len()))?;
        let box_extents = padded("boxDim", box_extents, extents.len(), 0)?;
        Self::new(data_type, extents, strides, Access::Tiled { box_extents })
    }

    /// [`tiled`](Self::tiled) over a tensor without padding: every stride is the one before times
    /// the extent. A stride too large for `u64` is `u64::MAX`, which validation refuses.
    ///
    /// ```
    /// use fa3_sys::tensormap::{DataType, TensorMapDesc};
    /// let desc = TensorMapDesc::contiguous(DataType::F32, &[64, 10, 3], &[32, 8, 1])?;
    /// assert_eq!(desc.strides(), [256, 2560]);
    /// # Ok::<(), fa3_sys::TensorMapError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`tiled`](Self::tiled).
    pub fn contiguous(
        data_type: DataType,
        extents: &[u64],
        box_extents: &[u32],
    ) -> Result<Self, TensorMapError> {
        let mut strides = [0; MAX_RANK - 1];
        let mut bits = u128::from(data_type.bits());
        for (stride, &extent) in strides.iter_mut().zip(extents) {
            bits = bits.saturating_mul(u128::from(extent));
            *stride = u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX);
        }
        let count = extents.len().saturating_sub(1).min(strides.len());
        Self::tiled(data_type, extents, strides.get(..count).unwrap_or_default(), box_extents)
    }

    /// Columns of `pixels` pixels with `channels` channels each, whose base pixels lie between the
    /// corners: the box reaches from `lower_corner` to the tensor's extent plus `upper_corner`
    /// (excluded) in each spatial dimension. The rest is as in [`tiled`](Self::tiled).
    ///
    /// ```
    /// use fa3_sys::tensormap::{DataType, TensorMapDesc};
    /// // NHWC [8, 56, 56, 64], a 3×3 filter with padding 1.
    /// let (extents, strides) = ([64, 56, 56, 8], [128, 7168, 401_408]);
    /// let desc = TensorMapDesc::im2col(DataType::F16, &extents, &strides, &[-1, -1], &[-1, -1], 64, 128)?;
    /// desc.validate_shape()?;
    /// assert_eq!(
    ///     desc.to_string(),
    ///     "im2col f16 [64, 56, 56, 8] strides [128, 7168, 401408] corners [-1, -1] [-1, -1] \
    ///      channels 64 pixels 128",
    /// );
    /// # Ok::<(), fa3_sys::TensorMapError>(())
    /// ```
    ///
    /// # Errors
    /// [`Rule::Rank`] and [`Rule::Lengths`], as in [`tiled`](Self::tiled); a corner has two offsets
    /// fewer than there are extents.
    pub fn im2col(
        data_type: DataType,
        extents: &[u64],
        strides: &[u64],
        lower_corner: &[i32],
        upper_corner: &[i32],
        channels: u32,
        pixels: u32,
    ) -> Result<Self, TensorMapError> {
        TensorMapError::unless_holds(rules::rank(extents.len()))?;
        let offsets = extents.len().saturating_sub(2);
        let access = Access::Im2col(Im2col {
            lower_corner: padded("pixelBoxLowerCorner", lower_corner, offsets, 0)?,
            upper_corner: padded("pixelBoxUpperCorner", upper_corner, offsets, 0)?,
            channels,
            pixels,
        });
        Self::new(data_type, extents, strides, access)
    }

    fn new(
        data_type: DataType,
        extents: &[u64],
        strides: &[u64],
        access: Access,
    ) -> Result<Self, TensorMapError> {
        let rank = extents.len();
        Ok(Self {
            data_type,
            rank,
            extents: padded("globalDim", extents, rank, 0)?,
            strides: padded("globalStrides", strides, rank.saturating_sub(1), 0)?,
            element_strides: [1; MAX_RANK],
            access,
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            l2_promotion: L2Promotion::None,
            fill: Fill::Zeros,
        })
    }

    /// Takes every `element_strides[i]`-th element in dimension `i`: of a box of `b` elements it
    /// loads `b / element_strides[i]`, rounded up. Without interleave, dimension 0 has none and its
    /// value, which must be legal, is ignored.
    ///
    /// # Errors
    /// [`Rule::Lengths`] unless there is one for each dimension.
    pub fn with_element_strides(mut self, element_strides: &[u32]) -> Result<Self, TensorMapError> {
        self.element_strides = padded("elementStrides", element_strides, self.rank, 1)?;
        Ok(self)
    }

    /// With this layout of channels.
    #[must_use]
    pub const fn with_interleave(mut self, interleave: Interleave) -> Self {
        self.interleave = interleave;
        self
    }

    /// With this order of chunks in shared memory.
    #[must_use]
    pub const fn with_swizzle(mut self, swizzle: Swizzle) -> Self {
        self.swizzle = swizzle;
        self
    }

    /// With this granularity of L2 fills.
    #[must_use]
    pub const fn with_l2_promotion(mut self, l2_promotion: L2Promotion) -> Self {
        self.l2_promotion = l2_promotion;
        self
    }

    /// With this value for elements outside the tensor.
    #[must_use]
    pub const fn with_fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    /// The type of an element.
    pub const fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The number of dimensions, 1 to 5.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Elements in each dimension, innermost first.
    pub fn extents(&self) -> &[u64] {
        self.extents.get(..self.rank).unwrap_or_default()
    }

    /// Bytes from one element to the next in dimensions 1 and up.
    pub fn strides(&self) -> &[u64] {
        self.strides.get(..self.rank.saturating_sub(1)).unwrap_or_default()
    }

    /// The step in each dimension, in elements.
    pub fn element_strides(&self) -> &[u32] {
        self.element_strides.get(..self.rank).unwrap_or_default()
    }

    /// What one instruction copies.
    pub const fn access(&self) -> &Access {
        &self.access
    }

    /// The layout of channels.
    pub const fn interleave(&self) -> Interleave {
        self.interleave
    }

    /// The order of chunks in shared memory.
    pub const fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// The granularity of L2 fills.
    pub const fn l2_promotion(&self) -> L2Promotion {
        self.l2_promotion
    }

    /// The value of elements outside the tensor.
    pub const fn fill(&self) -> Fill {
        self.fill
    }

    /// The box of a tiled map, innermost first; `None` for im2col.
    pub fn box_extents(&self) -> Option<&[u32]> {
        match &self.access {
            Access::Tiled { box_extents } => box_extents.get(..self.rank),
            Access::Im2col(_) => None,
        }
    }

    /// Shared memory that one copy fills, in bytes, which is also what its mbarrier must expect:
    /// elements outside the tensor are filled and count. `None` for an interleaved layout, whose
    /// dimension 0 is a slice of channels, and where the number does not fit.
    pub fn box_bytes(&self) -> Option<u64> {
        if self.interleave != Interleave::None {
            return None;
        }
        let elements = match &self.access {
            Access::Im2col(columns) => u64::from(columns.channels).checked_mul(u64::from(columns.pixels))?,
            Access::Tiled { .. } => {
                let sizes = self.box_extents()?.iter().zip(self.element_strides()).enumerate();
                sizes
                    .map(|(dim, (&size, &step))| size.div_ceil(if dim == 0 { 1 } else { step.max(1) }))
                    .try_fold(1_u64, |product, size| product.checked_mul(u64::from(size)))?
            }
        };
        elements.checked_mul(self.data_type.shared_bits()).map(|bits| bits.div_ceil(8))
    }
}

/// `values` in an array of which `fill` is the rest.
fn padded<T: Copy, const N: usize>(
    argument: &'static str,
    values: &[T],
    expected: usize,
    fill: T,
) -> Result<[T; N], TensorMapError> {
    let mut array = [fill; N];
    let number = |count: usize| i128::try_from(count).unwrap_or(i128::MAX);
    let expected = number(expected);
    TensorMapError::unless_holds(Check {
        rule: Rule::Lengths,
        argument,
        index: None,
        value: Value::Number(number(values.len())),
        limit: Limit::Range { min: expected, max: expected.min(number(N)) },
        granule: 1,
    })?;
    array.iter_mut().zip(values).for_each(|(slot, &value)| *slot = value);
    Ok(array)
}

/// One line, innermost dimension first, without the settings that are at their defaults.
impl fmt::Display for TensorMapDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.access {
            Access::Tiled { .. } => "tiled",
            Access::Im2col(_) => "im2col",
        };
        write!(f, "{mode} {} {:?}", self.data_type, self.extents())?;
        if self.rank > 1 {
            write!(f, " strides {:?}", self.strides())?;
        }
        match &self.access {
            Access::Tiled { .. } => write!(f, " box {:?}", self.box_extents().unwrap_or_default())?,
            Access::Im2col(columns) => {
                let offsets = ..self.rank.saturating_sub(2);
                let lower = columns.lower_corner.get(offsets).unwrap_or_default();
                let upper = columns.upper_corner.get(offsets).unwrap_or_default();
                write!(f, " corners {lower:?} {upper:?}")?;
                write!(f, " channels {} pixels {}", columns.channels, columns.pixels)?;
            }
        }
        if self.element_strides().iter().any(|&step| step != 1) {
            write!(f, " element strides {:?}", self.element_strides())?;
        }
        if self.interleave != Interleave::None {
            write!(f, " interleave {}", self.interleave)?;
        }
        if self.swizzle != Swizzle::None {
            write!(f, " swizzle {}", self.swizzle)?;
        }
        if self.l2_promotion != L2Promotion::None {
            write!(f, " L2 {}", self.l2_promotion)?;
        }
        if self.fill != Fill::Zeros {
            write!(f, " fill {}", self.fill)?;
        }
        Ok(())
    }
}
