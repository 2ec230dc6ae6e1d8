//! With [`Options::batch_invariant`], a sequence's bits are the same alone and in any batch.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

use fa3::{
    Device, Element, HostInputs, HostSequences, HostTensor, Options, Window, attention, attention_with,
};
use half::bf16;
use proptest::prelude::*;

/// Heads of Q and of K, and their dimensions.
#[derive(Clone, Copy, Debug)]
struct Heads {
    q: usize,
    k: usize,
    d: usize,
    dv: usize,
}

/// One sequence: its lengths, and what decides its contents.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    queries: usize,
    keys: usize,
    seed: u64,
}

/// Deterministic, in [-2, 2).
fn values<T: Element>(len: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::from_f32((state >> 40) as f32 / (1 << 22) as f32 - 2.0)
    };
    (0..len).map(|_| next()).collect()
}

/// Q, K and V, row-major `[token, head, dim]`.
struct Tokens<T>([Vec<T>; 3]);

impl<T: Element> Tokens<T> {
    fn of(sequence: &Sequence, heads: Heads) -> Self {
        let Sequence { queries, keys, seed } = *sequence;
        Self([
            values(queries * heads.q * heads.d, 3 * seed),
            values(keys * heads.k * heads.d, 3 * seed + 1),
            values(keys * heads.k * heads.dv, 3 * seed + 2),
        ])
    }

    /// K and V followed by NaN, up to `keys` tokens.
    fn padded(mut self, keys: usize, heads: Heads) -> Self {
        self.0[1].resize(keys * heads.k * heads.d, T::from_f32(f32::NAN));
        self.0[2].resize(keys * heads.k * heads.dv, T::from_f32(f32::NAN));
        self
    }

    fn joined(all: impl Iterator<Item = Self>) -> Self {
        let mut joined = Self([Vec::new(), Vec::new(), Vec::new()]);
        for tokens in all {
            joined.0.iter_mut().zip(tokens.0).for_each(|(to, from)| to.extend(from));
        }
        joined
    }

    fn inputs(&self, batch: usize, queries: usize, keys: usize, heads: Heads) -> HostInputs<'_, T> {
        let [q, k, v] = &self.0;
        HostInputs::new(
            HostTensor::new([batch, queries, heads.q, heads.d], q).unwrap(),
            HostTensor::new([batch, keys, heads.k, heads.d], k).unwrap(),
            HostTensor::new([batch, keys, heads.k, heads.dv], v).unwrap(),
        )
    }
}

/// O `[query, head, dim]` and the LSE `[head, query]` of one sequence.
type Rows<T> = (Vec<T>, Vec<f32>);

fn alone<T: Element>(device: &Device, sequence: &Sequence, heads: Heads, options: &Options) -> Rows<T> {
    let tokens = Tokens::<T>::of(sequence, heads);
    let inputs = tokens.inputs(1, sequence.queries, sequence.keys, heads);
    let output = attention(device, inputs.q, inputs.k, inputs.v, options).unwrap();
    (output.o, output.lse)
}

/// Each sequence's rows, from one packed batch.
fn packed<T: Element>(
    device: &Device,
    sequences: &[Sequence],
    heads: Heads,
    options: &Options,
) -> Vec<Rows<T>> {
    let offsets = |length: fn(&Sequence) -> usize| {
        let ends = sequences.iter().scan(0, |end, sequence| {
            *end += length(sequence) as i32;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect::<Vec<i32>>()
    };
    let (cu_q, cu_k) = (offsets(|sequence| sequence.queries), offsets(|sequence| sequence.keys));
    let (total_q, total_k) = (*cu_q.last().unwrap() as usize, *cu_k.last().unwrap() as usize);
    let tokens = Tokens::<T>::joined(sequences.iter().map(|sequence| Tokens::of(sequence, heads)));
    let mut inputs = tokens.inputs(1, total_q, total_k, heads);
    inputs.sequences = HostSequences::Packed { cu_q: &cu_q, cu_k: &cu_k };
    let output = attention_with(device, &inputs, options).unwrap();
    let rows = cu_q.windows(2).map(|span| {
        let span = span[0] as usize..span[1] as usize;
        let o = output.o[span.start * heads.q * heads.dv..span.end * heads.q * heads.dv].to_vec();
        let lse = output.lse.chunks(total_q).flat_map(|head| head[span.clone()].to_vec()).collect();
        (o, lse)
    });
    rows.collect()
}

/// Each sequence's rows, from one padded batch; all have as many queries.
fn used_keys<T: Element>(
    device: &Device,
    sequences: &[Sequence],
    heads: Heads,
    options: &Options,
) -> Vec<Rows<T>> {
    let queries = sequences[0].queries;
    let longest = sequences.iter().map(|sequence| sequence.keys).max().unwrap();
    let used: Vec<i32> = sequences.iter().map(|sequence| sequence.keys as i32).collect();
    let tokens = sequences.iter().map(|sequence| Tokens::<T>::of(sequence, heads).padded(longest, heads));
    let tokens = Tokens::joined(tokens);
    let mut inputs = tokens.inputs(sequences.len(), queries, longest, heads);
    inputs.sequences = HostSequences::UsedKeys(&used);
    let output = attention_with(device, &inputs, options).unwrap();
    let rows = queries * heads.q;
    output
        .o
        .chunks(rows * heads.dv)
        .map(<[T]>::to_vec)
        .zip(output.lse.chunks(rows).map(<[f32]>::to_vec))
        .collect()
}

#[track_caller]
fn assert_same<T: Element>(found: &Rows<T>, expected: &Rows<T>, what: &str) {
    assert!(bytemuck::cast_slice::<T, u8>(&found.0) == bytemuck::cast_slice(&expected.0), "O of {what}");
    let bits = |lse: &[f32]| lse.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found.1), bits(&expected.1), "LSE of {what}");
}

/// The first sequence alone, then among the others, and with each of the others in its place.
fn check<T: Element>(device: &Device, sequences: &[Sequence], heads: Heads, options: Options) {
    let options = Options { batch_invariant: true, ..options };
    let expected: Vec<_> =
        sequences.iter().map(|sequence| alone::<T>(device, sequence, heads, &options)).collect();
    for count in 1..=sequences.len() {
        for (n, rows) in packed(device, &sequences[..count], heads, &options).iter().enumerate() {
            assert_same(rows, &expected[n], &format!("{:?}, packed with {count}", sequences[n]));
        }
    }
    let even: Vec<_> =
        sequences.iter().map(|sequence| Sequence { queries: sequences[0].queries, ..*sequence }).collect();
    for (sequence, rows) in even.iter().zip(used_keys::<T>(device, &even, heads, &options)) {
        assert_same(&rows, &alone(device, sequence, heads, &options), &format!("{sequence:?}, padded"));
    }
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let length = || prop_oneof![1usize..5, 1usize..200, 120usize..140, 250usize..600];
    (length(), length(), any::<u32>()).prop_map(|(queries, keys, seed)| Sequence {
        queries,
        keys,
        seed: seed.into(),
    })
}

fn options() -> impl Strategy<Value = Options> {
    let side = || prop::option::weighted(0.3, 0usize..300);
    (any::<bool>(), side(), side(), prop::option::weighted(0.3, 1f32..30.0)).prop_map(
        |(causal, left, right, softcap)| Options {
            causal,
            window: Window { left, right },
            softcap,
            ..Options::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn on_the_cpu_neighbours_do_not_change_a_row(
        sequences in prop::collection::vec(sequence(), 1..5), options in options(),
        k in 1usize..3, group in prop::sample::select(vec![1usize, 2, 7]),
        (d, dv) in prop::sample::select(vec![(64, 64), (8, 40), (33, 17)]),
    ) {
        let heads = Heads { q: k * group, k, d, dv };
        check::<f32>(&Device::cpu(), &sequences, heads, options);
        check::<bf16>(&Device::cpu(), &sequences, heads, options);
    }
}

#[cfg(feature = "emu")]
#[test]
fn on_an_emulated_gpu_neighbours_do_not_change_a_row() {
    let device = Device::emulated(fa3::CudaTarget { sms: 3, ..fa3::CudaTarget::H200 }, Default::default());
    let device = device.unwrap();
    let of = |queries, keys, seed| Sequence { queries, keys, seed };
    let sequences = [of(70, 150, 1), of(1, 9, 2), of(3, 300, 3), of(130, 1, 4)];
    let window = Window { left: Some(60), right: Some(2) };
    let plain = Options::default();
    for (n, options) in [
        plain,
        Options { causal: true, ..plain },
        Options { window, ..plain },
        Options { softcap: Some(3.0), causal: true, ..plain },
    ]
    .into_iter()
    .enumerate()
    {
        // Heads that are packed into a tile and that are not, of two kernels.
        let heads = Heads { q: 2 * [4, 1][n % 2], k: 2, d: 64, dv: 64 };
        check::<bf16>(&device, &sequences, heads, options);
        check::<half::f16>(&device, &sequences[..3], Heads { d: 40, dv: 160, ..heads }, options);
    }
}
