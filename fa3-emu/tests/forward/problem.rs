//! A forward problem, its operands, and what attention is of them.

use half::{bf16, f16};

use fa3_kernels::Operand;

/// A problem; operands are `[batch, sequence, heads, dim]`.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub operand: Operand,
    pub dim: usize,
    pub value_dim: usize,
    pub batch: usize,
    pub sq: usize,
    pub sk: usize,
    pub heads_q: usize,
    pub heads_k: usize,
    pub causal: bool,
    /// Keys before its own that a query sees.
    pub left: Option<usize>,
    pub softcap: Option<f32>,
    pub alibi: bool,
    pub sinks: bool,
    /// Whether the query heads of a K/V head share tiles.
    pub packed_heads: bool,
    /// Whether each batch entry after the first uses fewer keys than there are, as a list of tiles says.
    pub ragged: bool,
}

/// The operands, rounded to the operand type.
pub struct Operands {
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
}

/// O, and the log-sum-exp as `[batch, heads, sq]`.
pub struct Attention {
    pub o: Vec<f64>,
    pub lse: Vec<f64>,
}

impl Problem {
    /// One head of 128 queries and keys, of 64.
    pub const PLAIN: Self = Self {
        operand: Operand::Bf16,
        dim: 64,
        value_dim: 64,
        batch: 1,
        sq: 128,
        sk: 128,
        heads_q: 1,
        heads_k: 1,
        causal: false,
        left: None,
        softcap: None,
        alibi: false,
        sinks: false,
        packed_heads: false,
        ragged: false,
    };

    /// Keys that a batch entry uses: all, two thirds, none, and so on.
    pub fn used(&self, batch: usize) -> usize {
        if self.ragged { self.sk * [3, 2, 0, 1][batch % 4] / 3 } else { self.sk }
    }

    /// The ALiBi slope of a head.
    pub fn slope(&self, head: usize) -> f32 {
        if self.alibi { 0.25 / (head + 1) as f32 } else { 0.0 }
    }

    /// The sink of a head.
    pub fn sink(&self, head: usize) -> f32 {
        if self.sinks { 1.5 - head as f32 } else { f32::NEG_INFINITY }
    }

    /// The nearest value of the operand type.
    pub fn round(&self, value: f32) -> f32 {
        match self.operand {
            Operand::F16 => f16::from_f32(value).to_f32(),
            Operand::Bf16 => bf16::from_f32(value).to_f32(),
        }
    }

    /// The bytes of values that are exact in the operand type.
    pub fn encode(&self, values: &[f32]) -> Vec<u8> {
        let bits = |value| match self.operand {
            Operand::F16 => f16::from_f32(value).to_bits(),
            Operand::Bf16 => bf16::from_f32(value).to_bits(),
        };
        values.iter().flat_map(|&value| bits(value).to_le_bytes()).collect()
    }

    /// The values of such bytes.
    pub fn decode(&self, bytes: &[u8]) -> Vec<f32> {
        let value = |pair: &[u8]| {
            let bits = u16::from_le_bytes([pair[0], pair[1]]);
            match self.operand {
                Operand::F16 => f16::from_bits(bits).to_f32(),
                Operand::Bf16 => bf16::from_bits(bits).to_f32(),
            }
        };
        bytes.chunks_exact(2).map(value).collect()
    }

    /// Values of about unit variance, the same every time.
    pub fn operands(&self) -> Operands {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = |count: usize| -> Vec<f32> {
            let value = || {
                // The sum of four uniform numbers is near enough to a normal one.
                let sum: f32 = (0..4)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
                    })
                    .sum();
                self.round(sum * 1.732)
            };
            std::iter::repeat_with(value).take(count).collect()
        };
        let (queries, keys) = (self.sq * self.heads_q, self.sk * self.heads_k);
        let q = draw(self.batch * queries * self.dim);
        let (mut k, mut v) = (draw(self.batch * keys * self.dim), draw(self.batch * keys * self.value_dim));
        for batch in 0..self.batch {
            // What no query sees may be anything.
            let unused = |width: usize| {
                let first = |token: usize| (batch * self.sk + token) * self.heads_k * width;
                first(self.used(batch))..first(self.sk)
            };
            k[unused(self.dim)].fill(f32::NAN);
            v[unused(self.value_dim)].fill(f32::NAN);
        }
        Operands { q, k, v }
    }

    /// The scale of the scores.
    pub fn scale(&self) -> f32 {
        1.0 / (self.dim as f32).sqrt()
    }

    /// Attention in f64.
    pub fn exact(&self, operands: &Operands) -> Attention {
        self.attention(operands, dot, &|value| value)
    }

    /// Attention in the plain arithmetic of the operand type: scores in f32, probabilities and the
    /// output rounded.
    pub fn plain(&self, operands: &Operands) -> Attention {
        self.attention(operands, dot_in_f32, &|value| self.round(value as f32).into())
    }

    fn attention(
        &self,
        operands: &Operands,
        score: fn(&[f32], &[f32]) -> f64,
        round: &dyn Fn(f64) -> f64,
    ) -> Attention {
        let Operands { q, k, v } = operands;
        let &Self { dim, value_dim, sq, heads_q, heads_k, .. } = self;
        let mut o = vec![0.0; self.batch * sq * heads_q * value_dim];
        let mut lse = vec![f64::NEG_INFINITY; self.batch * heads_q * sq];
        for batch in 0..self.batch {
            for head in 0..heads_q {
                let of_head = head / (heads_q / heads_k);
                let key = |j: usize| (batch * self.sk + j) * heads_k + of_head;
                for i in 0..sq {
                    let row = (batch * sq + i) * heads_q + head;
                    let seen = self.seen(batch, i);
                    let scores: Vec<f64> = seen
                        .clone()
                        .map(|j| score(&q[row * dim..][..dim], &k[key(j) * dim..][..dim]))
                        .map(|score| score * f64::from(self.scale()))
                        .map(|score| {
                            self.softcap.map_or(score, |cap| f64::from(cap) * (score / f64::from(cap)).tanh())
                        })
                        .zip(seen.clone())
                        .map(|(score, j)| score - f64::from(self.slope(head)) * self.distance(batch, i, j))
                        .collect();
                    let sink = f64::from(self.sink(head));
                    let maximum = scores.iter().copied().fold(sink, f64::max);
                    if maximum == f64::NEG_INFINITY {
                        continue;
                    }
                    let weights: Vec<f64> = scores.iter().map(|score| (score - maximum).exp()).collect();
                    let sum = weights.iter().sum::<f64>() + (sink - maximum).exp();
                    lse[(batch * heads_q + head) * sq + i] = maximum + sum.ln();
                    let o = &mut o[row * value_dim..][..value_dim];
                    for (j, &weight) in seen.zip(&weights) {
                        let weight = round(weight);
                        for (o, v) in o.iter_mut().zip(&v[key(j) * value_dim..][..value_dim]) {
                            *o += weight * f64::from(*v);
                        }
                    }
                    o.iter_mut().for_each(|o| *o = round(*o / sum));
                }
            }
        }
        Attention { o, lse }
    }

    /// The keys that a query sees.
    fn seen(&self, batch: usize, query: usize) -> core::ops::Range<usize> {
        let keys = self.used(batch);
        let end = if self.causal { (query + 1 + keys).saturating_sub(self.sq).min(keys) } else { keys };
        let position = (query + keys).saturating_sub(self.sq);
        let start = self.left.map_or(0, |left| position.saturating_sub(left));
        start.min(end)..end
    }

    /// Between a query's place among the keys and a key.
    fn distance(&self, batch: usize, query: usize, key: usize) -> f64 {
        ((query + self.used(batch)) as f64 - (self.sq + key) as f64).abs()
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn dot_in_f32(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>().into()
}
