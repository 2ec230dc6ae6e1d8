//! A GPU, kept between requests, and the timing of one call on it.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fa3::reference::{Inputs, Row, forward_rows};
use fa3::{
    Backend, Binding, Buffer, CudaBackend, DType, Element, Operands, Plan, Problem, StreamHandle, Tensor,
    TensorSpec, Tuning, Workspace,
};
use fa3_sys::driver::{GraphExec, Stream};
use half::{bf16, f16};

use crate::ceiling::{self, TimedCeiling};
use crate::median::{median_ms, milliseconds};
use crate::random::normal;
use crate::request::{CeilingRequest, Request};
use crate::tuning::Asked as AskedTuning;

/// What may fail in several libraries.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Calls shorter than this are timed as replays of a graph, so that submitting does not count.
const GRAPH_BELOW_MS: f64 = 0.1;

/// Rows of the output that are compared with f64.
const SAMPLED_ROWS: usize = 64;

/// The answer.
pub struct Timed {
    /// The median time of one call, milliseconds.
    pub ms: f64,
    /// The largest deviation from f64 over the sampled rows.
    pub error: f64,
}

/// The GPU with its stream and memory.
pub struct Session {
    cuda: Arc<CudaBackend>,
    backend: Arc<dyn Backend>,
    /// Those that know the machine code of requests, by its path.
    tuned: HashMap<PathBuf, Arc<dyn Backend>>,
    stream: Stream,
    /// For Q, K, V, O, the LSE and offsets, grown as needed.
    buffers: Vec<Buffer>,
    seed: u64,
}

impl Session {
    /// Opens a GPU.
    pub fn open(ordinal: u32) -> Outcome<Self> {
        let cuda = Arc::new(CudaBackend::open(ordinal)?);
        let stream = Stream::new(cuda.context())?;
        let backend: Arc<dyn Backend> = cuda.clone();
        let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
        Ok(Self { cuda, backend, tuned: HashMap::new(), stream, buffers: Vec::new(), seed })
    }

    /// Times one request and checks its output.
    pub fn time(&mut self, request: &Request) -> Outcome<Timed> {
        let problem = request.problem()?;
        match problem.q.dtype {
            DType::F16 => self.time_typed::<f16>(request, &problem),
            _ => self.time_typed::<bf16>(request, &problem),
        }
    }

    /// Times a loop of matrix products.
    pub fn ceiling(&mut self, request: &CeilingRequest) -> Outcome<TimedCeiling> {
        self.seed = self.seed.wrapping_add(1 << 32);
        ceiling::time(&self.stream, request, self.seed)
    }

    fn time_typed<T: Element>(&mut self, request: &Request, problem: &Problem) -> Outcome<Timed> {
        let (tuning, backend) = match &request.tuning {
            Some(asked) => (asked.tuning(), self.tuned_backend(asked)?),
            None => (Tuning::default(), Arc::clone(&self.backend)),
        };
        let plan = Arc::new(Plan::tuned(&backend.target(), problem, &tuning)?);
        self.seed = self.seed.wrapping_add(1 << 32);
        let host = [problem.q, problem.k, problem.v].map(|spec| spec.layout.shape.iter().product::<usize>());
        let host: Vec<Vec<T>> =
            (0..).zip(host).map(|(n, len)| normal(len, self.seed.wrapping_add(n << 24))).collect();
        let specs = [problem.q, problem.k, problem.v, problem.o];
        let mut sizes = specs.map(|spec| spec.layout.span().unwrap_or(0) * size_of::<T>()).to_vec();
        let offsets = request.offsets()?;
        sizes.push(plan.dims().lse_len * 4);
        sizes.push(offsets.as_ref().map_or(0, Vec::len) * 4);
        self.reserve(&sizes)?;
        let upload = |buffer: &Buffer, bytes: &[u8]| {
            // SAFETY: the buffer is at least that long, and the last request is done with it.
            unsafe { self.backend.upload(buffer.pointer(), bytes, self.handle()) }
        };
        for (buffer, data) in self.buffers.iter().zip(&host) {
            upload(buffer, bytemuck::cast_slice(data))?;
        }
        let tensor = |n: usize, spec: TensorSpec| Tensor { pointer: self.buffers[n].pointer(), spec };
        let [q, k, v, o] = specs;
        let mut operands = Operands::new(tensor(0, q), tensor(1, k), tensor(2, v), tensor(3, o));
        operands.lse = Some(self.buffers[4].pointer());
        if let Some(offsets) = &offsets {
            upload(&self.buffers[5], bytemuck::cast_slice(offsets))?;
            operands.cu_q = Some(self.buffers[5].pointer());
            operands.cu_k = operands.cu_q;
        }
        let binding = plan.bind(&backend, &operands, Workspace::Own)?;
        let ms = self.measure(&binding, request)?;
        let mut output = vec![T::default(); problem.o.layout.span().unwrap_or(0)];
        // SAFETY: the buffer is at least that long, and the calls that write it are done.
        unsafe {
            self.backend.download(bytemuck::cast_slice_mut(&mut output), operands.o.pointer, self.handle())?
        };
        let offsets = offsets.as_deref();
        let inputs = Inputs { cu_q: offsets, cu_k: offsets, ..Inputs::new(&host[0], &host[1], &host[2]) };
        Ok(Timed { ms, error: self.deviation(problem, &inputs, &output)? })
    }

    /// The backend for a kernel of the request's own.
    fn tuned_backend(&mut self, asked: &AskedTuning) -> Outcome<Arc<dyn Backend>> {
        let Some(path) = &asked.image else { return Ok(Arc::clone(&self.backend)) };
        let kernel = asked.tuning().kernel.ok_or("tuning has an image, which needs a kernel")?;
        if let Some(backend) = self.tuned.get(path) {
            return Ok(Arc::clone(backend));
        }
        let image = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let cuda = CudaBackend::new(self.cuda.context().clone());
        cuda.add_kernel(&kernel.symbol(), &image)?;
        let backend: Arc<dyn Backend> = Arc::new(cuda);
        self.tuned.insert(path.clone(), Arc::clone(&backend));
        Ok(backend)
    }

    /// At least `sizes` bytes in each buffer.
    fn reserve(&mut self, sizes: &[usize]) -> Outcome<()> {
        for (n, &size) in sizes.iter().enumerate() {
            match self.buffers.get(n) {
                Some(buffer) if buffer.bytes() >= size => {}
                Some(_) => self.buffers[n] = Buffer::new(&self.backend, size)?,
                None => self.buffers.push(Buffer::new(&self.backend, size)?),
            }
        }
        Ok(())
    }

    fn handle(&self) -> StreamHandle {
        StreamHandle::from_raw(self.stream.raw())
    }

    /// The median time of one call, short ones as replays of a graph.
    fn measure(&self, binding: &Binding, request: &Request) -> Outcome<f64> {
        let mut call = Call { binding, stream: &self.stream, graph: None };
        call.run()?;
        self.synchronize()?;
        let start = Instant::now();
        (0..4).try_for_each(|_| call.run())?;
        self.synchronize()?;
        if milliseconds(start) / 4.0 < GRAPH_BELOW_MS {
            call.capture()?;
        }
        median_ms(&self.stream, request.warmup_ms, request.measure_ms, || call.run())
    }

    fn synchronize(&self) -> Outcome<()> {
        // SAFETY: the session owns the stream.
        unsafe { self.backend.synchronize(self.handle())? };
        Ok(())
    }

    /// The largest deviation from f64 over sampled rows.
    fn deviation<T: Element>(&self, problem: &Problem, inputs: &Inputs<'_, T>, output: &[T]) -> Outcome<f64> {
        let [batch, sq, heads, dv] = problem.o.layout.shape;
        if output.is_empty() {
            return Ok(0.0);
        }
        // Scrambled bits of a counter spread the rows.
        let pick = |n: usize, of: usize| {
            let scrambled = (self.seed ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            (scrambled % of.max(1) as u64) as usize
        };
        // A row of O, and the sequence and the query that it is.
        let row = |n: usize| {
            let (token, head) = (pick(2 * n, batch * sq), pick(2 * n + 1, heads));
            let (sequence, query) = inputs.cu_q.map_or((token / sq, token % sq), |cu| locate(token, cu));
            (token, Row { sequence, head, query })
        };
        let (tokens, rows): (Vec<usize>, Vec<Row>) = (0..SAMPLED_ROWS).map(row).unzip();
        let exact = forward_rows(problem, inputs, &rows)?;
        let mut largest = 0.0f64;
        for ((token, row), exact) in tokens.into_iter().zip(&rows).zip(exact) {
            let first = (token * heads + row.head) * dv;
            for (value, exact) in output[first..first + dv].iter().zip(exact.o) {
                let error = (f64::from(value.to_f32()) - exact).abs();
                // NaN must not vanish in a maximum, and JSON has no infinity.
                largest = largest.max(if error.is_nan() { f64::MAX } else { error });
            }
        }
        Ok(largest)
    }
}

/// The sequence that a token of a packed batch belongs to, and which of its tokens it is.
fn locate(token: usize, offsets: &[i32]) -> (usize, usize) {
    let begun = offsets.partition_point(|&begin| begin as usize <= token);
    (begun - 1, token - offsets[begun - 1] as usize)
}

/// One call, submitted as itself or as the replay of a graph.
struct Call<'a> {
    binding: &'a Binding,
    stream: &'a Stream,
    graph: Option<GraphExec>,
}

impl Call<'_> {
    fn run(&mut self) -> Outcome<()> {
        match &mut self.graph {
            // SAFETY: the graph holds one run of the binding, whose operands live in the session's
            // buffers until the stream is synchronised.
            Some(graph) => unsafe { graph.launch(self.stream)? },
            // SAFETY: the operands live in the session's buffers until the stream is synchronised,
            // and nothing else uses them.
            None => unsafe { self.binding.run(StreamHandle::from_raw(self.stream.raw()))? },
        }
        Ok(())
    }

    fn capture(&mut self) -> Outcome<()> {
        let graph = self.stream.capture(|stream| {
            // SAFETY: as in `run`; the graph is replayed while the operands live.
            unsafe { self.binding.run(StreamHandle::from_raw(stream.raw())) }
        })?;
        self.graph = Some(graph.instantiate()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_belong_to_the_sequence_that_is_not_empty() {
        let offsets = [0, 0, 2, 2, 2, 5];
        let found: Vec<_> = (0..5).map(|token| locate(token, &offsets)).collect();
        assert_eq!(found, [(1, 0), (1, 1), (4, 0), (4, 1), (4, 2)]);
    }
}
