//! Bindings on the recording mock: what would reach a GPU, and what is refused before it does.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use fa3::{
    Backend, Buffer, Call, CudaTarget, DType, Error, MockBackend, Operand, Operands, Options, Place, Plan,
    Pointer, Problem, RecordedLaunch, RecordedParams, Sequences, Sizes, StreamHandle, Target, Tensor,
    TensorSpec, Window, Workspace,
};
use fa3_kernels::{ForwardParams, ScheduleParams};

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
    let dims = problem.dims().unwrap();
    let mut array = |wanted: bool, len: usize| wanted.then(|| allocate(len * 4));
    operands.lse = array(problem.lse, dims.lse_len);
    operands.sinks = array(problem.sinks, dims.heads_q);
    operands.alibi = array(problem.alibi, dims.heads_q);
    operands.used_k = array(problem.sequences == Sequences::UsedKeys, dims.sequences);
    let packed = matches!(problem.sequences, Sequences::Packed { .. });
    operands.cu_q = array(packed, dims.sequences + 1);
    operands.cu_k = array(packed, dims.sequences + 1);
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

fn forward_params(launch: &RecordedLaunch) -> ForwardParams {
    match launch.params[..] {
        [RecordedParams::Forward(params)] => params,
        ref other => panic!("{other:?}"),
    }
}

fn schedule_params(launch: &RecordedLaunch) -> ScheduleParams {
    match launch.params[..] {
        [RecordedParams::Schedule(params)] => params,
        ref other => panic!("{other:?}"),
    }
}

/// Twelve sequences of 130 queries and 300 keys in all.
fn packed() -> Problem {
    let sizes = Sizes { heads_k: 2, sk: 300, ..Sizes::new(1, 130, 4, 64) };
    let sequences = Sequences::Packed { count: 12, max_q: 64, max_k: 200 };
    Problem { sequences, ..Problem::dense(DType::Bf16, sizes, Options::default()) }
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
    assert_eq!((launch.grid, launch.block, launch.cluster), ([3 * 4, 1, 1], 384, 1));
    assert_eq!(launch.stream, stream);
    let Operands { q, k, v, o, .. } = setup.operands;
    let addresses: Vec<_> = launch.maps.iter().map(|(_, address)| *address).collect();
    assert_eq!(addresses, [q, k, v, o].map(|tensor| tensor.pointer));
    assert_eq!(launch.maps[1].0.extents(), [64, 300, 2, 2]);
    assert_eq!(launch.maps[1].0.strides(), [2 * 64 * 2, 64 * 2, 300 * 2 * 64 * 2]);
    let params = forward_params(launch);
    assert_eq!(params.lse, setup.operands.lse.unwrap().address);
    assert_eq!((params.o, params.schedule, params.sinks, params.slopes), (o.pointer.address, 0, 0, 0));
    assert_eq!((params.sq, params.sk, params.heads, params.pack, params.window_right), (130, 300, 2, 2, 0));
}

#[test]
fn ragged_sequences_are_listed_before_they_are_computed() {
    for problem in [packed(), Problem { sequences: Sequences::UsedKeys, ..plain() }] {
        let problem = Problem { sinks: true, alibi: true, ..problem };
        let setup = setup(&problem);
        let binding = setup.plan.bind(&setup.backend, &setup.operands, Workspace::Own).unwrap();
        let stream = StreamHandle::from_raw(9);
        let before = setup.mock.calls().len();
        // SAFETY: the mock reads no operand.
        unsafe { binding.run(stream).unwrap() };
        let calls = setup.mock.calls();
        assert!(calls[before..].iter().all(|call| matches!(call, Call::Launch(_))), "nothing but launches");
        let [schedule, forward]: [RecordedLaunch; 2] = setup.mock.launches().try_into().unwrap();
        assert_eq!((schedule.symbol.as_str(), schedule.grid), ("fa3_schedule_sm90", [1, 1, 1]));
        assert_eq!((schedule.stream, forward.stream), (stream, stream));
        assert!(schedule.maps.is_empty() && forward.maps.len() == 4);

        let address = |pointer: Option<Pointer>| pointer.map_or(0, |pointer| pointer.address);
        let operands = &setup.operands;
        let (list, params) = (schedule_params(&schedule), forward_params(&forward));
        let lengths = [operands.cu_q, operands.cu_k, operands.used_k].map(address);
        assert_eq!([list.cu_q, list.cu_k, list.used_k], lengths);
        assert_eq!([params.sinks, params.slopes], [operands.sinks, operands.alibi].map(address));
        assert_eq!((params.o, params.lse), (operands.o.pointer.address, address(operands.lse)));
        // The list is in the binding's own allocation, as large as planned.
        let allocated = calls.iter().any(|call| {
            let bytes = setup.plan.workspace_bytes();
            matches!(call, Call::Allocate { bytes: b, pointer } if *b == bytes && pointer.address == list.list)
        });
        assert!(allocated && params.schedule == list.list);
    }
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
    let bind = |setup: &Setup, pointer, bytes| {
        setup.plan.bind(&setup.backend, &setup.operands, Workspace::Caller { pointer, bytes })
    };
    let mock = |address| Pointer { address, place: Place::Mock };
    let host = Pointer { address: 4096, place: Place::Host };
    let dense = setup(&plain());
    bind(&dense, mock(0), 0).unwrap();
    let ragged = setup(&packed());
    let needed = ragged.plan.workspace_bytes();
    for setup in [&dense, &ragged] {
        let error = bind(setup, host, 1 << 20).unwrap_err();
        assert!(matches!(error, Error::WrongPlace { operand: Operand::Workspace, .. }), "{error}");
    }
    let far = 1 << 50;
    let error = bind(&ragged, mock(far), needed - 1).unwrap_err();
    assert!(
        matches!(error, Error::Length { argument: "workspace", given, .. } if given == needed - 1),
        "{error}"
    );
    let error = bind(&ragged, mock(0), needed).unwrap_err();
    assert!(matches!(error, Error::Null { operand: Operand::Workspace, .. }), "{error}");
    let error = bind(&ragged, mock(far + 128), needed).unwrap_err();
    assert!(
        matches!(error, Error::Misaligned { operand: Operand::Workspace, alignment: 256, .. }),
        "{error}"
    );
    let error = bind(&ragged, mock(u64::MAX - 255), needed).unwrap_err();
    assert!(matches!(error, Error::Argument { .. }), "{error}");
    // It is written: not where anything else lies.
    let k = ragged.operands.k.pointer;
    let error = bind(&ragged, k, needed).unwrap_err();
    assert!(matches!(error, Error::Overlap { written: Operand::Workspace, other: Operand::K }), "{error}");

    let before = ragged.mock.calls().len();
    let binding = bind(&ragged, mock(far), needed).unwrap();
    // SAFETY: the mock reads no operand.
    unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
    let calls = ragged.mock.calls();
    assert!(
        !calls[before..].iter().any(|call| matches!(call, Call::Allocate { .. })),
        "it has its workspace"
    );
    assert_eq!(schedule_params(&ragged.mock.launches()[0]).list, far);
    assert_eq!(forward_params(&ragged.mock.launches()[1]).schedule, far);
}

#[test]
fn what_runs_is_what_was_planned_for_its_window_and_no_other() {
    let with = |left| {
        let options = Options { window: Window { left: Some(left), right: Some(0) }, ..Options::default() };
        setup(&Problem { options, ..plain() })
    };
    let (narrow, wide) = (with(16), with(64));
    assert_ne!(narrow.plan, wide.plan);
    for (setup, left) in [(&narrow, 16), (&wide, 64)] {
        let binding = setup.plan.bind(&setup.backend, &setup.operands, Workspace::Own).unwrap();
        // SAFETY: the mock reads no operand.
        unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
        let params = forward_params(&setup.mock.launches()[0]);
        assert_eq!((params.window_left, params.window_right), (left, 0));
    }
}

#[test]
fn lengths_that_were_not_planned_for_are_refused() {
    let (dense, ragged) = (setup(&plain()), setup(&packed()));
    let error = ragged.refused(|o| o.cu_k = None);
    assert!(matches!(error, Error::OperandMissing { operand: Operand::CuK, .. }), "{error}");
    let error = ragged.refused(|o| o.used_k = o.cu_k);
    assert!(matches!(error, Error::OperandUnexpected { operand: Operand::UsedKeys, .. }), "{error}");
    let error = dense.refused(|o| o.cu_k = o.lse);
    assert!(matches!(error, Error::OperandUnexpected { operand: Operand::CuK, .. }), "{error}");
    let error = ragged.refused(|o| o.cu_q = o.cu_q.map(|p| Pointer { address: p.address + 2, ..p }));
    assert!(matches!(error, Error::Misaligned { operand: Operand::CuQ, alignment: 4, .. }), "{error}");
    let error = ragged.refused(|o| o.cu_q = Some(Pointer { address: 0, place: Place::Mock }));
    assert!(matches!(error, Error::Null { operand: Operand::CuQ, bytes: 52 }), "{error}");
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
