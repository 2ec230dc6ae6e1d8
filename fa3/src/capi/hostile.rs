//! Arguments of any bits: an error by name, or success, and never a panic.

use std::sync::Arc;

use proptest::prelude::*;

use super::device::Handle;
use super::forward::{fa3_binding_free, fa3_forward_bind, fa3_forward_workspace};
use super::types::{BF16, F32, RawForward, RawTensor, Status};
use crate::{CudaTarget, Device, MockBackend, Target};

const WORDS: usize = size_of::<RawForward>() / size_of::<u64>();

/// A call as the caller's memory has it.
#[derive(Clone, Copy)]
#[repr(C)]
union Words {
    args: RawForward,
    words: [u64; WORDS],
}

/// One that is accepted.
fn good(dtype: i32) -> RawForward {
    let tensor = |address: usize, heads: i64| RawTensor {
        data: core::ptr::without_provenance_mut(address),
        dtype,
        reserved: 0,
        shape: [2, 300, heads, 128],
        strides: [300 * heads * 128, heads * 128, 128, 1],
    };
    RawForward {
        struct_size: size_of::<RawForward>(),
        q: tensor(1 << 30, 4),
        k: tensor(2 << 30, 2),
        v: tensor(3 << 30, 2),
        o: tensor(4 << 30, 4),
        ..bytemuck::Zeroable::zeroed()
    }
}

/// Values at the edges of what fields hold, some of them of two 32-bit fields at once.
fn edge() -> impl Strategy<Value = u64> {
    let both = |low: u64, high: u64| high << 32 | low;
    prop_oneof![
        0u64..=8,
        prop::sample::select(vec![
            16,
            64,
            128,
            256,
            300,
            1 << 31,
            1 << 32,
            1 << 61,
            1 << 62,
            u64::MAX,
            1 << 63
        ]),
        prop::sample::select(vec![i64::MAX as u64, i64::MAX as u64 / 2, 600, 1200, 38400, 76800, 4 << 30]),
        (0u64..32, 0u64..4).prop_map(move |(flags, sequences)| both(flags, sequences)),
        prop::sample::select(vec![0.0f32, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE])
            .prop_map(move |value| both(value.to_bits().into(), value.to_bits().into())),
        any::<u64>(),
    ]
}

/// The status of planning and of binding.
fn statuses(handle: &Handle, args: &RawForward) -> [Status; 2] {
    let (mut bytes, mut binding) = (0, core::ptr::null_mut());
    // SAFETY: whole structures and variables; the addresses among the operands are not followed before
    // a binding runs.
    unsafe {
        let planned = fa3_forward_workspace(handle, args, &raw mut bytes);
        let bound = fa3_forward_bind(handle, args, &raw mut binding);
        fa3_binding_free(binding);
        [planned, bound]
    }
}

fn handles() -> [(Handle, i32); 2] {
    let mock = MockBackend::new(Target::Cuda(CudaTarget::H200));
    [(Handle::new(Device::cpu()), F32), (Handle::new(Device::new(Arc::new(mock), "a recorded H200")), BF16)]
}

#[test]
fn what_is_spoiled_below_is_good() {
    for (handle, dtype) in handles() {
        assert_eq!(statuses(&handle, &good(dtype)), [Status::Ok; 2]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    // The first word is the size, which tells how much memory there is.
    fn any_bits_are_answered(changes in prop::collection::vec((1..WORDS, edge()), 1..5)) {
        for (handle, dtype) in handles() {
            let mut words = Words { args: good(dtype) };
            for &(word, value) in &changes {
                // SAFETY: every bit pattern is a value of both fields of the union.
                unsafe { words.words[word] = value };
            }
            // SAFETY: as above.
            let found = statuses(&handle, unsafe { &words.args });
            // No structure of so many bytes is allocated for it, and no kernel runs.
            let impossible = [Status::Internal, Status::Fault, Status::Device, Status::StructSize];
            prop_assert!(!found.iter().any(|status| impossible.contains(status)), "{found:?}");
        }
    }
}
