//! Typed memory with guards.

use half::{bf16, f16};

use crate::{DType, Element, Layout, Pointer, Tensor, TensorSpec};

/// Elements of a type known at run time.
#[derive(Clone, Debug)]
pub enum Elements {
    /// binary32.
    F32(Vec<f32>),
    /// binary16.
    F16(Vec<f16>),
    /// bfloat16.
    Bf16(Vec<bf16>),
}

impl Elements {
    /// `len` elements of an unmistakable NaN.
    pub(super) fn poisoned(dtype: DType, len: usize) -> Self {
        match dtype {
            DType::F16 => Self::F16(vec![f16::from_bits(0x7e5a); len]),
            DType::Bf16 => Self::Bf16(vec![bf16::from_bits(0x7fda); len]),
            DType::F32 | DType::I32 => Self::F32(vec![f32::from_bits(0x7fda_5a5a); len]),
        }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        match self {
            Self::F32(_) => DType::F32,
            Self::F16(_) => DType::F16,
            Self::Bf16(_) => DType::Bf16,
        }
    }

    /// The memory.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(data) => bytemuck::cast_slice(data),
            Self::F16(data) => bytemuck::cast_slice(data),
            Self::Bf16(data) => bytemuck::cast_slice(data),
        }
    }

    /// The memory, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::F32(data) => bytemuck::cast_slice_mut(data),
            Self::F16(data) => bytemuck::cast_slice_mut(data),
            Self::Bf16(data) => bytemuck::cast_slice_mut(data),
        }
    }

    /// The elements, when `T` is their type.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if T::DTYPE == self.dtype() { bytemuck::try_cast_slice(self.bytes()).ok() } else { None }
    }

    fn get(&self, index: usize) -> f64 {
        match self {
            Self::F32(data) => f64::from(data[index]),
            Self::F16(data) => data[index].to_f64(),
            Self::Bf16(data) => data[index].to_f64(),
        }
    }
}

/// A tensor in memory that is NaN before it, after it, and between its rows.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The memory, guards included.
    pub elements: Elements,
    /// Where the tensor begins, in elements; a multiple of 16 bytes.
    pub first: usize,
    /// The tensor's layout.
    pub layout: Layout,
}

impl Buffer {
    /// Elements before and after the tensor, at least: two rows of four heads.
    pub(super) const GUARD: usize = 2048;

    /// A tensor all NaN, which begins `offset` bytes after a multiple of 128.
    pub(super) fn poisoned(dtype: DType, layout: Layout, offset: usize) -> Self {
        let first = Self::GUARD + offset / dtype.size();
        let len = first + layout.span().unwrap_or(0) + Self::GUARD;
        Self { elements: Elements::poisoned(dtype, len), first, layout }
    }

    /// Sets the elements of which `wanted(batch, token)` holds, in the order `[batch, sequence,
    /// heads, dim]`, to `value(token)`.
    pub(super) fn fill(
        &mut self,
        wanted: impl Fn(usize, usize) -> bool,
        mut value: impl FnMut(usize) -> f32,
    ) {
        let (first, layout) = (self.first, self.layout);
        match &mut self.elements {
            Elements::F32(data) => fill(&mut data[first..], &layout, wanted, value),
            Elements::F16(data) => {
                fill(&mut data[first..], &layout, wanted, |token| f16::from_f32(value(token)));
            }
            Elements::Bf16(data) => {
                fill(&mut data[first..], &layout, wanted, |token| bf16::from_f32(value(token)));
            }
        }
    }

    /// The type and layout.
    pub fn spec(&self) -> TensorSpec {
        TensorSpec { dtype: self.elements.dtype(), layout: self.layout }
    }

    /// The tensor, given where the buffer's bytes lie.
    pub fn tensor(&self, base: Pointer) -> Tensor {
        let offset = (self.first * self.elements.dtype().size()) as u64;
        let pointer = Pointer { address: base.address.wrapping_add(offset), place: base.place };
        Tensor { pointer, spec: self.spec() }
    }

    /// The tensor's elements from the first on, when `T` is their type.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        self.elements.as_slice()?.get(self.first..)
    }

    /// The elements in the order `[batch, sequence, heads, dim]`.
    pub fn values(&self) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.layout.shape.iter().product());
        for_each_offset(&self.layout, |_, _, offset| values.push(self.elements.get(self.first + offset)));
        values
    }

    /// The first element outside the layout that is no longer what it was, counted from the
    /// tensor's first element.
    pub(super) fn written_outside(&self) -> Option<isize> {
        let size = self.elements.dtype().size();
        let bytes = self.elements.bytes();
        let mut inside = vec![false; bytes.len() / size];
        for_each_offset(&self.layout, |_, _, offset| inside[self.first + offset] = true);
        let fresh = Elements::poisoned(self.elements.dtype(), 1);
        let changed = |index: usize| bytes[index * size..(index + 1) * size] != *fresh.bytes();
        let index = (0..inside.len()).find(|&index| !inside[index] && changed(index))?;
        Some(index as isize - self.first as isize)
    }
}

fn fill<T>(
    data: &mut [T],
    layout: &Layout,
    wanted: impl Fn(usize, usize) -> bool,
    mut value: impl FnMut(usize) -> T,
) {
    for_each_offset(layout, |batch, token, offset| {
        if wanted(batch, token) {
            data[offset] = value(token);
        }
    });
}

/// Calls `f(batch, token, offset)` for each element in the order `[batch, sequence, heads, dim]`.
fn for_each_offset(layout: &Layout, mut f: impl FnMut(usize, usize, usize)) {
    let ([batch, sequence, heads, dim], [sb, ss, sh, sd]) = (layout.shape, layout.strides);
    for b in 0..batch {
        for s in 0..sequence {
            for h in 0..heads {
                for d in 0..dim {
                    f(b, s, b * sb + s * ss + h * sh + d * sd);
                }
            }
        }
    }
}
