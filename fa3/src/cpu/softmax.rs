//! The online softmax of a tile, compiled for more than one instruction set.

use core::ops::Range;

use super::math::{alibi, exponentials, largest, softcap};

/// What the rows of a block have seen so far.
pub(super) struct State {
    /// The largest score; −∞ before the first key.
    pub(super) max: Vec<f32>,
    /// The sum of `e^(score − max)`.
    pub(super) sum: Vec<f64>,
    /// What the last tile made of the earlier maximum: the factor by which earlier sums shrink.
    pub(super) correction: Vec<f32>,
}

impl State {
    pub(super) fn new(rows: usize) -> Self {
        Self { max: vec![f32::NEG_INFINITY; rows], sum: vec![0.0; rows], correction: vec![1.0; rows] }
    }
}

/// What becomes of scores before the softmax.
#[derive(Clone, Copy)]
pub(super) struct Adjustments {
    pub(super) softcap: Option<f32>,
    /// ALiBi's slope.
    pub(super) slope: Option<f32>,
    /// How far the first key of the tile lies before the first row's own position.
    pub(super) distance: i64,
}

/// Turns a tile's scores into unnormalised weights: `visible` says which keys each row sees; the
/// others weigh zero.
pub(super) fn advance(
    scores: &mut [f32],
    width: usize,
    visible: &[Range<usize>],
    adjustments: Adjustments,
    state: &mut State,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both features, as was just detected.
        return unsafe { advance_avx2(scores, width, visible, adjustments, state) };
    }
    // Where the baseline has fused multiplication and addition, as on AArch64, use it.
    const FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
    body::<FMA>(scores, width, visible, adjustments, state);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn advance_avx2(
    scores: &mut [f32],
    width: usize,
    visible: &[Range<usize>],
    adjustments: Adjustments,
    state: &mut State,
) {
    body::<true>(scores, width, visible, adjustments, state);
}

#[inline(always)]
fn body<const FMA: bool>(
    scores: &mut [f32],
    width: usize,
    visible: &[Range<usize>],
    adjustments: Adjustments,
    state: &mut State,
) {
    let rows = scores.chunks_exact_mut(width).zip(visible).enumerate();
    for (r, (row, visible)) in rows {
        row[..visible.start].fill(0.0);
        row[visible.end..].fill(0.0);
        let seen = &mut row[visible.clone()];
        if seen.is_empty() {
            state.correction[r] = 1.0;
            continue;
        }
        if let Some(cap) = adjustments.softcap {
            softcap::<FMA>(seen, cap);
        }
        if let Some(slope) = adjustments.slope {
            alibi::<FMA>(seen, slope, adjustments.distance + r as i64 - visible.start as i64);
        }
        let before = state.max[r];
        let tile = largest(seen);
        let max = if tile > before { tile } else { before };
        let correction = (before - max).exp();
        state.max[r] = max;
        state.correction[r] = correction;
        state.sum[r] = state.sum[r] * f64::from(correction) + exponentials::<FMA>(seen, max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tiles_give_the_softmax_of_both() {
        let plain = Adjustments { softcap: None, slope: None, distance: 0 };
        let mut state = State::new(2);
        let mut scores = [1.0, 2.0, 9.0, 5.0, 5.0, 5.0];
        advance(&mut scores, 3, &[0..2, 1..1], plain, &mut state);
        assert_eq!(state.max, [2.0, f32::NEG_INFINITY]);
        assert_eq!(scores[2..], [0.0; 4]);
        let mut scores = [4.0, 1.0];
        advance(&mut scores, 1, &[0..1, 0..1], plain, &mut state);
        assert_eq!(state.max, [4.0, 1.0]);
        assert_eq!(state.correction, [(-2f32).exp(), 0.0]);
        let exact = (-3f64).exp() + (-2f64).exp() + 1.0;
        assert!((state.sum[0] - exact).abs() < 1e-6 && state.sum[1] == 1.0, "{:?}", state.sum);
    }

    #[test]
    fn every_instruction_set_agrees() {
        let adjustments = Adjustments { softcap: Some(3.0), slope: Some(0.1), distance: 7 };
        let scores: Vec<f32> = (0..200).map(|n| (n as f32 * 0.37).sin() * 5.0).collect();
        let visible = [0..100, 3..77];
        let (mut a, mut b) = (scores.clone(), scores);
        let (mut state_a, mut state_b) = (State::new(2), State::new(2));
        advance(&mut a, 100, &visible, adjustments, &mut state_a);
        body::<false>(&mut b, 100, &visible, adjustments, &mut state_b);
        for (x, y) in a.iter().zip(&b) {
            assert!((x - y).abs() <= 2e-6 * y.abs(), "{x} {y}");
        }
    }
}
