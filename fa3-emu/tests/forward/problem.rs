//! A forward problem, its operands, and what attention is of them.

use half::{bf16, f16};

use fa3_kernels::Operand;

/// A dense problem; operands are `[batch, sequence, heads, dim]`.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub operand: Operand,
    pub dim: usize,
    pub batch: usize,
    pub sq: usize,
    pub sk: usize,
    pub heads_q: usize,
    pub heads_k: usize,
    pub causal: bool,
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
        let (queries, keys) = (self.sq * self.heads_q * self.dim, self.sk * self.heads_k * self.dim);
        Operands { q: draw(self.batch * queries), k: draw(self.batch * keys), v: draw(self.batch * keys) }
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
        let &Self { dim, sq, sk, heads_q, heads_k, .. } = self;
        let mut o = vec![0.0; q.len()];
        let mut lse = vec![f64::NEG_INFINITY; self.batch * heads_q * sq];
        for batch in 0..self.batch {
            for head in 0..heads_q {
                let of_head = head / (heads_q / heads_k);
                let key = |j: usize| ((batch * sk + j) * heads_k + of_head) * dim;
                for i in 0..sq {
                    let row = ((batch * sq + i) * heads_q + head) * dim;
                    let seen = if self.causal { (i + 1 + sk).saturating_sub(sq).min(sk) } else { sk };
                    let scores: Vec<f64> = (0..seen)
                        .map(|j| score(&q[row..row + dim], &k[key(j)..key(j) + dim]))
                        .map(|score| score * f64::from(self.scale()))
                        .collect();
                    let Some(maximum) = scores.iter().copied().reduce(f64::max) else { continue };
                    let weights: Vec<f64> = scores.iter().map(|score| (score - maximum).exp()).collect();
                    let sum: f64 = weights.iter().sum();
                    lse[(batch * heads_q + head) * sq + i] = maximum + sum.ln();
                    for (j, &weight) in weights.iter().enumerate() {
                        let weight = round(weight);
                        for (o, v) in o[row..row + dim].iter_mut().zip(&v[key(j)..key(j) + dim]) {
                            *o += weight * f64::from(*v);
                        }
                    }
                    o[row..row + dim].iter_mut().for_each(|o| *o = round(*o / sum));
                }
            }
        }
        Attention { o, lse }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn dot_in_f32(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>().into()
}
