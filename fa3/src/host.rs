//! Attention on host slices: uploaded, computed, downloaded.

use std::sync::Arc;

use crate::lengths::{self, Lengths};
use crate::memory::{Buffer, zeros};
use crate::{
    Device, Element, Error, Layout, Operands, Options, Place, Plan, Pointer, Problem, Result, Sequences,
    Tensor, TensorSpec,
};

/// A tensor in a slice.
#[derive(Clone, Copy, Debug)]
pub struct HostTensor<'a, T> {
    data: &'a [T],
    layout: Layout,
}

impl<'a, T: Element> HostTensor<'a, T> {
    /// Row-major `[batch, sequence, heads, dim]`.
    ///
    /// # Errors
    /// [`Error::Length`] unless `data` has as many elements as `shape` says.
    pub fn new(shape: [usize; 4], data: &'a [T]) -> Result<Self> {
        let tensor = Self::strided(Layout::contiguous(shape), data)?;
        let needed = tensor.layout.span().unwrap_or(usize::MAX);
        if data.len() == needed {
            return Ok(tensor);
        }
        Err(Error::Length { argument: "data", given: data.len(), needed, unit: "elements" })
    }

    /// Of any layout, the first element at the start of `data`.
    ///
    /// # Errors
    /// [`Error::Length`] when `data` is shorter than the layout spans.
    pub fn strided(layout: Layout, data: &'a [T]) -> Result<Self> {
        let needed = layout.span().unwrap_or(usize::MAX);
        if data.len() >= needed {
            return Ok(Self { data, layout });
        }
        Err(Error::Length { argument: "data", given: data.len(), needed, unit: "elements" })
    }

    /// The elements that the layout spans, the first at the start.
    pub fn data(&self) -> &'a [T] {
        let data: &'a [T] = self.data;
        let span = self.layout.span().unwrap_or(0);
        data.get(..span).unwrap_or(data)
    }

    fn spec(&self) -> TensorSpec {
        TensorSpec { dtype: T::DTYPE, layout: self.layout }
    }
}

/// How the sequences of a batch lie in host tensors.
#[derive(Clone, Copy, Debug, Default)]
pub enum HostSequences<'a> {
    /// Every sequence of full length.
    #[default]
    Dense,
    /// `[batch]`: how many keys each sequence uses.
    UsedKeys(&'a [i32]),
    /// `[count + 1]` each, rising from 0 to the totals: where each sequence begins and ends.
    Packed {
        /// In Q and O.
        cu_q: &'a [i32],
        /// In K and V.
        cu_k: &'a [i32],
    },
}

/// The inputs of [`attention_with`].
#[derive(Clone, Copy, Debug)]
pub struct HostInputs<'a, T> {
    /// `[batch, sq, heads_q, d]`.
    pub q: HostTensor<'a, T>,
    /// `[batch, sk, heads_k, d]`.
    pub k: HostTensor<'a, T>,
    /// `[batch, sk, heads_k, dv]`.
    pub v: HostTensor<'a, T>,
    /// How the sequences lie in the tensors.
    pub sequences: HostSequences<'a>,
    /// `[heads_q]`: one more logit a head, in the denominator only.
    pub sinks: Option<&'a [f32]>,
    /// `[heads_q]`: ALiBi slopes.
    pub alibi: Option<&'a [f32]>,
}

impl<'a, T: Element> HostInputs<'a, T> {
    /// Three dense tensors.
    pub fn new(q: HostTensor<'a, T>, k: HostTensor<'a, T>, v: HostTensor<'a, T>) -> Self {
        Self { q, k, v, sequences: HostSequences::Dense, sinks: None, alibi: None }
    }

    /// The problem that the inputs pose, O contiguous and the LSE wanted.
    ///
    /// # Errors
    /// [`Error::Argument`] when shapes, options or lengths break a rule, [`Error::Length`] when an
    /// array is not as long as the shapes say.
    pub fn problem(&self, options: &Options) -> Result<Problem> {
        let ([batch, sq, heads, _], [.., dv]) = (self.q.layout.shape, self.v.layout.shape);
        let layout = Layout::contiguous([batch, sq, heads, dv]);
        let problem = Problem {
            q: self.q.spec(),
            k: self.k.spec(),
            v: self.v.spec(),
            o: TensorSpec { dtype: T::DTYPE, layout },
            lse: true,
            sinks: self.sinks.is_some(),
            alibi: self.alibi.is_some(),
            sequences: self.sequences.describe()?,
            options: *options,
        };
        if problem.sequences != Sequences::Dense {
            // Before the longest sequences are judged, which were found from the offsets.
            let (used_k, cu_q, cu_k) = self.sequences.arrays();
            lengths::sequences(&problem, Lengths { used_k, cu_q, cu_k })?;
        }
        let dims = problem.dims()?;
        let exactly = |argument, values: Option<usize>, needed| match values {
            Some(given) if given != needed => {
                Err(Error::Length { argument, given, needed, unit: "elements" })
            }
            _ => Ok(()),
        };
        exactly("sinks", self.sinks.map(<[f32]>::len), dims.heads_q)?;
        exactly("alibi", self.alibi.map(<[f32]>::len), dims.heads_q)?;
        Ok(problem)
    }
}

impl HostSequences<'_> {
    fn describe(&self) -> Result<Sequences> {
        let longest = |cu: &[i32]| {
            let lengths =
                cu.iter().zip(cu.iter().skip(1)).map(|(&start, &end)| i64::from(end) - i64::from(start));
            lengths.max().and_then(|length| usize::try_from(length).ok()).unwrap_or(0)
        };
        match self {
            Self::Dense => Ok(Sequences::Dense),
            Self::UsedKeys(_) => Ok(Sequences::UsedKeys),
            Self::Packed { cu_q, cu_k } => {
                let (given, needed) = (cu_k.len(), cu_q.len());
                if given != needed {
                    return Err(Error::Length { argument: "cu_k", given, needed, unit: "elements" });
                }
                let count = needed.saturating_sub(1);
                Ok(Sequences::Packed { count, max_q: longest(cu_q), max_k: longest(cu_k) })
            }
        }
    }
}

/// What attention gives, on the host.
#[derive(Clone, Debug)]
pub struct Output<T> {
    /// Row-major `[batch, sq, heads_q, dv]`.
    pub o: Vec<T>,
    /// The log-sum-exp, `[batch, heads_q, sq]`, or `[heads_q, total]` for packed sequences.
    pub lse: Vec<f32>,
    /// What ran.
    pub plan: Arc<Plan>,
}

/// `softmax(q·kᵀ·scale, masked)·v` on a device, from slices and back.
///
/// ```
/// # #[cfg(feature = "cpu")] {
/// use fa3::{Device, HostTensor, Options, attention};
/// let q = HostTensor::new([1, 1, 1, 2], &[1.0f32, 0.0])?;
/// let k = HostTensor::new([1, 2, 1, 2], &[0.0, 1.0, 0.0, -1.0])?;
/// let v = HostTensor::new([1, 2, 1, 1], &[4.0, 8.0])?;
/// let output = attention(&Device::cpu(), q, k, v, &Options::default())?;
/// assert_eq!(output.o, [6.0]);
/// assert!((output.lse[0] - 2f32.ln()).abs() < 1e-6);
/// # }
/// # Ok::<(), fa3::Error>(())
/// ```
///
/// # Errors
/// Those of [`Plan::forward`]; [`Error::Allocation`]; [`Error::Fault`] when the kernel failed.
pub fn attention<'a, T: Element>(
    device: &Device,
    q: HostTensor<'a, T>,
    k: HostTensor<'a, T>,
    v: HostTensor<'a, T>,
    options: &Options,
) -> Result<Output<T>> {
    attention_with(device, &HostInputs::new(q, k, v), options)
}

/// [`attention`] with sequences of unequal length, sinks and ALiBi.
///
/// # Errors
/// Those of [`attention`] and [`HostInputs::problem`].
pub fn attention_with<T: Element>(
    device: &Device,
    inputs: &HostInputs<'_, T>,
    options: &Options,
) -> Result<Output<T>> {
    let problem = inputs.problem(options)?;
    // Refused before anything is allocated or copied.
    let plan = device.plan(&problem)?;
    if device.backend().place() == Place::Host {
        return in_place(device, inputs, &problem, options);
    }
    let backend = device.backend();
    let upload = |tensor: &HostTensor<'_, T>| -> Result<(Buffer, Tensor)> {
        let buffer = Buffer::from_bytes(backend, bytemuck::cast_slice(tensor.data()))?;
        let pointer = buffer.pointer();
        Ok((buffer, Tensor { pointer, spec: tensor.spec() }))
    };
    let (_q, q) = upload(&inputs.q)?;
    let (_k, k) = upload(&inputs.k)?;
    let (_v, v) = upload(&inputs.v)?;
    let o_len = plan.problem().o.layout.span().unwrap_or(0);
    let o_buffer = Buffer::zeroed(backend, o_len.saturating_mul(size_of::<T>()))?;
    let lse_buffer = Buffer::zeroed(backend, plan.dims().lse_len.saturating_mul(4))?;
    let o = Tensor { pointer: o_buffer.pointer(), spec: problem.o };
    let mut arrays = Vec::new();
    let mut array = |bytes: Option<&[u8]>| -> Result<Option<Pointer>> {
        let Some(bytes) = bytes else { return Ok(None) };
        let buffer = Buffer::from_bytes(backend, bytes)?;
        let pointer = buffer.pointer();
        arrays.push(buffer);
        Ok(Some(pointer))
    };
    let (used_k, cu_q, cu_k) = inputs.sequences.arrays();
    let operands = Operands {
        lse: Some(lse_buffer.pointer()),
        sinks: array(inputs.sinks.map(bytemuck::cast_slice))?,
        alibi: array(inputs.alibi.map(bytemuck::cast_slice))?,
        used_k: array(used_k.map(bytemuck::cast_slice))?,
        cu_q: array(cu_q.map(bytemuck::cast_slice))?,
        cu_k: array(cu_k.map(bytemuck::cast_slice))?,
        ..Operands::new(q, k, v, o)
    };
    let plan = device.run(&operands, problem.sequences, options)?;
    let (o, lse) = (o_buffer.to_vec(o_len)?, lse_buffer.to_vec(plan.dims().lse_len)?);
    Ok(Output { o, lse, plan })
}

/// On the CPU the slices are the operands.
fn in_place<T: Element>(
    device: &Device,
    inputs: &HostInputs<'_, T>,
    problem: &Problem,
    options: &Options,
) -> Result<Output<T>> {
    let dims = problem.dims()?;
    let mut o = zeros::<T>(problem.o.layout.span().unwrap_or(0))?;
    let mut lse = zeros::<f32>(dims.lse_len)?;
    let (used_k, cu_q, cu_k) = inputs.sequences.arrays();
    let tensor =
        |tensor: &HostTensor<'_, T>| Tensor { pointer: pointer(tensor.data.as_ptr()), spec: tensor.spec() };
    let o_tensor = Tensor { pointer: pointer(o.as_mut_ptr()), spec: problem.o };
    let operands = Operands {
        lse: Some(pointer(lse.as_mut_ptr())),
        sinks: inputs.sinks.map(|values| pointer(values.as_ptr())),
        alibi: inputs.alibi.map(|values| pointer(values.as_ptr())),
        used_k: used_k.map(|values| pointer(values.as_ptr())),
        cu_q: cu_q.map(|values| pointer(values.as_ptr())),
        cu_k: cu_k.map(|values| pointer(values.as_ptr())),
        ..Operands::new(tensor(&inputs.q), tensor(&inputs.k), tensor(&inputs.v), o_tensor)
    };
    let plan = device.run(&operands, problem.sequences, options)?;
    Ok(Output { o, lse, plan })
}

pub(crate) fn pointer<T>(first: *const T) -> Pointer {
    Pointer { address: first.expose_provenance() as u64, place: Place::Host }
}

type Arrays<'a> = (Option<&'a [i32]>, Option<&'a [i32]>, Option<&'a [i32]>);

impl<'a> HostSequences<'a> {
    /// `used_k`, `cu_q`, `cu_k`.
    fn arrays(&self) -> Arrays<'a> {
        match *self {
            Self::Dense => (None, None, None),
            Self::UsedKeys(used) => (Some(used), None, None),
            Self::Packed { cu_q, cu_k } => (None, Some(cu_q), Some(cu_k)),
        }
    }
}
