//! Inputs made from seeds.

use rand::SeedableRng;
use rand_distr::{Distribution as _, StandardNormal};
use rand_pcg::Pcg64Mcg;

use super::{Buffer, Case, Lengths};
use crate::{Element, Sequences, reference};

/// What the elements of Q, K and V are. N(μ, σ²) is the normal distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// N(0, 1).
    Normal,
    /// N(0, 1) + N(0, 100) · Bernoulli(0.001): FlashAttention-3's model of outlier features
    /// (Shah et al. 2024, section 4.3).
    Outliers,
    /// All one half: every visible key has the same weight.
    Constant,
    /// Q and K from N(0, 16): most rows are nearly one-hot.
    Sharp,
    /// Scores rise along the keys by 4·√d in all: the running maximum changes in every tile.
    Rising,
    /// Scores fall along the keys by 4·√d in all.
    Falling,
    /// V from N(0, 10⁶).
    LargeValues,
    /// Q is 87 and K is −87: every score is −7569·√d, below −5·10⁴ for d of 64 and more.
    HugeNegative,
    /// N(0, 1) in the sequences (or batch entries) number 0, 2, 4, …; NaN in Q, K and V of the others,
    /// whose rows of O and of the LSE may be anything if they have a key at all.
    NanNeighbours,
}

impl Distribution {
    /// Every distribution and its name.
    pub(super) const NAMES: [(Self, &'static str); 9] = [
        (Self::Normal, "normal"),
        (Self::Outliers, "outliers"),
        (Self::Constant, "constant"),
        (Self::Sharp, "sharp"),
        (Self::Rising, "rising"),
        (Self::Falling, "falling"),
        (Self::LargeValues, "large_values"),
        (Self::HugeNegative, "huge_negative"),
        (Self::NanNeighbours, "nan_neighbours"),
    ];
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Query,
    Key,
    Value,
}

/// The operands of a case that are read.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Q.
    pub q: Buffer,
    /// K; NaN beyond the used length.
    pub k: Buffer,
    /// V; NaN beyond the used length.
    pub v: Buffer,
    /// `[heads_q]`.
    pub sinks: Option<Vec<f32>>,
    /// `[heads_q]`.
    pub alibi: Option<Vec<f32>>,
    /// `[batch]`.
    pub used_k: Option<Vec<i32>>,
    /// `[count + 1]`.
    pub cu_q: Option<Vec<i32>>,
    /// `[count + 1]`.
    pub cu_k: Option<Vec<i32>>,
}

impl Inputs {
    /// The operands as the reference takes them, when `T` is their type.
    pub fn as_reference<T: Element>(&self) -> Option<reference::Inputs<'_, T>> {
        Some(reference::Inputs {
            sinks: self.sinks.as_deref(),
            alibi: self.alibi.as_deref(),
            used_k: self.used_k.as_deref(),
            cu_q: self.cu_q.as_deref(),
            cu_k: self.cu_k.as_deref(),
            ..reference::Inputs::new(self.q.as_slice()?, self.k.as_slice()?, self.v.as_slice()?)
        })
    }
}

impl Case {
    /// The inputs: the same for the same case.
    pub fn inputs(&self) -> Inputs {
        let problem = self.problem();
        let used = |batch: usize, token: usize| match &self.lengths {
            Lengths::UsedKeys(used) => used.get(batch).is_some_and(|&n| (token as i64) < i64::from(n)),
            _ => true,
        };
        let number =
            |role: Role, batch, token| !self.is_nan(self.sequence_of(role == Role::Query, batch, token));
        let tensor = |layout, role, stream| {
            let mut buffer = Buffer::poisoned(self.dtype, layout, self.arrangement.offset());
            let mut source = Source::new(self, role, stream);
            buffer.fill(
                |b, token| (role == Role::Query || used(b, token)) && number(role, b, token),
                |token| source.next(token),
            );
            buffer
        };
        let (cu_q, cu_k) = match (&self.lengths, problem.sequences) {
            (Lengths::Packed { cu_q, cu_k }, Sequences::Packed { .. }) => {
                (Some(cu_q.clone()), Some(cu_k.clone()))
            }
            _ => (None, None),
        };
        let mut sinks = Source::new(self, Role::Value, 3);
        let slope = |head: usize| (-8.0 * (head + 1) as f32 / self.heads_q as f32).exp2();
        Inputs {
            q: tensor(problem.q.layout, Role::Query, 0),
            k: tensor(problem.k.layout, Role::Key, 1),
            v: tensor(problem.v.layout, Role::Value, 2),
            sinks: self.sinks.then(|| (0..self.heads_q).map(|_| 2.0 * sinks.normal()).collect()),
            alibi: self.alibi.then(|| (0..self.heads_q).map(slope).collect()),
            used_k: match &self.lengths {
                Lengths::UsedKeys(used) => Some(used.clone()),
                _ => None,
            },
            cu_q,
            cu_k,
        }
    }
}

/// The elements of one tensor, one after the other.
struct Source {
    random: Pcg64Mcg,
    distribution: Distribution,
    role: Role,
    keys: f32,
}

impl Source {
    fn new(case: &Case, role: Role, stream: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(case.seed.wrapping_mul(4).wrapping_add(stream));
        Self { random, distribution: case.distribution, role, keys: case.sk.max(1) as f32 }
    }

    fn normal(&mut self) -> f32 {
        StandardNormal.sample(&mut self.random)
    }

    fn next(&mut self, token: usize) -> f32 {
        let trend = 4.0 * token as f32 / self.keys - 2.0;
        match (self.distribution, self.role) {
            (Distribution::Constant, _) => 0.5,
            (Distribution::HugeNegative, Role::Query) => 87.0,
            (Distribution::HugeNegative, Role::Key) => -87.0,
            (Distribution::Sharp, Role::Query | Role::Key) => 4.0 * self.normal(),
            (Distribution::Rising | Distribution::Falling, Role::Query) => 1.0 + 0.25 * self.normal(),
            (Distribution::Rising, Role::Key) => trend + 0.5 * self.normal(),
            (Distribution::Falling, Role::Key) => 0.5 * self.normal() - trend,
            (Distribution::LargeValues, Role::Value) => 1000.0 * self.normal(),
            (Distribution::Outliers, _) => {
                let common = self.normal();
                let outlier: f32 = rand_distr::StandardUniform.sample(&mut self.random);
                if outlier < 0.001 { common + 10.0 * self.normal() } else { common }
            }
            _ => self.normal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Arrangement, Need};
    use crate::{DType, Layout};

    fn case() -> Case {
        Case { batch: 2, sq: 100, sk: 100, d: 64, dv: 64, seed: 5, ..Case::default() }
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let (a, b) = (case().inputs(), case().inputs());
        assert_eq!(a.k.elements.bytes(), b.k.elements.bytes());
        assert_ne!(a.k.values(), a.v.values());
        let other = Case { seed: 6, ..case() }.inputs();
        assert_ne!(a.k.values(), other.k.values());
    }

    #[test]
    fn distributions_have_their_moments() {
        let draw = |distribution| Case { distribution, sk: 2000, dtype: DType::F32, ..case() }.inputs();
        let (mean, variance) = moments(&draw(Distribution::Normal).k.values());
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
        let outliers = draw(Distribution::Outliers).v.values();
        let (mean, variance) = moments(&outliers);
        assert!(mean.abs() < 0.01 && (variance - 1.1).abs() < 0.05, "{mean} {variance}");
        assert!(outliers.iter().any(|v| v.abs() > 15.0));
        let (_, variance) = moments(&draw(Distribution::LargeValues).v.values());
        assert!((variance / 1e6 - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn what_lies_outside_the_layout_is_nan() {
        let case = Case { arrangement: Arrangement::Padded, ..case() };
        let inputs = case.inputs();
        assert!(inputs.k.values().iter().all(|value| value.is_finite()));
        let all = inputs.k.elements.as_slice::<half::bf16>().unwrap();
        let finite = all.iter().filter(|value| value.to_f32().is_finite()).count();
        assert_eq!(finite, 2 * 100 * 64);
        assert!(all.len() > finite + 100);
    }

    #[test]
    fn keys_beyond_the_used_length_are_nan() {
        let case = Case { lengths: Lengths::UsedKeys(vec![3, 100]), ..case() };
        assert_eq!(case.needs(), [Need::UsedKeys]);
        let finite = case.inputs().v.values().iter().filter(|value| value.is_finite()).count();
        assert_eq!(finite, 103 * 64);
    }

    #[test]
    fn every_other_sequence_may_be_nan() {
        let (cu_q, cu_k) = (vec![0, 0, 30, 100], vec![0, 20, 50, 100]);
        let lengths = Lengths::Packed { cu_q, cu_k };
        let packed = Case { batch: 1, lengths, distribution: Distribution::NanNeighbours, ..case() };
        let tokens = |values: Vec<f64>| -> Vec<usize> {
            let finite = values.chunks(64).enumerate().filter(|(_, row)| row.iter().all(|v| v.is_finite()));
            finite.map(|(token, _)| token).collect()
        };
        let inputs = packed.inputs();
        assert_eq!(tokens(inputs.q.values()), (30..100).collect::<Vec<_>>());
        assert_eq!(tokens(inputs.k.values()), (0..20).chain(50..100).collect::<Vec<_>>());
        let dense = Case { distribution: Distribution::NanNeighbours, ..case() };
        assert_eq!(tokens(dense.inputs().v.values()), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn expanded_heads_are_one_copy() {
        let case = Case { arrangement: Arrangement::ExpandHeads, heads_q: 4, heads_k: 4, ..case() };
        assert_eq!(case.needs(), [Need::ZeroStride]);
        assert_eq!(case.problem().k.layout, Layout { shape: [2, 100, 4, 64], strides: [6400, 64, 0, 1] });
        let values = case.inputs().k.values();
        assert_eq!(values[..64], values[64..128]);
    }
}
