//! Merging partial results on the GPU. Fails where there is none.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

#[path = "common/merge_layouts.rs"]
mod merge_layouts;
#[path = "common/merges.rs"]
mod merges;

use fa3::Device;

fn device() -> Device {
    Device::cuda(0).unwrap()
}

#[test]
fn the_kernel_gives_what_the_reference_does() {
    let device = device();
    for case in merges::CASES {
        for types in merges::TYPES {
            merges::check(&device, case, types);
        }
    }
}

#[test]
fn tensors_need_not_be_contiguous() {
    merge_layouts::strides_are_honoured(&device());
}

#[test]
fn attention_over_parts_of_the_keys_merges_into_attention_over_all() {
    merge_layouts::parts_of_the_keys_are_all_of_them(&device());
}
