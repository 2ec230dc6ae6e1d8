//! Ragged batches on the GPU. Fails where there is none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "common/minilm.rs"]
mod minilm;
#[path = "common/ragged.rs"]
mod ragged;
#[path = "common/run.rs"]
mod run;

use fa3::Device;

fn device() -> Device {
    Device::cuda(0).unwrap()
}

#[test]
fn the_real_data_is_right() {
    minilm::device_agrees_with_the_files(&device());
}

#[test]
fn neighbours_do_not_change_a_row() {
    ragged::neighbours_do_not_change_a_row(&device(), 19_802).unwrap();
}

#[test]
fn rows_of_no_sequence_stay_as_they_were() {
    ragged::rows_of_no_sequence_stay_as_they_were(&device()).unwrap();
}

#[test]
fn any_lengths_stay_within_the_tensors() {
    ragged::any_lengths_stay_within_the_tensors(&device()).unwrap();
}
