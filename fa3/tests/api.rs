//! The conveniences: on the CPU by their results, on the mock by what would reach a GPU.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

#[path = "common/not_numbers.rs"]
mod not_numbers;

use std::sync::Arc;

use fa3::{
    Backend, Buffer, Call, CpuBackend, CudaTarget, DType, Device, DeviceInputs, DeviceSequences,
    DeviceTensor, Error, HostInputs, HostSequences, HostTensor, Layout, MockBackend, Options, Problem, Sizes,
    Target, attention, attention_with,
};
use half::bf16;

fn mock() -> (Arc<MockBackend>, Device) {
    let mock = Arc::new(MockBackend::new(Target::Cuda(CudaTarget::H200)));
    let device = Device::new(Arc::clone(&mock) as Arc<dyn Backend>, "a recorded H200");
    (mock, device)
}

#[test]
fn host_slices_are_uploaded_computed_and_downloaded_and_all_memory_is_freed() {
    let (mock, device) = mock();
    let data = vec![bf16::ONE; 2 * 64 * 4 * 64];
    let tensor = HostTensor::new([2, 64, 4, 64], &data).unwrap();
    let output = attention(&device, tensor, tensor, tensor, &Options::default()).unwrap();
    assert_eq!((output.o.len(), output.lse.len()), (data.len(), 2 * 4 * 64));
    let count = |wanted: fn(&Call) -> bool| mock.calls().iter().filter(|call| wanted(call)).count();
    assert_eq!(count(|call| matches!(call, Call::Upload { .. })), 3);
    assert_eq!(count(|call| matches!(call, Call::Launch(_))), 1);
    assert_eq!(count(|call| matches!(call, Call::Download { .. })), 2);
    let freed = count(|call| matches!(call, Call::Free { .. }));
    assert_eq!(count(|call| matches!(call, Call::Allocate { .. })), freed);
}

#[test]
fn what_the_target_does_not_take_is_refused_before_anything_is_allocated() {
    let (mock, device) = mock();
    let data = vec![bf16::ONE; 64 * 63];
    let tensor = HostTensor::new([1, 64, 1, 63], &data).unwrap();
    let options = Options::default();
    let error = attention(&device, tensor, tensor, tensor, &options).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    assert_eq!(mock.calls(), []);
    let tensor = DeviceTensor::upload(&device, [1, 64, 1, 63], &data).unwrap();
    let before = mock.calls();
    assert!(device.attention(&tensor, &tensor, &tensor, &options).is_err());
    assert_eq!(mock.calls(), before);
}

#[test]
fn lengths_of_slices_are_checked() {
    let data = [1.0f32; 12];
    for shape in [[1, 3, 1, 3], [1, 3, 2, 3]] {
        let error = HostTensor::new(shape, &data).unwrap_err();
        assert!(matches!(error, Error::Length { given: 12, .. }), "{error}");
    }
    let device = Device::cpu();
    assert!(DeviceTensor::upload(&device, [1, 3, 1, 3], &data).is_err());
    assert!(DeviceTensor::<f32>::zeros(&device, [usize::MAX, 2, 1, 1]).is_err());
}

#[test]
fn packed_lengths_used_keys_and_sinks_are_checked() {
    let data = [1.0f32; 12];
    let tensor = HostTensor::new([1, 6, 1, 2], &data).unwrap();
    let plain = HostInputs::new(tensor, tensor, tensor);
    let refused = |inputs: HostInputs<'_, f32>| {
        attention_with(&Device::cpu(), &inputs, &Options::default()).unwrap_err().to_string()
    };
    let packed = |cu_q, cu_k| HostInputs { sequences: HostSequences::Packed { cu_q, cu_k }, ..plain };
    let good: &[i32] = &[0, 2, 6];
    attention_with(&Device::cpu(), &packed(good, good), &Options::default()).unwrap();
    for wrong in [&[0, 2, 5][..], &[1, 2, 6], &[0, 7, 6], &[0, 6], &[], &[0, -2, 6]] {
        refused(packed(good, wrong));
        refused(packed(wrong, good));
    }
    for wrong in [&[7][..], &[-1], &[6, 6]] {
        refused(HostInputs { sequences: HostSequences::UsedKeys(wrong), ..plain });
    }
    assert!(refused(HostInputs { sinks: Some(&[0.0, 1.0]), ..plain }).contains("sinks"));
}

#[test]
fn wrong_lengths_are_named_by_their_entry() {
    let data = [1.0f32; 12];
    let tensor = HostTensor::new([1, 6, 1, 2], &data).unwrap();
    let packed = HostSequences::Packed { cu_q: &[0, 9, 6], cu_k: &[0, 2, 6] };
    let inputs = HostInputs { sequences: packed, ..HostInputs::new(tensor, tensor, tensor) };
    let error = attention_with(&Device::cpu(), &inputs, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("cu_q[1] = 9") && error.contains("from 0 to at most 6"), "{error}");
}

/// Two tokens of two heads of 8, and two more, packed.
#[test]
fn sequences_of_device_tensors_are_packed_padded_and_checked() {
    let data: Vec<f32> = (0..4 * 2 * 8).map(|n| ((n * 29) % 17) as f32 / 8.0 - 1.0).collect();
    let (cu, used, bias) = ([0i32, 1, 4], [3i32], [0.5f32, -0.5]);
    let host = HostTensor::new([1, 4, 2, 8], &data).unwrap();
    let plain = HostInputs { sinks: Some(&bias), alibi: Some(&bias), ..HostInputs::new(host, host, host) };
    let device = Device::cpu();
    let tensor = DeviceTensor::upload(&device, [1, 4, 2, 8], &data).unwrap();
    let array = |bytes: &[u8]| Buffer::from_bytes(device.backend(), bytes).unwrap();
    let (cu_buffer, used_buffer) = (array(bytemuck::cast_slice(&cu)), array(bytemuck::cast_slice(&used)));
    let (bias_buffer, short) = (array(bytemuck::cast_slice(&bias)), array(&[0; 4]));
    let packed = DeviceSequences::Packed { cu_q: &cu_buffer, cu_k: &cu_buffer, max_q: 3, max_k: 3 };
    let on_device = |sequences| DeviceInputs {
        sequences,
        sinks: Some(&bias_buffer),
        alibi: Some(&bias_buffer),
        ..DeviceInputs::new(&tensor, &tensor, &tensor)
    };
    for (on_host, sequences) in [
        (HostSequences::Packed { cu_q: &cu, cu_k: &cu }, packed),
        (HostSequences::UsedKeys(&used), DeviceSequences::UsedKeys(&used_buffer)),
        (HostSequences::Dense, DeviceSequences::Dense),
    ] {
        let inputs = HostInputs { sequences: on_host, ..plain };
        let expected = attention_with(&device, &inputs, &Options::default()).unwrap();
        let output = device.attention_with(&on_device(sequences), &Options::default()).unwrap();
        assert_eq!(output.o.to_vec().unwrap(), expected.o);
        assert_eq!(output.lse_to_vec().unwrap(), expected.lse);
        assert_eq!(output.plan, expected.plan);
    }
    let refused = |inputs| device.attention_with(&inputs, &Options::default()).unwrap_err();
    let shorter = DeviceSequences::Packed { cu_q: &cu_buffer, cu_k: &short, max_q: 3, max_k: 3 };
    for (inputs, name) in [
        (on_device(shorter), "cu_k"),
        (DeviceInputs { sinks: Some(&short), ..on_device(packed) }, "sinks"),
        (DeviceInputs { alibi: Some(&short), ..on_device(packed) }, "alibi"),
    ] {
        let error = refused(inputs);
        assert!(matches!(error, Error::Length { argument, .. } if argument == name), "{error}");
    }
    let error = refused(on_device(DeviceSequences::UsedKeys(&array(&[]))));
    assert!(matches!(error, Error::Length { argument: "used_k", .. }), "{error}");
}

#[test]
fn ragged_sequences_reach_a_gpu_as_two_launches() {
    let (mock, device) = mock();
    let data = vec![bf16::ONE; 5 * 2 * 32];
    let tensor = HostTensor::new([1, 5, 2, 32], &data).unwrap();
    let cu = [0, 2, 5];
    let sequences = HostSequences::Packed { cu_q: &cu, cu_k: &cu };
    let inputs = HostInputs { sequences, ..HostInputs::new(tensor, tensor, tensor) };
    attention_with(&device, &inputs, &Options::default()).unwrap();
    let symbols: Vec<_> = mock.launches().into_iter().map(|launch| launch.symbol).collect();
    assert_eq!(symbols, ["fa3_schedule_sm90", "fa3_fwd_sm90_bf16_d64_m192"]);
    let count = |wanted: fn(&Call) -> bool| mock.calls().iter().filter(|call| wanted(call)).count();
    let freed = count(|call| matches!(call, Call::Free { .. }));
    assert_eq!(count(|call| matches!(call, Call::Allocate { .. })), freed);
}

#[test]
fn outputs_larger_than_memory_are_refused() {
    let layout = Layout { shape: [1, 1 << 44, 1, 8], strides: [0, 0, 0, 1] };
    let q = HostTensor::strided(layout, &[1.0f32; 8]).unwrap();
    let kv = HostTensor::new([1, 1, 1, 8], &[1.0f32; 8]).unwrap();
    let error = attention(&Device::cpu(), q, kv, kv, &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Allocation { .. }), "{error}");
    // Empty ones take none, however large their other extents are.
    let empty = HostTensor::<f32>::new([1 << 40, 0, 1 << 20, 8], &[]).unwrap();
    let output = attention(&Device::cpu(), empty, empty, empty, &Options::default()).unwrap();
    assert!(output.o.is_empty() && output.lse.is_empty());
    let inputs = fa3::reference::Inputs::new(&[], &[], &[]);
    let reference = fa3::reference::forward::<f32>(output.plan.problem(), &inputs).unwrap();
    assert!(reference.o.is_empty() && reference.lse.is_empty());
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let data: Vec<f32> = (0..2 * 70 * 3 * 16).map(|n| ((n * 37) % 101) as f32 / 50.0 - 1.0).collect();
    let tensor = HostTensor::new([2, 70, 3, 16], &data).unwrap();
    let on = |threads| {
        let backend = CpuBackend::with_threads(threads).unwrap();
        let device = Device::new(Arc::new(backend), "cpu");
        attention(&device, tensor, tensor, tensor, &Options { causal: true, ..Options::default() }).unwrap()
    };
    let (one, three) = (on(1), on(3));
    assert_eq!((one.o, one.lse), (three.o, three.lse));
    assert!(CpuBackend::with_threads(0).is_err());
    assert!(CpuBackend::with_threads(usize::MAX).is_err());
}

#[test]
fn a_plan_says_where_it_may_run_and_a_choice_says_why() {
    let problem = Problem::dense(DType::F32, Sizes::new(1, 4, 1, 8), Options::default());
    let choice = Device::best_for(&problem).unwrap();
    assert!(matches!(choice.device.target(), Target::Cpu(_)));
    assert!(!choice.rejected.is_empty() && choice.to_string().contains("because"), "{choice}");
    let mut wrong = problem;
    wrong.k.layout.shape[3] = 4;
    assert!(matches!(Device::best_for(&wrong), Err(Error::Argument { .. })));
}

#[test]
fn rows_are_numbers_exactly_where_they_should_be() {
    not_numbers::rows_are_numbers_exactly_where_they_should_be(&Device::cpu());
}
