//! Tensors that own their memory, and attention on them.

use core::marker::PhantomData;
use std::sync::Arc;

use crate::memory::{Buffer, zeros};
use crate::{
    Device, DeviceInputs, Element, Error, Layout, Operands, Options, Plan, Problem, Result, Sequences,
    StreamHandle, Tensor, TensorSpec, Workspace,
};

/// A tensor in a device's memory, row-major `[batch, sequence, heads, dim]`, freed when dropped.
/// All that is done with it is ordered on the device's default stream.
#[derive(Debug)]
pub struct DeviceTensor<T> {
    buffer: Buffer,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T: Element> DeviceTensor<T> {
    /// Copies `data` to the device.
    ///
    /// # Errors
    /// [`Error::Length`] unless `data` has as many elements as `shape` says; [`Error::Allocation`].
    pub fn upload(device: &Device, shape: [usize; 4], data: &[T]) -> Result<Self> {
        let layout = Layout::contiguous(shape);
        let needed = elements(shape)?;
        if data.len() != needed {
            return Err(Error::Length { argument: "data", given: data.len(), needed, unit: "elements" });
        }
        let buffer = Buffer::from_bytes(device.backend(), bytemuck::cast_slice(data))?;
        Ok(Self { buffer, layout, element: PhantomData })
    }

    /// All zero.
    ///
    /// # Errors
    /// [`Error::Argument`] when the shape's product overflows; [`Error::Allocation`].
    pub fn zeros(device: &Device, shape: [usize; 4]) -> Result<Self> {
        let bytes = elements(shape)?.saturating_mul(size_of::<T>());
        let buffer = Buffer::zeroed(device.backend(), bytes)?;
        Ok(Self { buffer, layout: Layout::contiguous(shape), element: PhantomData })
    }

    /// `[batch, sequence, heads, dim]`.
    pub fn shape(&self) -> [usize; 4] {
        self.layout.shape
    }

    /// The tensor as plans and bindings take it; valid while `self` lives.
    pub fn tensor(&self) -> Tensor {
        let spec = TensorSpec { dtype: T::DTYPE, layout: self.layout };
        Tensor { pointer: self.buffer.pointer(), spec }
    }

    /// Copies it to the host, after all that was started on the device.
    ///
    /// # Errors
    /// [`Error::Fault`] when work on the device failed; else what the backend reports.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.buffer.to_vec(elements(self.layout.shape)?)
    }
}

/// The number of elements of a tensor whose bytes are addressable.
fn elements(shape: [usize; 4]) -> Result<usize> {
    let product = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    product.filter(|&product| product <= i64::MAX as usize / 8).ok_or_else(|| {
        Error::argument(
            "shape",
            format!("{shape:?}"),
            "its product must be addressable",
            "pass smaller extents",
        )
    })
}

/// What attention gives on a device.
#[derive(Debug)]
pub struct DeviceOutput<T> {
    /// `[batch, sq, heads_q, dv]`.
    pub o: DeviceTensor<T>,
    /// The log-sum-exp, f32 `[batch, heads_q, sq]`.
    pub lse: Buffer,
    /// What ran.
    pub plan: Arc<Plan>,
}

impl<T> DeviceOutput<T> {
    /// Copies the log-sum-exp to the host, after all that was started on the device.
    ///
    /// # Errors
    /// [`Error::Fault`] when work on the device failed; else what the backend reports.
    pub fn lse_to_vec(&self) -> Result<Vec<f32>> {
        self.lse.to_vec(self.plan.dims().lse_len)
    }
}

impl Device {
    /// `softmax(q·kᵀ·scale, masked)·v` on tensors of this device, into new ones. Starts the work
    /// and returns; reading the result waits for it.
    ///
    /// ```
    /// # #[cfg(feature = "cpu")] {
    /// use fa3::{Device, DeviceTensor, Options};
    /// let device = Device::cpu();
    /// let q = DeviceTensor::upload(&device, [1, 1, 1, 2], &[1.0f32, 0.0])?;
    /// let k = DeviceTensor::upload(&device, [1, 2, 1, 2], &[0.0, 1.0, 0.0, -1.0])?;
    /// let v = DeviceTensor::upload(&device, [1, 2, 1, 1], &[4.0, 8.0])?;
    /// let output = device.attention(&q, &k, &v, &Options::default())?;
    /// assert_eq!(output.o.to_vec()?, [6.0]);
    /// # }
    /// # Ok::<(), fa3::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Plan::forward`] and [`Plan::bind`]; [`Error::WrongPlace`] for tensors of another
    /// device.
    pub fn attention<T: Element>(
        &self,
        q: &DeviceTensor<T>,
        k: &DeviceTensor<T>,
        v: &DeviceTensor<T>,
        options: &Options,
    ) -> Result<DeviceOutput<T>> {
        self.attention_with(&DeviceInputs::new(q, k, v), options)
    }

    /// Computes into a new O, its heads `dv` wide, and a new LSE; those of `operands` are ignored.
    pub(crate) fn attend<T: Element>(
        &self,
        operands: &Operands,
        dv: usize,
        sequences: Sequences,
        options: &Options,
    ) -> Result<DeviceOutput<T>> {
        let [batch, sq, heads, _] = operands.q.spec.layout.shape;
        let shape = [batch, sq, heads, dv];
        let mut operands = *operands;
        operands.o.spec = TensorSpec { dtype: T::DTYPE, layout: Layout::contiguous(shape) };
        // Refused before anything is allocated.
        self.plan(&Problem { lse: true, ..operands.problem(sequences, *options) })?;
        let o = DeviceTensor::zeros(self, shape)?;
        let rows = elements([batch, heads, sq, 1])?;
        let lse = Buffer::zeroed(self.backend(), rows.saturating_mul(4))?;
        operands.o = o.tensor();
        operands.lse = Some(lse.pointer());
        let plan = self.run(&operands, sequences, options)?;
        Ok(DeviceOutput { o, lse, plan })
    }

    /// Plans, binds and runs on the default stream.
    pub(crate) fn run(
        &self,
        operands: &Operands,
        sequences: Sequences,
        options: &Options,
    ) -> Result<Arc<Plan>> {
        let plan = self.plan(&operands.problem(sequences, *options))?;
        let binding = plan.bind(self.backend(), operands, Workspace::Own)?;
        // SAFETY: the callers pass allocations of the layouts' sizes, which stay alive: they are
        // freed in the order of the default stream or after it. Everything is ordered on that
        // stream, which lives as long as the device; the backend outlives its allocations, and
        // frees a workspace only when the device is done with it.
        unsafe { binding.run(StreamHandle::DEFAULT)? };
        Ok(plan)
    }
}

impl Buffer {
    /// Allocates a copy of host bytes.
    ///
    /// # Errors
    /// [`Error::Allocation`]; what the backend reports.
    pub fn from_bytes(backend: &Arc<dyn crate::Backend>, data: &[u8]) -> Result<Self> {
        let buffer = Self::new(backend, data.len())?;
        // SAFETY: the allocation has that many bytes, and nothing else knows it yet.
        unsafe { backend.upload(buffer.pointer(), data, StreamHandle::DEFAULT)? };
        Ok(buffer)
    }

    /// Allocates bytes that are all zero.
    ///
    /// # Errors
    /// [`Error::Allocation`]; what the backend reports.
    pub fn zeroed(backend: &Arc<dyn crate::Backend>, bytes: usize) -> Result<Self> {
        let buffer = Self::new(backend, bytes)?;
        // SAFETY: the allocation has that many bytes, and nothing else knows it yet.
        unsafe { backend.fill(buffer.pointer(), 0, bytes, StreamHandle::DEFAULT)? };
        Ok(buffer)
    }

    /// Copies `len` values from its start to the host, after all on the default stream.
    pub(crate) fn to_vec<T: bytemuck::Pod>(&self, len: usize) -> Result<Vec<T>> {
        let needed = len.saturating_mul(size_of::<T>());
        if needed > self.bytes() {
            return Err(Error::Length { argument: "buffer", given: self.bytes(), needed, unit: "bytes" });
        }
        let mut data = zeros::<T>(len)?;
        let bytes = bytemuck::cast_slice_mut(&mut data);
        // SAFETY: the allocation has at least that many bytes, initialised when it was made; what
        // writes it is ordered before this on the default stream.
        unsafe { self.backend().download(bytes, self.pointer(), StreamHandle::DEFAULT)? };
        Ok(data)
    }
}
