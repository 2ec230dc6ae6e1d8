//! The ping-pong.

use std::ops::Range;

use fa3_emu::trace::{Activity, Actor, Span};

use crate::{PROBLEM, spans, traced};

/// The cycles of the products of a warpgroup; the producer is warpgroup 0.
fn products(tensor: &[Span], of: u32) -> Vec<Range<u64>> {
    let one = |span: &Span| match span.activity {
        Activity::Product { warpgroup, .. } if warpgroup == of => Some(span.start..span.end),
        _ => None,
    };
    tensor.iter().filter_map(one).collect()
}

/// How many cycles of `range` lie in others.
fn covered(range: &Range<u64>, by: &[Range<u64>]) -> u64 {
    by.iter().map(|one| one.end.min(range.end).saturating_sub(one.start.max(range.start))).sum()
}

#[test]
fn one_warpgroups_softmax_runs_under_the_others_products() {
    let trace = traced(&PROBLEM);
    let tensor = spans(&trace, Actor::Tensor);
    for (warp, other) in [(4, 2), (8, 1)] {
        let softmax = spans(&trace, Actor::Warp(warp)).iter().filter_map(|span| match span.activity {
            Activity::Run { special, .. } if special > 16 => Some(span.start..span.end),
            _ => None,
        });
        let softmax: Vec<_> = softmax.collect();
        assert_eq!(softmax.len(), 6, "one a tile of keys, warp {warp}");
        // Not the first, for which there are no products yet, nor the last.
        for run in &softmax[1..5] {
            let under = covered(run, &products(tensor, other));
            assert!(9 * under > 4 * (run.end - run.start), "warp {warp}: {under} cycles of {run:?}");
        }
    }
}

#[test]
fn the_tensor_cores_do_not_rest_once_all_is_under_way() {
    let trace = traced(&PROBLEM);
    let tensor = spans(&trace, Actor::Tensor);
    // 128 columns of scores and of O: 2 warpgroups x 6 tiles x (8 + 8) products.
    assert_eq!(tensor.len(), 2 * 6 * 16);
    let steady = &tensor[2 * 8..];
    let busy: u64 = steady.iter().map(|span| span.end - span.start).sum();
    let all = steady[steady.len() - 1].end - steady[0].start;
    assert!(busy * 100 >= all * 95, "{busy} of {all} cycles");
}
