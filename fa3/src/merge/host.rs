//! Merging on host slices.

use std::sync::Arc;

use super::{MergeOperands, MergePlan, MergeProblem};
use crate::host::pointer;
use crate::memory::{Buffer, zeros};
use crate::{Device, Element, Error, Place, Pointer, Result, StreamHandle, Tensor};

/// Partial results of the same rows, on the host.
#[derive(Clone, Copy, Debug)]
pub struct HostParts<'a, T> {
    shape: [usize; 5],
    o: &'a [T],
    lse: &'a [f32],
    sinks: Option<&'a [f32]>,
}

impl<'a, T: Element> HostParts<'a, T> {
    /// `shape` is `[parts, batch, sq, heads, dv]`; `o` has that shape, `lse` is `[parts, batch, heads, sq]`, both
    /// row-major.
    ///
    /// # Errors
    /// [`Error::Length`] unless the slices are as long as that says.
    pub fn new(shape: [usize; 5], o: &'a [T], lse: &'a [f32]) -> Result<Self> {
        let [parts, batch, sq, heads, dv] = shape;
        let exactly = |argument, given: usize, extents: &[usize]| {
            let needed = extents.iter().fold(1usize, |product, &extent| product.saturating_mul(extent));
            if given == needed {
                return Ok(());
            }
            Err(Error::Length { argument, given, needed, unit: "elements" })
        };
        exactly("o", o.len(), &[parts, batch, sq, heads, dv])?;
        exactly("lse", lse.len(), &[parts, batch, heads, sq])?;
        Ok(Self { shape, o, lse, sinks: None })
    }

    /// With one more logit a head, in the denominator only, that no part has counted.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are as many as heads.
    pub fn with_sinks(self, sinks: &'a [f32]) -> Result<Self> {
        let [_, _, _, needed, _] = self.shape;
        if sinks.len() == needed {
            return Ok(Self { sinks: Some(sinks), ..self });
        }
        Err(Error::Length { argument: "sinks", given: sinks.len(), needed, unit: "elements" })
    }
}

/// What a merge gives, on the host.
#[derive(Clone, Debug)]
pub struct Merged<O> {
    /// Row-major `[batch, sq, heads, dv]`.
    pub o: Vec<O>,
    /// `[batch, heads, sq]`.
    pub lse: Vec<f32>,
    /// What ran.
    pub plan: Arc<MergePlan>,
}

/// Merges partial results by their log-sum-exps on a device, from slices and back.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use fa3::{Device, HostParts, Merged, merge};
/// // Two parts of one row with one column: three keys of which saw 6 on average, and one key 2.
/// let (o, lse) = ([6.0f32, 2.0], [3f32.ln(), 0.0]);
/// let parts = HostParts::new([2, 1, 1, 1, 1], &o, &lse)?;
/// let merged: Merged<f32> = merge(&Device::cpu(), &parts)?;
/// assert!((merged.o[0] - 5.0).abs() < 1e-6);
/// assert!((merged.lse[0] - 4f32.ln()).abs() < 1e-6);
/// # }
/// # Ok::<(), fa3::Error>(())
/// ```
///
/// # Errors
/// Those of [`MergePlan::new`]; [`Error::Allocation`]; what the device reports.
pub fn merge<T: Element, O: Element>(device: &Device, parts: &HostParts<'_, T>) -> Result<Merged<O>> {
    let [count, batch, sq, heads, dv] = parts.shape;
    let problem = MergeProblem {
        sinks: parts.sinks.is_some(),
        ..MergeProblem::contiguous(count, T::DTYPE, O::DTYPE, [batch, sq, heads, dv])
    };
    // Refused before anything is allocated or copied.
    let plan = Arc::new(MergePlan::new(&device.target(), &problem)?);
    let (o_len, lse_len) = (problem.o.layout.span().unwrap_or(0), plan.dims().rows);
    let backend = device.backend();
    let run = |parts: Pointer, parts_lse: Pointer, o: Pointer, lse: Pointer, sinks: Option<Pointer>| {
        let tensor = |pointer, spec| Tensor { pointer, spec };
        let operands = MergeOperands {
            lse: Some(lse),
            sinks,
            ..MergeOperands::new(tensor(parts, problem.part), parts_lse, tensor(o, problem.o))
        };
        let binding = plan.bind(backend, &operands)?;
        // SAFETY: the memory is as large as the layouts say, initialised, and lives until the results are
        // read, which waits for the default stream.
        unsafe { binding.run(StreamHandle::DEFAULT) }
    };
    if backend.place() == Place::Host {
        let (mut o, mut lse) = (zeros::<O>(o_len)?, zeros::<f32>(lse_len)?);
        let sinks = parts.sinks.map(|sinks| pointer(sinks.as_ptr()));
        let (o_pointer, lse_pointer) = (pointer(o.as_mut_ptr()), pointer(lse.as_mut_ptr()));
        run(pointer(parts.o.as_ptr()), pointer(parts.lse.as_ptr()), o_pointer, lse_pointer, sinks)?;
        return Ok(Merged { o, lse, plan });
    }
    let upload = |bytes: &[u8]| Buffer::from_bytes(backend, bytes);
    let (o_parts, lse_parts) =
        (upload(bytemuck::cast_slice(parts.o))?, upload(bytemuck::cast_slice(parts.lse))?);
    let sinks = parts.sinks.map(|sinks| upload(bytemuck::cast_slice(sinks))).transpose()?;
    let o = Buffer::zeroed(backend, o_len.saturating_mul(size_of::<O>()))?;
    let lse = Buffer::zeroed(backend, lse_len.saturating_mul(4))?;
    let sinks = sinks.as_ref().map(Buffer::pointer);
    run(o_parts.pointer(), lse_parts.pointer(), o.pointer(), lse.pointer(), sinks)?;
    Ok(Merged { o: o.to_vec(o_len)?, lse: lse.to_vec(lse_len)?, plan: Arc::clone(&plan) })
}
