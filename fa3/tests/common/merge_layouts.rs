//! Merges of tensors that are not contiguous, and of attention over parts of the keys.

use std::sync::Arc;

use fa3::{
    Backend, Buffer, DType, Device, HostInputs, HostParts, HostTensor, Layout, MergeOperands, MergePlan,
    MergeProblem, Merged, Options, StreamHandle, Tensor, TensorSpec, attention, attention_with, merge,
    reference,
};
use half::{bf16, f16};

/// Deterministic, between −1 and 1.
fn value(index: usize) -> f32 {
    ((index * 7919 + 11) % 257) as f32 / 128.0 - 1.0
}

/// Parts stored as `[batch, heads, sq, dv]` with room between them, merged into every second row of a wider
/// tensor, of which the rest stays as it is.
pub fn strides_are_honoured(device: &Device) {
    const PARTS: usize = 3;
    let [batch, sq, heads, dv] = [2, 5, 3, 16];
    let shape = [batch, sq, heads, dv];
    let part = Layout { shape, strides: [heads * sq * dv, dv, sq * dv, 1] };
    let o = Layout { shape, strides: [2 * sq * heads * 24, 2 * heads * 24, 24, 1] };
    let part_stride = batch * sq * heads * dv + 40;
    let problem = MergeProblem {
        parts: PARTS,
        part: TensorSpec { dtype: DType::F16, layout: part },
        part_stride,
        o: TensorSpec { dtype: DType::F32, layout: o },
        lse: true,
        sinks: false,
    };
    let rows = batch * heads * sq;
    let parts: Vec<f16> = (0..PARTS * part_stride).map(|index| f16::from_f32(value(index))).collect();
    let lse: Vec<f32> = (0..PARTS * rows).map(|index| 4.0 * value(index + 5)).collect();
    let expected = reference::merge(&problem, &parts, &lse, None).unwrap();

    let backend: &Arc<dyn Backend> = device.backend();
    let upload = |bytes: &[u8]| Buffer::from_bytes(backend, bytes).unwrap();
    let untouched = vec![7.0f32; o.span().unwrap() + 8];
    let buffers = [
        upload(bytemuck::cast_slice(&parts)),
        upload(bytemuck::cast_slice(&lse)),
        upload(bytemuck::cast_slice(&untouched)),
        upload(&vec![0; rows * 4]),
    ];
    let [parts, parts_lse, o_pointer, lse] = buffers.each_ref().map(Buffer::pointer);
    let tensor = |pointer, spec| Tensor { pointer, spec };
    let operands = MergeOperands {
        lse: Some(lse),
        ..MergeOperands::new(tensor(parts, problem.part), parts_lse, tensor(o_pointer, problem.o))
    };
    let plan = Arc::new(MergePlan::new(&device.target(), &problem).unwrap());
    let binding = plan.bind(backend, &operands).unwrap();
    let mut found = untouched.clone();
    let mut found_lse = vec![0.0f32; rows];
    // SAFETY: the buffers are as large as the layouts say and live until the results are read.
    unsafe {
        binding.run(StreamHandle::DEFAULT).unwrap();
        let bytes = bytemuck::cast_slice_mut(&mut found);
        backend.download(bytes, o_pointer, StreamHandle::DEFAULT).unwrap();
        let bytes = bytemuck::cast_slice_mut(&mut found_lse);
        backend.download(bytes, lse, StreamHandle::DEFAULT).unwrap();
    }
    let mut wanted: Vec<f64> = untouched.iter().copied().map(f64::from).collect();
    for (index, &expected) in expected.o.iter().enumerate() {
        let [column, head, query, batch] =
            [index % dv, index / dv % heads, index / dv / heads % sq, index / dv / heads / sq];
        let [step_batch, step_row, step_head, _] = o.strides;
        wanted[batch * step_batch + query * step_row + head * step_head + column] = expected;
    }
    for (index, (&found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!((f64::from(found) - wanted).abs() < 2e-6, "{found} at {index}, not {wanted}");
    }
    for (&found, expected) in found_lse.iter().zip(expected.lse) {
        assert!((f64::from(found) - expected).abs() < 3e-6, "{found}, not {expected}");
    }
}

/// Attention over three parts of the keys, one of which is empty, without sinks; merged with them. The same
/// as attention over all.
pub fn parts_of_the_keys_are_all_of_them(device: &Device) {
    const KEYS: [usize; 3] = [37, 0, 91];
    let (sq, heads, d) = (20, 4, 64);
    let total: usize = KEYS.iter().sum();
    let of = |index: usize| bf16::from_f32(value(index));
    let q: Vec<bf16> = (0..sq * heads * d).map(of).collect();
    let k: Vec<bf16> = (0..total * d).map(|index| of(index + 1000)).collect();
    let v: Vec<bf16> = (0..total * d).map(|index| of(3 * index)).collect();
    let sinks = [0.5, -2.0, 3.0, 7.0];
    let options = Options::default();
    let q = HostTensor::new([1, sq, heads, d], &q).unwrap();
    let keys = |data, keys| HostTensor::new([1, keys, 1, d], data).unwrap();

    let (mut o, mut lse, mut first) = (Vec::new(), Vec::new(), 0);
    for count in KEYS {
        let part = first * d..(first + count) * d;
        let output =
            attention(device, q, keys(&k[part.clone()], count), keys(&v[part], count), &options).unwrap();
        o.extend(output.o);
        lse.extend(output.lse);
        first += count;
    }
    let parts = HostParts::new([KEYS.len(), 1, sq, heads, d], &o, &lse).unwrap();
    let found: Merged<f32> = merge(device, &parts.with_sinks(&sinks).unwrap()).unwrap();

    let all = HostInputs { sinks: Some(&sinks), ..HostInputs::new(q, keys(&k, total), keys(&v, total)) };
    let expected = attention_with(device, &all, &options).unwrap();
    for (&found, expected) in found.o.iter().zip(&expected.o) {
        assert!((found - expected.to_f32()).abs() < 0.01, "{found}, not {expected}");
    }
    for (found, expected) in found.lse.iter().zip(&expected.lse) {
        assert!((found - expected).abs() < 1e-4, "{found}, not {expected}");
    }
}
