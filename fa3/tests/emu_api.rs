//! The API on an emulated GPU: conveniences, bindings, and mistakes that a card answers with a lost
//! context, or not at all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

#[path = "common/host.rs"]
mod host;
#[path = "common/not_numbers.rs"]
mod not_numbers;

use std::sync::Arc;

use fa3::fa3_emu::{Access, FaultKind, Options, RunError};
use fa3::{
    AnyPlan, Backend, Buffer, CudaTarget, Device, DeviceTensor, Error, Operands, Plan, Pointer, StreamHandle,
    Workspace,
};
use half::bf16;

use host::{OPTIONS, SIZES, USED, assert_close, host, problem, ragged, shape};

const TARGET: CudaTarget = CudaTarget { sms: 3, ..CudaTarget::H200 };

fn device() -> Device {
    Device::emulated(TARGET, Options::default()).unwrap()
}

fn plan(backend: &Arc<dyn Backend>) -> Arc<Plan> {
    Arc::new(Plan::forward(&backend.target(), &problem()).unwrap())
}

/// Binds and runs.
fn run(backend: &Arc<dyn Backend>, operands: &Operands) -> fa3::Result<()> {
    let binding = plan(backend).bind(backend, operands, Workspace::Own)?;
    // SAFETY: the emulator checks every access.
    unsafe { binding.run(StreamHandle::DEFAULT) }
}

#[test]
fn host_slices_go_there_and_back() {
    let host = host(1);
    assert_close(&host.on(&device()), &host.expected());
}

#[test]
fn device_tensors_are_computed_on_in_place() {
    let (device, host) = (device(), host(2));
    let q = DeviceTensor::upload(&device, shape(SIZES.sq, SIZES.heads_q), &host.q).unwrap();
    let k = DeviceTensor::upload(&device, shape(SIZES.sk, SIZES.heads_k), &host.k).unwrap();
    let v = DeviceTensor::upload(&device, shape(SIZES.sk, SIZES.heads_k), &host.v).unwrap();
    let output = device.attention(&q, &k, &v, &OPTIONS).unwrap();
    assert_close(&output.o.to_vec().unwrap(), &host.expected());
    assert!(output.lse_to_vec().unwrap().iter().all(|lse| lse.is_finite()));
}

#[test]
fn several_threads_share_a_device() {
    let (device, hosts) = (device(), [host(3), host(4)]);
    std::thread::scope(|scope| {
        for host in &hosts {
            scope.spawn(|| assert_close(&host.on(&device), &host.expected()));
        }
    });
}

#[test]
fn a_binding_runs_again_on_other_contents() {
    let (device, first, second) = (device(), host(5), host(6));
    let backend = device.backend();
    let (operands, o, inputs) = first.upload(backend);
    let binding = plan(backend).bind(backend, &operands, Workspace::Own).unwrap();
    let read = || {
        let mut data = vec![bf16::ZERO; o.bytes() / size_of::<bf16>()];
        let bytes = bytemuck::cast_slice_mut(&mut data);
        // SAFETY: the emulator checks every access.
        unsafe {
            binding.run(StreamHandle::DEFAULT).unwrap();
            backend.download(bytes, o.pointer(), StreamHandle::DEFAULT).unwrap();
        }
        data
    };
    assert_close(&read(), &first.expected());
    for (buffer, data) in inputs.iter().zip([&second.q, &second.k, &second.v]) {
        let bytes = bytemuck::cast_slice(data);
        // SAFETY: the emulator checks every access.
        unsafe { backend.upload(buffer.pointer(), bytes, StreamHandle::DEFAULT).unwrap() };
    }
    assert_close(&read(), &second.expected());
}

#[test]
fn lengths_may_change_between_the_runs_of_a_binding() {
    let (device, host) = (device(), host(11));
    let backend = device.backend();
    let (operands, o, _inputs) = host.upload(backend);
    let lengths = Buffer::from_bytes(backend, bytemuck::cast_slice(&USED[0])).unwrap();
    let operands = Operands { used_k: Some(lengths.pointer()), ..operands };
    let plan = Arc::new(Plan::forward(&backend.target(), &ragged()).unwrap());
    let binding = plan.bind(backend, &operands, Workspace::Own).unwrap();
    for used in USED {
        let mut data = vec![bf16::ZERO; o.bytes() / size_of::<bf16>()];
        // SAFETY: the emulator checks every access.
        unsafe {
            backend.upload(lengths.pointer(), bytemuck::cast_slice(&used), StreamHandle::DEFAULT).unwrap();
            binding.run(StreamHandle::DEFAULT).unwrap();
            let bytes = bytemuck::cast_slice_mut(&mut data);
            backend.download(bytes, o.pointer(), StreamHandle::DEFAULT).unwrap();
        }
        assert_close(&data, &host.expected_of(&used));
    }
}

#[test]
fn a_key_tensor_that_was_freed_cannot_be_copied() {
    let device = device();
    let (operands, _o, [_q, k, _v]) = host(7).upload(device.backend());
    drop(k);
    let error = run(device.backend(), &operands).unwrap_err();
    let Error::Emulated { plan: ran, source } = &error else { panic!("{error}") };
    let AnyPlan::Forward(ran) = ran else { panic!("{error}") };
    assert_eq!(ran.problem(), &problem());
    let RunError::Fault { site, kind } = &**source else { panic!("{source}") };
    assert_eq!(site.kernel, "fa3_fwd_sm90_bf16_d128_m128");
    assert!(matches!(kind, FaultKind::Copy(_)), "{kind}");
}

#[test]
fn an_lse_that_was_freed_is_out_of_bounds() {
    let device = device();
    let backend = device.backend();
    let (operands, _o, _inputs) = host(8).upload(backend);
    let problem = fa3::Problem { lse: true, ..problem() };
    let plan = Arc::new(Plan::forward(&backend.target(), &problem).unwrap());
    let lse = backend.allocate(plan.dims().lse_len * size_of::<f32>()).unwrap();
    let operands = Operands { lse: Some(lse), ..operands };
    let binding = plan.bind(backend, &operands, Workspace::Own).unwrap();
    // SAFETY: freed once; the emulator checks every access.
    let error = unsafe {
        backend.free(lse).unwrap();
        binding.run(StreamHandle::DEFAULT).unwrap_err()
    };
    let Error::Emulated { source, .. } = &error else { panic!("{error}") };
    let written = matches!(
        &**source,
        RunError::Fault { kind: FaultKind::OutOfBounds { access: Access::Write, space: "global", .. }, .. }
    );
    assert!(written, "{source}");
}

#[test]
fn pointers_plans_and_kernels_of_another_device_are_refused() {
    let (one, other) = (device(), device());
    let (operands, _o, _inputs) = host(9).upload(one.backend());
    let error = run(other.backend(), &operands).unwrap_err();
    assert!(matches!(error, Error::WrongPlace { .. }), "{error}");

    let mut host_address = operands;
    host_address.q.pointer = Pointer { address: 4096, place: fa3::Place::Host };
    let error = run(one.backend(), &host_address).unwrap_err();
    assert!(matches!(error, Error::WrongPlace { .. }), "{error}");

    let larger = Device::emulated(CudaTarget::H200, Options::default()).unwrap();
    let error = plan(larger.backend()).bind(one.backend(), &operands, Workspace::Own).unwrap_err();
    assert!(matches!(error, Error::PlanMismatch { .. }), "{error}");
}

#[test]
fn no_threads_and_more_than_there_may_be_open_no_device() {
    for threads in [0, Options::MAX_THREADS + 1] {
        let error = Device::emulated(TARGET, Options { threads, ..Options::default() }).unwrap_err();
        assert!(error.to_string().contains("ask for 1 to 1024"), "{error}");
    }
}

#[test]
fn a_limit_of_steps_ends_a_run() {
    let options = Options { step_limit: 1000, ..Options::default() };
    let device = Device::emulated(TARGET, options).unwrap();
    let (operands, _o, _inputs) = host(10).upload(device.backend());
    let error = run(device.backend(), &operands).unwrap_err();
    let Error::Emulated { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(**source, RunError::StepLimit { limit: 1000, .. }), "{source}");
}

#[test]
fn rows_are_numbers_exactly_where_they_should_be() {
    not_numbers::rows_are_numbers_exactly_where_they_should_be(&device());
}
