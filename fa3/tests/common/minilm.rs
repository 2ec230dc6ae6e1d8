//! Q, K and V of a pretrained transformer, and the attention that was computed elsewhere in f64 from them.

#![allow(dead_code, reason = "the reference's test needs other parts than those of devices")]

use fa3::reference::{Inputs, low_precision};
use fa3::{
    DType, Device, HostInputs, HostSequences, HostTensor, Layout, Options, Problem, Sequences, TensorSpec,
    attention_with,
};
use half::bf16;
use safetensors::SafeTensors;

/// Sequences of 512, 129, 17 and 1 tokens; 12 heads of 32.
pub const SHAPE: [usize; 4] = [1, 659, 12, 32];

/// The files, by layer; a machine that runs the tests may have no sources.
pub const LAYERS: [(usize, &[u8]); 2] = [
    (0, include_bytes!("../data/minilm_layer0.safetensors")),
    (5, include_bytes!("../data/minilm_layer5.safetensors")),
];

/// What a file holds.
pub struct Layer {
    pub q: Vec<bf16>,
    pub k: Vec<bf16>,
    pub v: Vec<bf16>,
    pub o: Vec<f32>,
    pub lse: Vec<f32>,
    pub cu: Vec<i32>,
}

impl Layer {
    pub fn read(file: &[u8]) -> Self {
        let file = SafeTensors::deserialize(file).unwrap();
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

    pub fn inputs(&self) -> Inputs<'_, bf16> {
        Inputs { cu_q: Some(&self.cu), cu_k: Some(&self.cu), ..Inputs::new(&self.q, &self.k, &self.v) }
    }
}

pub fn problem() -> Problem {
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

/// Of one that was computed and one of a file.
pub fn largest_difference<T: Copy + Into<f64>>(a: &[T], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().zip(b).map(|(&a, &b)| (a.into() - f64::from(b)).abs());
    // Not by `f64::max`, which drops NaN.
    differences.fold(0.0, |largest, difference| if difference <= largest { largest } else { difference })
}

/// What a device computes is as near to the files as the plain computation in low precision, twice.
pub fn device_agrees_with_the_files(device: &Device) {
    for (layer, file) in LAYERS {
        let data = Layer::read(file);
        let tensor = |data| HostTensor::new(SHAPE, data).unwrap();
        let sequences = HostSequences::Packed { cu_q: &data.cu, cu_k: &data.cu };
        let inputs =
            HostInputs { sequences, ..HostInputs::new(tensor(&data.q), tensor(&data.k), tensor(&data.v)) };
        let output = attention_with(device, &inputs, &Options::default()).unwrap();
        let plain = low_precision(&problem(), &data.inputs()).unwrap();
        let bound = 2.0 * largest_difference(&plain.o, &data.o);
        let o = largest_difference(&output.o, &data.o);
        assert!(o <= bound, "layer {layer}: O is off by {o:e}, more than {bound:e}");
        let lse = largest_difference(&output.lse, &data.lse);
        let most = data.lse.iter().fold(0f32, |most, lse| lse.abs().max(most));
        assert!(lse <= 1e-6 * f64::from(most), "layer {layer}: the LSE is off by {lse:e}");
    }
}
