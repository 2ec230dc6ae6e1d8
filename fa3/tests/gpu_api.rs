//! The API on the GPU: bindings, graphs, streams, and who may be mixed with whom. Fails where there
//! is no GPU.

#![allow(clippy::unwrap_used, reason = "clippy sees no test in a test's helpers")]

#[path = "common/host.rs"]
mod host;
#[path = "common/not_numbers.rs"]
mod not_numbers;

use std::sync::Arc;

use cudarc::driver::CudaContext;
use fa3::{
    Backend, Buffer, CudaBackend, CudaSlices, DType, Device, DeviceTensor, Error, Execution, Operands, Place,
    Plan, Pointer, Problem, StreamHandle, Tuning, Walk, Workspace,
};
use fa3_kernels::ForwardKernel;
use fa3_sys::driver::{Event, Stream};
use half::bf16;

use host::{Host, OPTIONS, SIZES, USED, assert_close, host, problem, ragged, shape};

/// Operands on the GPU, with the buffers that they point into.
struct OnGpu {
    cuda: Arc<CudaBackend>,
    backend: Arc<dyn Backend>,
    operands: Operands,
    o: Buffer,
    _inputs: [Buffer; 3],
}

impl OnGpu {
    fn new(host: &Host) -> Self {
        let cuda = Arc::new(CudaBackend::open(0).unwrap());
        let backend: Arc<dyn Backend> = Arc::clone(&cuda) as _;
        let (operands, o, inputs) = host.upload(&backend);
        Self { cuda, backend, operands, o, _inputs: inputs }
    }

    fn plan(&self) -> Arc<Plan> {
        Arc::new(Plan::forward(&self.backend.target(), &problem()).unwrap())
    }

    fn clear(&self, stream: &Stream) {
        // SAFETY: the buffer has that many bytes; the stream orders this.
        unsafe { self.backend.fill(self.o.pointer(), 0xff, self.o.bytes(), handle(stream)).unwrap() };
    }

    fn output(&self, stream: &Stream) -> Vec<bf16> {
        let mut data = vec![bf16::ZERO; self.o.bytes() / 2];
        let bytes = bytemuck::cast_slice_mut(&mut data);
        // SAFETY: the buffer has that many bytes; the stream orders this after what writes it.
        unsafe { self.backend.download(bytes, self.o.pointer(), handle(stream)).unwrap() };
        data
    }
}

fn handle(stream: &Stream) -> StreamHandle {
    StreamHandle::from_raw(stream.raw())
}

#[test]
fn host_slices_go_there_and_back() {
    let host = host(1);
    assert_close(&host.on(&Device::cuda(0).unwrap()), &host.expected());
}

#[test]
fn device_tensors_are_computed_on_in_place() {
    let (device, host) = (Device::cuda(0).unwrap(), host(2));
    let q = DeviceTensor::upload(&device, shape(SIZES.sq, SIZES.heads_q), &host.q).unwrap();
    let k = DeviceTensor::upload(&device, shape(SIZES.sk, SIZES.heads_k), &host.k).unwrap();
    let v = DeviceTensor::upload(&device, shape(SIZES.sk, SIZES.heads_k), &host.v).unwrap();
    let output = device.attention(&q, &k, &v, &OPTIONS).unwrap();
    assert_close(&output.o.to_vec().unwrap(), &host.expected());
    let lse = output.lse_to_vec().unwrap();
    assert_eq!(lse.len(), SIZES.batch * SIZES.heads_q * SIZES.sq);
    assert!(lse.iter().all(|lse| lse.is_finite()));
}

#[test]
fn a_binding_runs_on_the_caller_s_stream_and_replays_from_a_graph() {
    let host = host(3);
    let gpu = OnGpu::new(&host);
    let stream = Stream::new(gpu.cuda.context()).unwrap();
    let binding = gpu.plan().bind(&gpu.backend, &gpu.operands, Workspace::Own).unwrap();
    gpu.clear(&stream);
    // SAFETY: the operands live in `gpu`; the stream orders all uses.
    unsafe { binding.run(handle(&stream)).unwrap() };
    let direct = gpu.output(&stream);
    assert_close(&direct, &host.expected());

    let graph = stream.capture(|stream| {
        // SAFETY: as above, for each replay below.
        unsafe { binding.run(handle(stream)) }
    });
    let mut replay = graph.unwrap().instantiate().unwrap();
    for _ in 0..3 {
        gpu.clear(&stream);
        // SAFETY: the operands and the binding live until the stream is read below.
        unsafe { replay.launch(&stream).unwrap() };
        assert_eq!(gpu.output(&stream), direct);
    }
}

/// Lengths are read when the graph runs, and the tiles listed anew, in the caller's workspace.
#[test]
fn a_graph_of_ragged_sequences_replays_with_other_lengths() {
    let host = host(12);
    let gpu = OnGpu::new(&host);
    let stream = Stream::new(gpu.cuda.context()).unwrap();
    let lengths = Buffer::from_bytes(&gpu.backend, bytemuck::cast_slice(&USED[0])).unwrap();
    let operands = Operands { used_k: Some(lengths.pointer()), ..gpu.operands };
    let plan = Arc::new(Plan::forward(&gpu.backend.target(), &ragged()).unwrap());
    let memory = Buffer::new(&gpu.backend, plan.workspace_bytes()).unwrap();
    let workspace = Workspace::Caller { pointer: memory.pointer(), bytes: memory.bytes() };
    let binding = plan.bind(&gpu.backend, &operands, workspace).unwrap();
    let graph = stream.capture(|stream| {
        // SAFETY: the operands and the workspace live until the stream is read below.
        unsafe { binding.run(handle(stream)) }
    });
    let mut replay = graph.unwrap().instantiate().unwrap();
    for used in [USED[0], USED[1], USED[0]] {
        gpu.clear(&stream);
        // SAFETY: as above; the stream orders all uses of the lengths.
        unsafe {
            gpu.backend.upload(lengths.pointer(), bytemuck::cast_slice(&used), handle(&stream)).unwrap();
            replay.launch(&stream).unwrap();
        }
        assert_close(&gpu.output(&stream), &host.expected_of(&used));
    }
}

#[test]
fn a_plan_of_an_own_kernel_runs_once_the_backend_knows_its_machine_code() {
    let host = host(11);
    let gpu = OnGpu::new(&host);
    let stream = Stream::new(gpu.cuda.context()).unwrap();
    // A row of the table whose name this backend has not loaded yet, and its own machine code.
    let plan = gpu.plan();
    let Execution::Gpu(kernels) = plan.execution() else { panic!("no kernel: {plan}") };
    let symbol = kernels.forward.kernel.symbol.clone();
    let entry = fa3_kernels::entry(&symbol, fa3_sys::Arch::Sm90a).unwrap();
    gpu.cuda.add_kernel(&symbol, entry.image).unwrap();
    let kernel = *fa3_kernels::forward_kernels().find(|kernel| kernel.symbol() == symbol).unwrap();
    for walk in [Walk::TileEach, Walk::Persistent, Walk::Pairs] {
        let tuning = Tuning { kernel: Some(kernel), walk: Some(walk), section_of_l2: Some(0.25) };
        let plan = Arc::new(Plan::tuned(&gpu.backend.target(), &problem(), &tuning).unwrap());
        let binding = plan.bind(&gpu.backend, &gpu.operands, Workspace::Own).unwrap();
        gpu.clear(&stream);
        // SAFETY: the operands live until the stream is synchronised by reading the output.
        unsafe { binding.run(handle(&stream)).unwrap() };
        assert_close(&gpu.output(&stream), &host.expected());
    }
    let again = gpu.cuda.add_kernel(&symbol, entry.image).unwrap_err();
    assert!(again.to_string().contains("which it has"), "{again}");
    let missing = gpu.cuda.add_kernel("no_such_kernel", entry.image).unwrap_err();
    assert!(matches!(missing, Error::Driver(_)), "{missing}");
    let own = ForwardKernel { tile_n: kernel.tile_n - 16, ..kernel };
    let plan =
        Plan::tuned(&gpu.backend.target(), &problem(), &Tuning { kernel: Some(own), ..Tuning::default() });
    let unknown = Arc::new(plan.unwrap()).bind(&gpu.backend, &gpu.operands, Workspace::Own).unwrap_err();
    assert!(unknown.to_string().contains("_own"), "{unknown}");
}

#[test]
fn two_streams_compute_side_by_side() {
    let (host_a, host_b) = (host(4), host(5));
    let (a, b) = (OnGpu::new(&host_a), OnGpu::new(&host_b));
    let (stream_a, stream_b) =
        (Stream::new(a.cuda.context()).unwrap(), Stream::new(b.cuda.context()).unwrap());
    let bind = |gpu: &OnGpu| gpu.plan().bind(&gpu.backend, &gpu.operands, Workspace::Own).unwrap();
    let (binding_a, binding_b) = (bind(&a), bind(&b));
    for _ in 0..10 {
        // SAFETY: each stream has operands of its own, which live until it is read below.
        unsafe {
            binding_a.run(handle(&stream_a)).unwrap();
            binding_b.run(handle(&stream_b)).unwrap();
        }
    }
    assert_close(&a.output(&stream_a), &host_a.expected());
    assert_close(&b.output(&stream_b), &host_b.expected());
}

#[test]
fn one_stream_can_wait_for_another() {
    let host = host(6);
    let gpu = OnGpu::new(&host);
    let (first, second) =
        (Stream::new(gpu.cuda.context()).unwrap(), Stream::new(gpu.cuda.context()).unwrap());
    let binding = gpu.plan().bind(&gpu.backend, &gpu.operands, Workspace::Own).unwrap();
    // SAFETY: the operands live in `gpu`; the event orders the second stream after the first.
    unsafe { binding.run(handle(&first)).unwrap() };
    let event = Event::new(gpu.cuda.context()).unwrap();
    event.record(&first).unwrap();
    second.wait(&event).unwrap();
    assert_close(&gpu.output(&second), &host.expected());
}

#[test]
fn slices_and_streams_of_cudarc_are_taken_as_they_are() {
    let host = host(8);
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let (q, k, v) = (
        stream.clone_htod(&host.q).unwrap(),
        stream.clone_htod(&host.k).unwrap(),
        stream.clone_htod(&host.v).unwrap(),
    );
    let mut o = stream.alloc_zeros::<bf16>(host.q.len()).unwrap();
    let mut lse = stream.alloc_zeros::<f32>(SIZES.batch * SIZES.heads_q * SIZES.sq).unwrap();
    let backend = Arc::new(CudaBackend::of_stream(&stream).unwrap());
    let problem = Problem::dense(DType::Bf16, SIZES, OPTIONS);
    let plan = Arc::new(Plan::forward(&backend.target(), &problem).unwrap());
    let slices = CudaSlices { q: &q, k: &k, v: &v, o: &mut o, lse: Some(&mut lse) };
    plan.run_slices(&backend, &stream, slices).unwrap();
    // The kernel may still run: closing the backend waits for it.
    drop(backend);
    assert_close(&stream.clone_dtoh(&o).unwrap(), &host.expected());
    assert!(stream.clone_dtoh(&lse).unwrap().iter().all(|lse| lse.is_finite()));

    let backend = Arc::new(CudaBackend::of_stream(&stream).unwrap());
    let short = CudaSlices { q: &q.slice(1..), k: &k, v: &v, o: &mut o, lse: Some(&mut lse) };
    let error = plan.run_slices(&backend, &stream, short).unwrap_err();
    assert!(matches!(error, Error::Length { argument: "q", .. }), "{error}");
}

#[test]
fn host_addresses_and_other_targets_are_refused() {
    let gpu = OnGpu::new(&host(7));
    let mut operands = gpu.operands;
    operands.k.pointer = Pointer { address: 4096, place: Place::Host };
    let error = gpu.plan().bind(&gpu.backend, &operands, Workspace::Own).unwrap_err();
    assert!(matches!(error, Error::WrongPlace { .. }), "{error}");
    let plan = Device::cpu().plan(&problem()).unwrap();
    let error = plan.bind(&gpu.backend, &gpu.operands, Workspace::Own).unwrap_err();
    assert!(matches!(error, Error::PlanMismatch { .. }), "{error}");
}

#[test]
fn the_gpu_is_chosen_for_what_it_computes_and_the_cpu_for_the_rest() {
    let choice = Device::best_for(&problem()).unwrap();
    assert!(matches!(choice.device.target(), fa3::Target::Cuda(_)), "{choice}");
    let choice = Device::best_for(&Problem::dense(DType::F32, SIZES, OPTIONS)).unwrap();
    assert!(matches!(choice.device.target(), fa3::Target::Cpu(_)), "{choice}");
    assert!(!choice.rejected.is_empty());
}

#[test]
fn rows_are_numbers_exactly_where_they_should_be() {
    let cuda: Arc<dyn Backend> = Arc::new(CudaBackend::open(0).unwrap());
    not_numbers::rows_are_numbers_exactly_where_they_should_be(&Device::new(cuda, "a GPU"));
}
