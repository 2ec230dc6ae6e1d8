//! Bindings on the recording mock: what would reach a GPU, and what is refused before it does.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use fa3::{
    Backend, Buffer, Call, CudaTarget, DType, Error, MockBackend, Operand, Operands, Options, Place, Plan,
    Pointer, Problem, Sizes, StreamHandle, Target, Tensor, TensorSpec, Workspace,
};
use fa3_kernels::ForwardParams;

const H200: Target = Target::Cuda(CudaTarget::H200);

struct Setup {
    mock: Arc<MockBackend>,
    backend: Arc<dyn Backend>,
    plan: Arc<Plan>,
    operands: Operands,
    _buffers: Vec<Buffer>,
}

fn setup(problem: &Problem) -> Setup {
    let mock = Arc::new(MockBackend::new(H200));
    let backend: Arc<dyn Backend> = Arc::clone(&mock) as _;
    let mut buffers = Vec::new();
    let mut allocate = |bytes: usize| {
        let buffer = Buffer::new(&backend, bytes).unwrap();
        let pointer = buffer.pointer();
        buffers.push(buffer);
        pointer
    };
    let mut tensor = |spec: TensorSpec| Tensor {
        pointer: allocate(spec.layout.span().unwrap() * spec.dtype.size()),
        spec,
    };
    let mut operands =
        Operands::new(tensor(problem.q), tensor(problem.k), tensor(problem.v), tensor(problem.o));
    if problem.lse {
        operands.lse = Some(allocate(problem.dims().unwrap().lse_len * 4));
    }
    let plan = Arc::new(Plan::forward(&H200, problem).unwrap());
    Setup { mock, backend, plan, operands, _buffers: buffers }
}

impl Setup {
    fn refused(&self, change: impl FnOnce(&mut Operands)) -> Error {
        let mut operands = self.operands;
        change(&mut operands);
        self.plan.bind(&self.backend, &operands, Workspace::Own).unwrap_err()
    }
}

fn plain() -> Problem {
    let sizes = Sizes { heads_k: 2, sk: 300, ..Sizes::new(2, 130, 4, 64) };
    Problem::dense(DType::Bf16, sizes, Options { causal: true, ..Options::default() })
}

#[test]
fn a_run_is_one_launch_with_the_planned_shape_and_the_bound_addresses() {
    let setup = setup(&plain());
    let binding = setup.plan.bind(&setup.backend, &setup.operands, Workspace::Own).unwrap();
    let stream = StreamHandle::from_raw(7);
    let before = setup.mock.calls().len();
    // SAFETY: the mock reads no operand.
    unsafe { binding.run(stream).unwrap() };
    // SAFETY: as above.
    unsafe { binding.run(stream).unwrap() };
    let calls = setup.mock.calls();
    assert_eq!(calls.len() - before, 2, "a run is a launch and nothing else: {:?}", &calls[before..]);

    let launches = setup.mock.launches();
    assert_eq!(launches[0], launches[1]);
    let launch = &launches[0];
    assert_eq!(launch.symbol, "fa3_fwd_sm90_bf16_d64_m128");
    assert_eq!((launch.grid, launch.block, launch.cluster), ([2 * 8, 1, 1], 384, 1));
    assert_eq!(launch.stream, stream);
    let Operands { q, k, v, o, .. } = setup.operands;
    let addresses: Vec<_> = launch.maps.iter().map(|(_, address)| *address).collect();
    assert_eq!(addresses, [q, k, v, o].map(|tensor| tensor.pointer));
    assert_eq!(launch.maps[1].0.extents(), [64, 300, 2, 2]);
    assert_eq!(launch.maps[1].0.strides(), [2 * 64 * 2, 64 * 2, 300 * 2 * 64 * 2]);
    let [params]: [ForwardParams; 1] = launch.params[..].try_into().unwrap();
    assert_eq!(params.lse, setup.operands.lse.unwrap().address);
    assert_eq!((params.sq, params.sk, params.heads_q, params.group, params.causal), (130, 300, 4, 2, 1));
}

#[test]
fn an_empty_key_sequence_stands_on_the_address_of_q() {
    let problem = Problem::dense(DType::F16, Sizes { sk: 0, ..Sizes::new(1, 3, 2, 128) }, Options::default());
    let mut setup = setup(&problem);
    setup.operands.k.pointer.address = 0;
    let binding = setup.plan.bind(&setup.backend, &setup.operands, Workspace::Own).unwrap();
    // SAFETY: the mock reads no operand.
    unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
    let launch = &setup.mock.launches()[0];
    assert_eq!(launch.maps[1].1, setup.operands.q.pointer);
    assert_eq!(launch.maps[2].0.extents(), [128, 1, 1, 1]);
}

#[test]
fn an_empty_output_launches_nothing() {
    for sizes in [Sizes::new(0, 5, 2, 64), Sizes::new(1, 0, 2, 64), Sizes::new(1, 5, 0, 64)] {
        let setup = setup(&Problem::dense(DType::F16, sizes, Options::default()));
        let binding = setup.plan.bind(&setup.backend, &setup.operands, Workspace::Own).unwrap();
        // SAFETY: nothing runs.
        unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
        assert!(setup.mock.launches().is_empty(), "{sizes:?}");
    }
}

#[test]
fn addresses_are_checked() {
    let setup = setup(&plain());
    let host = Pointer { address: 4096, place: Place::Host };
    let error = setup.refused(|o| o.k.pointer = host);
    assert!(matches!(error, Error::WrongPlace { operand: Operand::K, found: Place::Host, .. }), "{error}");
    let error = setup.refused(|o| o.lse = Some(host));
    assert!(matches!(error, Error::WrongPlace { operand: Operand::Lse, .. }), "{error}");
    let error = setup.refused(|o| o.v.pointer.address = 0);
    assert!(matches!(error, Error::Null { operand: Operand::V, .. }), "{error}");
    let error = setup.refused(|o| o.q.pointer.address += 8);
    assert!(matches!(error, Error::Misaligned { operand: Operand::Q, alignment: 16, .. }), "{error}");
    let error = setup.refused(|o| o.lse = o.lse.map(|p| Pointer { address: p.address + 2, ..p }));
    assert!(matches!(error, Error::Misaligned { operand: Operand::Lse, alignment: 4, .. }), "{error}");
    let error = setup.refused(|o| o.o.pointer = o.q.pointer);
    assert!(matches!(error, Error::Overlap { written: Operand::O, other: Operand::Q }), "{error}");
    let error = setup.refused(|o| o.lse = Some(o.v.pointer));
    assert!(matches!(error, Error::Overlap { written: Operand::Lse, other: Operand::V }), "{error}");
    let error = setup.refused(|o| o.q.pointer.address = u64::MAX - 15);
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    // Inputs may share memory: K and V of one latent, Q and K of one tensor.
    let mut shared = setup.operands;
    shared.v.pointer = shared.k.pointer;
    setup.plan.bind(&setup.backend, &shared, Workspace::Own).unwrap();
}

#[test]
fn a_plan_for_something_else_is_refused() {
    let setup = setup(&plain());
    let error = setup.refused(|o| o.q.spec.layout.strides[1] *= 2);
    assert!(matches!(error, Error::PlanMismatch { what: "q", .. }), "{error}");
    let error = setup.refused(|o| o.lse = None);
    assert!(matches!(error, Error::OperandMissing { operand: Operand::Lse, .. }), "{error}");
    for (operand, error) in [
        (Operand::Sinks, setup.refused(|o| o.sinks = o.lse)),
        (Operand::Alibi, setup.refused(|o| o.alibi = o.lse)),
        (Operand::UsedKeys, setup.refused(|o| o.used_k = o.lse)),
        (Operand::CuQ, setup.refused(|o| o.cu_q = o.lse)),
    ] {
        assert!(matches!(error, Error::OperandUnexpected { operand: o, .. } if o == operand), "{error}");
    }
    let other = Target::Cuda(CudaTarget { sms: 78, ..CudaTarget::H200 });
    let backend: Arc<dyn Backend> = Arc::new(MockBackend::new(other));
    let error = setup.plan.bind(&backend, &setup.operands, Workspace::Own).unwrap_err();
    assert!(matches!(error, Error::PlanMismatch { what: "the target", .. }), "{error}");
}

#[test]
fn a_caller_s_workspace_is_checked() {
    let setup = setup(&plain());
    let bind = |pointer, bytes| {
        setup.plan.bind(&setup.backend, &setup.operands, Workspace::Caller { pointer, bytes }).map(|_| ())
    };
    bind(Pointer { address: 0, place: Place::Mock }, 0).unwrap();
    let error = bind(Pointer { address: 4096, place: Place::Host }, 1 << 20).unwrap_err();
    assert!(matches!(error, Error::WrongPlace { operand: Operand::Workspace, .. }), "{error}");
}

#[test]
fn a_graph_can_hold_a_run_because_it_neither_allocates_nor_waits() {
    let setup = setup(&plain());
    let binding = setup.plan.bind(&setup.backend, &setup.operands, Workspace::Own).unwrap();
    let before = setup.mock.calls().len();
    // SAFETY: the mock reads no operand.
    unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
    assert!(setup.mock.calls()[before..].iter().all(|call| matches!(call, Call::Launch(_))));
}

#[test]
fn the_mock_refuses_what_a_gpu_would_fault_on() {
    let mock = MockBackend::new(H200);
    let pointer = mock.allocate(8).unwrap();
    let beyond = Pointer { address: pointer.address + 1, ..pointer };
    // SAFETY: the mock checks the range before it touches anything.
    assert!(unsafe { mock.upload(beyond, &[0; 8], StreamHandle::DEFAULT) }.is_err());
    // SAFETY: allocated above, not used again.
    unsafe { mock.free(pointer).unwrap() };
    // SAFETY: the mock knows its live allocations, and frees no other.
    assert!(unsafe { mock.free(pointer) }.is_err());
}
