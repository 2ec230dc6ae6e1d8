//! One row of attention.

use super::RowResult;
use crate::{Element, Options};

/// What one row is computed from: its query, and its sequence's keys and values of one head.
pub(super) struct View<'a, N> {
    /// `[d]`.
    pub(super) q: &'a [N],
    /// `[sk, d]`.
    pub(super) k: &'a [N],
    /// `[sk, dv]`.
    pub(super) v: &'a [N],
    pub(super) dv: usize,
    /// The row, counted within its sequence.
    pub(super) query: usize,
    /// Queries of the sequence.
    pub(super) sq: usize,
    /// Keys of the sequence.
    pub(super) sk: usize,
    pub(super) options: &'a Options,
    pub(super) sink: Option<f32>,
    /// ALiBi's slope.
    pub(super) slope: Option<f32>,
}

impl<N> View<'_, N> {
    /// How far the key lies before the query; negative for a key after it.
    fn distance(&self, key: usize) -> i128 {
        self.query as i128 + self.sk as i128 - self.sq as i128 - key as i128
    }

    fn sees(&self, key: usize) -> bool {
        let distance = self.distance(key);
        let within = |limit: Option<usize>, steps: i128| limit.is_none_or(|limit| steps <= limit as i128);
        let window = self.options.window;
        !(self.options.causal && distance < 0)
            && within(window.left, distance)
            && within(window.right, -distance)
    }

    fn visible(&self) -> Vec<usize> {
        (0..self.sk).filter(|&key| self.sees(key)).collect()
    }

    fn key(&self, key: usize) -> &[N] {
        let d = self.q.len();
        &self.k[key * d..(key + 1) * d]
    }

    fn value(&self, key: usize) -> &[N] {
        &self.v[key * self.dv..(key + 1) * self.dv]
    }
}

/// The sum of products, in eight interleaved parts so that it vectorises.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f64 = rest.map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..8 {
            parts[lane] += x[lane] * y[lane];
        }
    }
    parts.into_iter().fold(rest, |sum, part| sum + part)
}

/// The sum of products, one after the other.
fn plain_dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (x, y)| sum + x * y)
}

pub(super) fn exact(view: &View<'_, f64>) -> RowResult {
    let scale = f64::from(view.options.scale_for(view.q.len()));
    let keys = view.visible();
    let logit = |&key: &usize| {
        let mut score = scale * dot(view.q, view.key(key));
        if let Some(cap) = view.options.softcap.map(f64::from) {
            score = cap * (score / cap).tanh();
        }
        if let Some(slope) = view.slope.map(f64::from) {
            score -= slope * view.distance(key).abs() as f64;
        }
        score
    };
    let logits: Vec<f64> = keys.iter().map(logit).collect();
    let sink = view.sink.map_or(f64::NEG_INFINITY, f64::from);
    let mut o = vec![0.0; view.dv];
    if sink.is_nan() || logits.iter().any(|logit| logit.is_nan()) {
        o.fill(f64::NAN);
        return RowResult { o, lse: f64::NAN };
    }
    let max = logits.iter().copied().fold(sink, f64::max);
    if max == f64::NEG_INFINITY {
        return RowResult { o, lse: max };
    }
    let mut sum = (sink - max).exp();
    for (&key, logit) in keys.iter().zip(logits) {
        let weight = (logit - max).exp();
        sum += weight;
        for (o, &v) in o.iter_mut().zip(view.value(key)) {
            *o += weight * v;
        }
    }
    o.iter_mut().for_each(|o| *o /= sum);
    RowResult { o, lse: max + sum.ln() }
}

pub(super) fn low_precision<T: Element>(view: &View<'_, f32>) -> RowResult {
    let round = |value: f32| T::from_f32(value).to_f32();
    let scale = view.options.scale_for(view.q.len());
    let keys = view.visible();
    let logit = |&key: &usize| {
        let mut score = scale * plain_dot(view.q, view.key(key));
        if let Some(cap) = view.options.softcap {
            score = cap * (score / cap).tanh();
        }
        if let Some(slope) = view.slope {
            score -= slope * view.distance(key).abs() as f32;
        }
        score
    };
    let logits: Vec<f32> = keys.iter().map(logit).collect();
    let sink = view.sink.unwrap_or(f32::NEG_INFINITY);
    if sink.is_nan() || logits.iter().any(|logit| logit.is_nan()) {
        return RowResult { o: vec![f64::NAN; view.dv], lse: f64::NAN };
    }
    let max = logits.iter().copied().fold(sink, f32::max);
    let mut o = vec![0.0f32; view.dv];
    if max == f32::NEG_INFINITY {
        return RowResult { o: vec![0.0; view.dv], lse: f64::NEG_INFINITY };
    }
    let mut sum = (sink - max).exp();
    for (&key, logit) in keys.iter().zip(logits) {
        let weight = (logit - max).exp();
        sum += weight;
        let weight = round(weight);
        for (o, &v) in o.iter_mut().zip(view.value(key)) {
            *o += weight * v;
        }
    }
    let o = o.into_iter().map(|o| f64::from(round(o / sum))).collect();
    RowResult { o, lse: f64::from(max + sum.ln()) }
}
