//! The reference against Q, K and V of a pretrained transformer, whose outputs were computed
//! elsewhere in f64.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::Path;

use fa3::reference::{Inputs, forward, low_precision};
use fa3::{DType, Layout, Options, Problem, Sequences, TensorSpec};
use half::bf16;
use safetensors::SafeTensors;

/// Sequences of 512, 129, 17 and 1 tokens; 12 heads of 32.
const SHAPE: [usize; 4] = [1, 659, 12, 32];

struct Layer {
    q: Vec<bf16>,
    k: Vec<bf16>,
    v: Vec<bf16>,
    o: Vec<f32>,
    lse: Vec<f32>,
    cu: Vec<i32>,
}

impl Layer {
    fn load(layer: usize) -> Self {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/minilm_layer{layer}.safetensors"));
        let bytes = std::fs::read(path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        fn read<T: bytemuck::Pod>(file: &SafeTensors<'_>, name: &str) -> Vec<T> {
            let bytes = file.tensor(name).unwrap().data();
            bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
        }
        Self {
            q: read(&file, "q"),
            k: read(&file, "k"),
            v: read(&file, "v"),
            o: read(&file, "o"),
            lse: read(&file, "lse"),
            cu: read(&file, "cu_seqlens"),
        }
    }

    fn inputs(&self) -> Inputs<'_, bf16> {
        Inputs { cu_q: Some(&self.cu), cu_k: Some(&self.cu), ..Inputs::new(&self.q, &self.k, &self.v) }
    }
}

fn problem() -> Problem {
    let spec = TensorSpec { dtype: DType::Bf16, layout: Layout::contiguous(SHAPE) };
    Problem {
        q: spec,
        k: spec,
        v: spec,
        o: spec,
        lse: true,
        sinks: false,
        alibi: false,
        sequences: Sequences::Packed { count: 4, max_q: 512, max_k: 512 },
        options: Options::default(),
    }
}

fn largest_difference(a: &[f64], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(&a, &b)| (a - f64::from(b)).abs()).fold(0.0, f64::max)
}

#[test]
fn the_reference_agrees_with_the_files() {
    for layer in [0, 5] {
        let data = Layer::load(layer);
        let output = forward(&problem(), &data.inputs()).unwrap();
        // The files hold f32: half a unit in the last place of values up to 4, and of LSEs up to 128.
        let (o, lse) = (largest_difference(&output.o, &data.o), largest_difference(&output.lse, &data.lse));
        assert!(o < 2e-7 && lse < 6e-6, "layer {layer}: o {o:e}, lse {lse:e}");
    }
}

#[test]
fn low_precision_is_near_but_not_exact() {
    for layer in [0, 5] {
        let data = Layer::load(layer);
        let output = low_precision(&problem(), &data.inputs()).unwrap();
        let o = largest_difference(&output.o, &data.o);
        assert!(o > 1e-4 && o < 2e-2, "layer {layer}: {o:e}");
    }
}
