//! Ragged batches on an emulated GPU: every check on, under every order of delivery.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

#[path = "common/minilm.rs"]
mod minilm;
#[path = "common/ragged.rs"]
mod ragged;
#[path = "common/run.rs"]
mod run;

use fa3::fa3_emu::{Options, Order};
use fa3::{CudaTarget, Device};

/// Few SMs, so that kernels persist over many tiles.
const TARGET: CudaTarget = CudaTarget { sms: 3, ..CudaTarget::H200 };
const ORDERS: [Order; 3] = [Order::Eager, Order::Lazy, Order::Seeded(5)];

/// Does something on a device of each order.
#[track_caller]
fn each(act: impl Fn(&Device) -> Result<(), run::Failed>) {
    for order in ORDERS {
        let device = Device::emulated(TARGET, Options { order, ..Options::default() }).unwrap();
        act(&device).unwrap_or_else(|error| panic!("on {device}: {error}"));
    }
}

#[test]
fn the_real_data_is_right() {
    each(|device| {
        minilm::device_agrees_with_the_files(device);
        Ok(())
    });
}

#[test]
fn neighbours_do_not_change_a_row() {
    each(|device| ragged::neighbours_do_not_change_a_row(device, 1302));
}

#[test]
fn rows_of_no_sequence_stay_as_they_were() {
    each(ragged::rows_of_no_sequence_stay_as_they_were);
}

#[test]
fn any_lengths_stay_within_the_tensors() {
    each(ragged::any_lengths_stay_within_the_tensors);
}
