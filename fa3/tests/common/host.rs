//! A problem whose operands lie on the host, and what the CPU makes of it.

use std::sync::Arc;

use fa3::{
    Backend, Buffer, DType, Device, HostInputs, HostSequences, HostTensor, Operands, Options, Problem,
    Sequences, Sizes, Tensor, attention_with,
};
use half::bf16;

/// Deterministic, in [-1, 1).
fn values(len: usize, seed: u32) -> Vec<bf16> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bf16::from_f32((state >> 8) as f32 / (1 << 23) as f32 - 1.0)
    };
    (0..len).map(|_| next()).collect()
}

/// Lengths that no tile divides; two query heads share one of K and V.
pub const SIZES: Sizes = Sizes { heads_k: 2, sk: 333, ..Sizes::new(2, 200, 4, 128) };
/// Causal.
pub const OPTIONS: Options = Options { causal: true, ..Options::PLAIN };

/// Operands in this process's memory.
pub struct Host {
    pub q: Vec<bf16>,
    pub k: Vec<bf16>,
    pub v: Vec<bf16>,
}

/// Of a tensor of this many rows and heads.
pub fn shape(sequence: usize, heads: usize) -> [usize; 4] {
    [SIZES.batch, sequence, heads, SIZES.d]
}

/// Operands that the seed decides.
pub fn host(seed: u32) -> Host {
    let len = |shape: [usize; 4]| shape.iter().product();
    let (sq, sk) = (shape(SIZES.sq, SIZES.heads_q), shape(SIZES.sk, SIZES.heads_k));
    Host { q: values(len(sq), seed), k: values(len(sk), seed + 1), v: values(len(sk), seed + 2) }
}

impl Host {
    /// What the CPU makes of it.
    pub fn expected(&self) -> Vec<bf16> {
        self.on(&Device::cpu())
    }

    /// What a device makes of it.
    pub fn on(&self, device: &Device) -> Vec<bf16> {
        self.computed(device, HostSequences::Dense)
    }

    /// What the CPU makes of it when sequences use only some keys.
    pub fn expected_of(&self, used: &[i32]) -> Vec<bf16> {
        self.computed(&Device::cpu(), HostSequences::UsedKeys(used))
    }

    fn computed(&self, device: &Device, sequences: HostSequences<'_>) -> Vec<bf16> {
        let q = HostTensor::new(shape(SIZES.sq, SIZES.heads_q), &self.q).unwrap();
        let k = HostTensor::new(shape(SIZES.sk, SIZES.heads_k), &self.k).unwrap();
        let v = HostTensor::new(shape(SIZES.sk, SIZES.heads_k), &self.v).unwrap();
        let inputs = HostInputs { sequences, ..HostInputs::new(q, k, v) };
        attention_with(device, &inputs, &OPTIONS).unwrap().o
    }

    /// The operands on a device; O, all zero; and what Q, K and V lie in.
    pub fn upload(&self, backend: &Arc<dyn Backend>) -> (Operands, Buffer, [Buffer; 3]) {
        let inputs = [&self.q, &self.k, &self.v]
            .map(|data| Buffer::from_bytes(backend, bytemuck::cast_slice(data)).unwrap());
        let o = Buffer::zeroed(backend, self.q.len() * size_of::<bf16>()).unwrap();
        let (tensor, problem) =
            (|buffer: &Buffer, spec| Tensor { pointer: buffer.pointer(), spec }, problem());
        let operands = Operands::new(
            tensor(&inputs[0], problem.q),
            tensor(&inputs[1], problem.k),
            tensor(&inputs[2], problem.v),
            tensor(&o, problem.o),
        );
        (operands, o, inputs)
    }
}

/// Two roundings to bf16 of values up to 1 apart.
#[track_caller]
pub fn assert_close(actual: &[bf16], expected: &[bf16]) {
    assert_eq!(actual.len(), expected.len());
    for (index, (a, e)) in actual.iter().zip(expected).enumerate() {
        assert!((a.to_f32() - e.to_f32()).abs() <= 1.0 / 64.0, "element {index}: {a} instead of {e}");
    }
}

/// The problem of these operands, without the LSE.
pub fn problem() -> Problem {
    Problem { lse: false, ..Problem::dense(DType::Bf16, SIZES, OPTIONS) }
}

/// The same, of sequences that use only some keys.
pub fn ragged() -> Problem {
    Problem { sequences: Sequences::UsedKeys, ..problem() }
}

/// Keys that the sequences of [`ragged`] use: first some, then others.
pub const USED: [[i32; 2]; 2] = [[333, 150], [7, 260]];
