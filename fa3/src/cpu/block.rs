//! One block of query rows against all of its keys.

use core::ops::Range;

use super::Context;
use super::matrix::{Matrix, product, product_transposed};
use super::softmax::{Adjustments, State, advance};
use crate::lengths::Sequence;
use crate::{Element, Window};

/// Query rows of a block.
pub(super) const BLOCK: usize = 128;
/// Keys of a tile.
const TILE: usize = 256;

/// Buffers of one thread, kept from block to block.
#[derive(Default)]
pub(super) struct Scratch {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    scores: Vec<f32>,
    o: Vec<f32>,
}

/// Rows `first..first + rows` of one head of one sequence.
pub(super) struct Block<'a, T> {
    pub(super) context: &'a Context<'a, T>,
    pub(super) sequence: Sequence,
    pub(super) head: usize,
    pub(super) first: usize,
    pub(super) rows: usize,
}

impl<T: Element> Block<'_, T> {
    pub(super) fn compute(&self, scratch: &mut Scratch) {
        let Scratch { q, k, v, scores, o } = scratch;
        let (context, sequence) = (self.context, self.sequence);
        let problem = context.problem;
        let (d, dv) = (problem.q.layout.shape[3], problem.v.layout.shape[3]);
        let head_k = self.head / (problem.q.layout.shape[2] / problem.k.layout.shape[2].max(1)).max(1);
        let scale = problem.options.scale_for(d);
        let slope = context.alibi.and_then(|slopes| slopes.get(self.head)).copied();

        let visible: Vec<_> = (0..self.rows).map(|row| self.visible(self.first + row)).collect();
        let keys = visible.iter().filter(|keys| !keys.is_empty());
        let (start, end) = keys.fold((usize::MAX, 0), |(a, b), keys| (a.min(keys.start), b.max(keys.end)));
        let mut state = State::new(self.rows);
        o.clear();
        o.resize(self.rows * dv, 0.0);
        scores.resize(BLOCK * TILE, 0.0);
        let q = context.q.rows(sequence.batch, sequence.q_start + self.first, self.head, self.rows, q);
        let mut tile = start;
        while tile < end {
            let width = TILE.min(end - tile);
            let token = sequence.k_start + tile;
            let scores = &mut scores[..self.rows * width];
            let k = context.k.rows(sequence.batch, token, head_k, width, k);
            product_transposed(scores, q, k, scale);
            let within = |keys: &Range<usize>| {
                let start = keys.start.clamp(tile, tile + width) - tile;
                start..(keys.end.clamp(tile, tile + width) - tile).max(start)
            };
            let in_tile: Vec<_> = visible.iter().map(within).collect();
            let adjustments = Adjustments {
                softcap: problem.options.softcap,
                slope,
                distance: position(&sequence, self.first) - tile as i64,
            };
            advance(scores, width, &in_tile, adjustments, &mut state);
            for (o, &correction) in o.chunks_exact_mut(dv).zip(&state.correction) {
                if correction != 1.0 {
                    o.iter_mut().for_each(|o| *o *= correction);
                }
            }
            let v = context.v.rows(sequence.batch, token, head_k, width, v);
            product(o, Matrix::of(scores, self.rows, width), v, true);
            tile += width;
        }
        self.finish(o, dv, &state);
    }

    /// The keys that a row sees, within its sequence.
    fn visible(&self, row: usize) -> Range<usize> {
        let Window { left, right } = self.context.problem.options.effective_window();
        let position = position(&self.sequence, row);
        let keys = self.sequence.k_len as i64;
        let steps = |steps: usize| i64::try_from(steps).unwrap_or(i64::MAX);
        let start = left.map_or(0, |left| position.saturating_sub(steps(left))).clamp(0, keys);
        let end = right.map_or(keys, |right| position.saturating_add(steps(right)).saturating_add(1));
        start as usize..end.clamp(start, keys) as usize
    }

    /// Adds the sink, divides by the softmax's denominator and stores O and the LSE.
    fn finish(&self, o: &[f32], dv: usize, state: &State) {
        let (context, sequence) = (self.context, self.sequence);
        let sink =
            context.sinks.and_then(|sinks| sinks.get(self.head)).map_or(f64::NEG_INFINITY, |&s| f64::from(s));
        for (row, o) in o.chunks_exact(dv).enumerate() {
            let token = sequence.q_start + self.first + row;
            let max = f64::from(state.max[row]);
            let top = max.max(sink);
            // Without a key and without a sink nothing is in the denominator.
            let number = !(state.sum[row] + sink).is_nan();
            let (factor, lse) = if top == f64::NEG_INFINITY && number {
                (0.0, top)
            } else {
                let shrink = (max - top).exp();
                let sum = state.sum[row] * shrink + (sink - top).exp();
                (shrink / sum, top + sum.ln())
            };
            let values = o.iter().map(|&o| (f64::from(o) * factor) as f32);
            context.o.store(sequence.batch, token, self.head, values);
            if let Some(output) = &context.lse {
                output.store(sequence.batch, self.head, token, core::iter::once(lse as f32));
            }
        }
    }
}

/// Where a row stands among the keys of its sequence: aligned bottom-right.
fn position(sequence: &Sequence, row: usize) -> i64 {
    row as i64 + sequence.k_len as i64 - sequence.q_len as i64
}
