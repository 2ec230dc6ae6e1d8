//! Merging partial results on an emulated GPU, every check on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

#[path = "common/merge_layouts.rs"]
mod merge_layouts;
#[path = "common/merges.rs"]
mod merges;

use fa3::fa3_emu::{Options, Order};
use fa3::{CudaTarget, Device};

fn device(order: Order) -> Device {
    Device::emulated(CudaTarget::H200, Options { order, ..Options::default() }).unwrap()
}

#[test]
fn the_kernel_gives_what_the_reference_does() {
    let device = device(Order::Lazy);
    for case in merges::CASES {
        for types in merges::TYPES {
            merges::check(&device, case, types);
        }
    }
}

#[test]
fn tensors_need_not_be_contiguous() {
    merge_layouts::strides_are_honoured(&device(Order::Eager));
}

#[test]
fn attention_over_parts_of_the_keys_merges_into_attention_over_all() {
    merge_layouts::parts_of_the_keys_are_all_of_them(&device(Order::Seeded(1)));
}
