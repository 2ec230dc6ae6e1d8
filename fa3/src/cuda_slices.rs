//! Attention on `cudarc`'s slices and streams.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use fa3_sys::driver::Context;

use crate::{
    Backend, CudaBackend, Element, Error, Operands, Plan, Pointer, Result, StreamHandle, Tensor, TensorSpec,
    Workspace,
};

/// The operands of a dense forward call as slices or views of `cudarc`, each beginning at the
/// tensor's first element.
pub struct CudaSlices<'a, T> {
    /// Laid out as the plan's `q`.
    pub q: &'a dyn DevicePtr<T>,
    /// Laid out as the plan's `k`.
    pub k: &'a dyn DevicePtr<T>,
    /// Laid out as the plan's `v`.
    pub v: &'a dyn DevicePtr<T>,
    /// Laid out as the plan's `o`; written.
    pub o: &'a mut dyn DevicePtrMut<T>,
    /// `[batch, heads_q, sq]`, where the plan wants it; written.
    pub lse: Option<&'a mut dyn DevicePtrMut<f32>>,
}

impl CudaBackend {
    /// On the device of a `cudarc` stream, in the same context.
    ///
    /// # Errors
    /// [`Error::Driver`] for a device without kernels.
    pub fn of_stream(stream: &CudaStream) -> Result<Self> {
        Ok(Self::new(Context::from_cudarc(Arc::clone(stream.context()))?))
    }
}

impl Plan {
    /// Binds the plan to slices and starts it on `stream`. What `cudarc` tracks of the
    /// slices' readers and writers on other streams holds for this work too.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use cudarc::driver::CudaContext;
    /// use fa3::{Backend, CudaBackend, CudaSlices, DType, Options, Plan, Problem, Sizes};
    /// use half::bf16;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let len = 4096 * 16 * 128;
    /// let (q, k, v) = (stream.alloc_zeros::<bf16>(len)?, stream.alloc_zeros(len)?, stream.alloc_zeros(len)?);
    /// let mut o = stream.alloc_zeros::<bf16>(len)?;
    /// let backend = Arc::new(CudaBackend::of_stream(&stream)?);
    /// let problem = Problem::dense(DType::Bf16, Sizes::new(1, 4096, 16, 128), Options::default());
    /// let problem = Problem { lse: false, ..problem };
    /// let plan = Arc::new(Plan::forward(&backend.target(), &problem)?);
    /// plan.run_slices(&backend, &stream, CudaSlices { q: &q, k: &k, v: &v, o: &mut o, lse: None })?;
    /// let host = stream.clone_dtoh(&o)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] for a slice shorter than its layout spans; [`Error::Backend`] for a stream
    /// of another device; [`Error::OperandMissing`] for sequences of unequal length, sinks and
    /// ALiBi, which [`Plan::bind`] takes as pointers; those of [`Plan::bind`].
    pub fn run_slices<T: Element>(
        self: &Arc<Self>,
        backend: &Arc<CudaBackend>,
        stream: &CudaStream,
        slices: CudaSlices<'_, T>,
    ) -> Result<()> {
        if stream.context().cu_ctx() != backend.context().cudarc().cu_ctx() {
            return Err(Error::Backend {
                backend: "cuda",
                request: format!("run on a stream of device {}", stream.context().ordinal()),
                remedy: "make the backend with `CudaBackend::of_stream`",
            });
        }
        let problem = self.problem();
        let long_enough = |argument, given: usize, needed: Option<usize>| match needed {
            Some(needed) if given >= needed => Ok(()),
            needed => {
                let needed = needed.unwrap_or(usize::MAX);
                Err(Error::Length { argument, given, needed, unit: "elements" })
            }
        };
        long_enough("q", slices.q.len(), problem.q.layout.span())?;
        long_enough("k", slices.k.len(), problem.k.layout.span())?;
        long_enough("v", slices.v.len(), problem.v.layout.span())?;
        long_enough("o", slices.o.len(), problem.o.layout.span())?;
        if let Some(lse) = &slices.lse {
            long_enough("lse", lse.len(), Some(self.dims().lse_len))?;
        }
        // The guards record, when dropped after the launch, that the stream uses the slices.
        let (q, _q) = slices.q.device_ptr(stream);
        let (k, _k) = slices.k.device_ptr(stream);
        let (v, _v) = slices.v.device_ptr(stream);
        let (o, _o) = slices.o.device_ptr_mut(stream);
        let lse = slices.lse.map(|lse| lse.device_ptr_mut(stream));
        let place = backend.place();
        let pointer = |address| Pointer { address, place };
        let tensor = |address, spec: TensorSpec| {
            let spec = TensorSpec { dtype: T::DTYPE, ..spec };
            Tensor { pointer: pointer(address), spec }
        };
        let operands = Operands {
            lse: lse.as_ref().map(|(address, _)| pointer(*address)),
            ..Operands::new(
                tensor(q, problem.q),
                tensor(k, problem.k),
                tensor(v, problem.v),
                tensor(o, problem.o),
            )
        };
        let shared: Arc<dyn Backend> = Arc::clone(backend) as _;
        let binding = self.bind(&shared, &operands, Workspace::Own)?;
        // SAFETY: the slices are as long as the layouts span and of this context; the borrows and
        // the guards keep them alive and unshared until the work is on the stream, after which
        // `cudarc` orders their next use and their release. The stream is borrowed. A workspace is
        // freed, and the kernel unloaded, only when the device is done with them.
        unsafe { binding.run(StreamHandle::from_raw(stream.cu_stream() as usize as u64)) }
    }
}
