//! The reference and the CPU against Q, K and V of a pretrained transformer, whose outputs were computed
//! elsewhere in f64.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "common/minilm.rs"]
mod minilm;

use fa3::Device;
use fa3::reference::{forward, low_precision};

use minilm::{LAYERS, Layer, device_agrees_with_the_files, largest_difference, problem};

#[test]
fn the_reference_agrees_with_the_files() {
    for (layer, file) in LAYERS {
        let data = Layer::read(file);
        let output = forward(&problem(), &data.inputs()).unwrap();
        // The files hold f32: half a unit in the last place of values up to 4, and of LSEs up to 128.
        let (o, lse) = (largest_difference(&output.o, &data.o), largest_difference(&output.lse, &data.lse));
        assert!(o < 2e-7 && lse < 6e-6, "layer {layer}: o {o:e}, lse {lse:e}");
    }
}

#[test]
fn low_precision_is_near_but_not_exact() {
    for (layer, file) in LAYERS {
        let data = Layer::read(file);
        let output = low_precision(&problem(), &data.inputs()).unwrap();
        let o = largest_difference(&output.o, &data.o);
        assert!(o > 1e-4 && o < 2e-2, "layer {layer}: {o:e}");
    }
}

#[test]
#[cfg(feature = "cpu")]
fn the_cpu_agrees_with_the_files() {
    device_agrees_with_the_files(&Device::cpu());
}
