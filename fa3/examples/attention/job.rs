//! The job: plan, compute, time, write, compare.

use std::error::Error;
use std::time::{Duration, Instant};

use fa3::{
    Binding, Buffer, DType, Device, Element, HostInputs, HostSequences, HostTensor, Operands, Place, Pointer,
    StreamHandle, Tensor, TensorSpec, Workspace,
};
use fa3_sys::driver::{Context, Event, Stream};
use half::{bf16, f16};
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::input::{Input, InputError, Lengths};
use crate::safetensors_io::write_output;
use crate::{Arguments, check, device};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Does the job; whether all checks that were asked for succeeded.
pub fn run(input: &Input, arguments: &Arguments) -> Outcome<bool> {
    let types = [input.q.dtype, input.k.dtype, input.v.dtype];
    let dtype = match arguments.dtype {
        Some(dtype) => dtype,
        None if types == [types[0]; 3] => types[0],
        None => {
            let types = types.map(DType::name).join(", ");
            return Err(InputError::Types { origin: input.source.clone(), types }.into());
        }
    };
    println!("input     {} ({}, as {dtype})", input.source, types[0]);
    match dtype {
        DType::F16 => run_typed::<f16>(input, arguments),
        DType::Bf16 => run_typed::<bf16>(input, arguments),
        _ => run_typed::<f32>(input, arguments),
    }
}

fn run_typed<T: Element>(input: &Input, arguments: &Arguments) -> Outcome<bool> {
    let (q, k, v) = (input.q.to::<T>(), input.k.to::<T>(), input.v.to::<T>());
    let inputs = HostInputs {
        sequences: match &input.lengths {
            Lengths::Dense => HostSequences::Dense,
            Lengths::UsedKeys(used) => HostSequences::UsedKeys(used),
            Lengths::Packed { cu_q, cu_k } => HostSequences::Packed { cu_q, cu_k },
        },
        sinks: input.sinks.as_deref(),
        alibi: input.alibi.as_deref(),
        ..HostInputs::new(
            HostTensor::new(input.q.shape, &q)?,
            HostTensor::new(input.k.shape, &k)?,
            HostTensor::new(input.v.shape, &v)?,
        )
    };
    let problem = inputs.problem(&arguments.options())?;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let device = device::choose(&problem, arguments, &bar)?;
    let plan = device.plan(&problem)?;
    println!("{plan}");

    let memory = Memory::new(&device, &inputs, &problem)?;
    let binding = plan.bind(device.backend(), &memory.operands, Workspace::Own)?;
    if let Place::Emulated(_) = device.backend().place() {
        // How long that takes says nothing of a GPU.
        println!("time      {:.4} ms, emulated once", time_on_cpu(&binding)? * 1e3);
    } else {
        let seconds = match device.backend().place() {
            Place::Cuda(ordinal) => median_on_gpu(&binding, ordinal, arguments.runs)?,
            _ => median_on_cpu(&binding, arguments.runs)?,
        };
        let rate = if seconds > 0.0 { plan.work().flops / seconds / 1e12 } else { 0.0 };
        println!("time      {:.4} ms (median), {rate:.4} TFLOP/s", seconds * 1e3);
    }
    bar.finish_and_clear();

    let (o, lse) = memory.read::<T>(&device)?;
    write_output(&arguments.out, input, &o, &lse)?;
    println!("output    {}", arguments.out.display());
    if !arguments.check {
        return Ok(true);
    }
    check::report(
        &check::Result { problem: &problem, inputs: &inputs, data: (&q, &k, &v), o: &o, lse: &lse },
        input,
    )
}

/// The operands in the device's memory.
struct Memory {
    operands: Operands,
    o: Buffer,
    lse: Buffer,
    o_bytes: usize,
    lse_bytes: usize,
    _inputs: Vec<Buffer>,
}

impl Memory {
    fn new<T: Element>(device: &Device, inputs: &HostInputs<'_, T>, problem: &fa3::Problem) -> Outcome<Self> {
        let backend = device.backend();
        let mut buffers = Vec::new();
        let mut upload = |bytes: &[u8]| -> Outcome<Pointer> {
            let buffer = Buffer::from_bytes(backend, bytes)?;
            let pointer = buffer.pointer();
            buffers.push(buffer);
            Ok(pointer)
        };
        let mut tensor = |spec: TensorSpec, tensor: &HostTensor<'_, T>| -> Outcome<Tensor> {
            Ok(Tensor { pointer: upload(bytemuck::cast_slice(tensor.data()))?, spec })
        };
        let (q, k, v) =
            (tensor(problem.q, &inputs.q)?, tensor(problem.k, &inputs.k)?, tensor(problem.v, &inputs.v)?);
        let o_bytes = problem.o.layout.span().unwrap_or(0) * size_of::<T>();
        let lse_bytes = problem.dims()?.lse_len * size_of::<f32>();
        let (o, lse) = (Buffer::zeroed(backend, o_bytes)?, Buffer::zeroed(backend, lse_bytes)?);
        let mut operands = Operands::new(q, k, v, Tensor { pointer: o.pointer(), spec: problem.o });
        operands.lse = Some(lse.pointer());
        operands.sinks = inputs.sinks.map(|values| upload(bytemuck::cast_slice(values))).transpose()?;
        operands.alibi = inputs.alibi.map(|values| upload(bytemuck::cast_slice(values))).transpose()?;
        match inputs.sequences {
            HostSequences::Dense => {}
            HostSequences::UsedKeys(used) => operands.used_k = Some(upload(bytemuck::cast_slice(used))?),
            HostSequences::Packed { cu_q, cu_k } => {
                operands.cu_q = Some(upload(bytemuck::cast_slice(cu_q))?);
                operands.cu_k = Some(upload(bytemuck::cast_slice(cu_k))?);
            }
        }
        Ok(Self { operands, o, lse, o_bytes, lse_bytes, _inputs: buffers })
    }

    fn read<T: Element>(&self, device: &Device) -> Outcome<(Vec<T>, Vec<f32>)> {
        let mut o = vec![T::default(); self.o_bytes / size_of::<T>()];
        let mut lse = vec![0f32; self.lse_bytes / size_of::<f32>()];
        // SAFETY: the buffers have those bytes; the runs that write them are done.
        unsafe {
            let stream = StreamHandle::DEFAULT;
            device.backend().download(bytemuck::cast_slice_mut(&mut o), self.o.pointer(), stream)?;
            device.backend().download(bytemuck::cast_slice_mut(&mut lse), self.lse.pointer(), stream)?;
        }
        Ok((o, lse))
    }
}

/// The median of `runs` runs by events, after as many to warm up.
fn median_on_gpu(binding: &Binding, ordinal: u32, runs: usize) -> Outcome<f64> {
    let context = Context::open(ordinal)?;
    let stream = Stream::new(&context)?;
    let run = || {
        // SAFETY: the operands live in the caller's buffers until the stream is synchronised.
        unsafe { binding.run(StreamHandle::from_raw(stream.raw())) }
    };
    let events = (0..runs).map(|_| Ok((Event::with_timing(&context)?, Event::with_timing(&context)?)));
    let events = events.collect::<Outcome<Vec<_>>>()?;
    events.iter().try_for_each(|_| run())?;
    for (start, end) in &events {
        start.record(&stream)?;
        run()?;
        end.record(&stream)?;
    }
    // SAFETY: the stream lives here.
    unsafe { binding.backend().synchronize(StreamHandle::from_raw(stream.raw()))? };
    let times = events.iter().map(|(start, end)| Ok(f64::from(end.elapsed_ms_since(start)?) / 1e3));
    Ok(median(times.collect::<Outcome<_>>()?))
}

/// The median of at most `runs` runs after the first, as many as a second has room for; of the
/// first alone where that took long.
fn median_on_cpu(binding: &Binding, runs: usize) -> Outcome<f64> {
    let begin = Instant::now();
    let first = time_on_cpu(binding)?;
    let mut times = Vec::new();
    while times.len() < runs && begin.elapsed() < Duration::from_secs(1) {
        times.push(time_on_cpu(binding)?);
    }
    Ok(if times.is_empty() { first } else { median(times) })
}

/// A run that is done on return.
fn time_on_cpu(binding: &Binding) -> Outcome<f64> {
    let start = Instant::now();
    // SAFETY: the operands live in the caller's buffers; on the CPU and the emulator, which this is
    // called for, a run is done on return.
    unsafe { binding.run(StreamHandle::DEFAULT)? };
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
