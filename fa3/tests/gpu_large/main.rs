//! Tensors of more than 2³¹ elements, on the GPU: some of their rows against the reference. Fails where
//! there is none, or not enough memory: 64 GB.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod large;
mod pattern;

use fa3::{Layout, Options};

use large::{Large, Sequence};

const BEYOND: usize = 1 << 31;

fn elements(layout: Layout) -> usize {
    layout.span().unwrap()
}

/// The first and the last row, and those on both sides of the row that holds element 2³¹ of some tensor.
fn around(rows: usize, crossing: usize) -> Vec<usize> {
    [0, crossing.saturating_sub(1), crossing, crossing + 1, rows - 1].map(|row| row.min(rows - 1)).into()
}

#[test]
fn keys_and_values_of_one_batch_entry() {
    let (sk, heads, d) = (270_000, 64, 128);
    for head_major in [false, true] {
        let kv = Layout::contiguous([1, sk, heads, d]);
        let kv = if head_major { Layout { strides: [0, d, sk * d, 1], ..kv } } else { kv };
        assert!(elements(kv) > BEYOND);
        let q = Layout::contiguous([1, 130, heads, d]);
        let large = Large::new(q, kv, q, Options { causal: true, ..Options::default() });
        let sequence = Sequence { batch: 0, q_start: 0, q_len: 130, k_start: 0, k_len: sk };
        large.check([(0, 0), (0, 129), (31, 64), (62, 1), (63, 0), (63, 129)].map(|row| (sequence, row)));
    }
}

#[test]
fn batch_entries_with_used_keys() {
    let (batch, s, heads, d) = (300, 1000, 64, 128);
    let layout = Layout::contiguous([batch, s, heads, d]);
    assert!(elements(layout) > BEYOND);
    let used: Vec<i32> = (0..batch as i32).map(|entry| 1000 - entry).collect();
    let mut large = Large::new(layout, layout, layout, Options { causal: true, ..Options::default() });
    large.use_keys(&used);
    let rows = around(batch, BEYOND / layout.strides[0]).into_iter().flat_map(|entry| {
        let k_len = used[entry] as usize;
        let sequence = Sequence { batch: entry, q_start: 0, q_len: s, k_start: 0, k_len };
        [(0, 999), (63, 999), (17, 700)].map(|row| (sequence, row))
    });
    large.check(rows);
}

#[test]
fn packed_sequences() {
    let (total, heads, d) = (300_000, 64, 128);
    let layout = Layout::contiguous([1, total, heads, d]);
    assert!(elements(layout) > BEYOND);
    // Lengths from 2,000 to 4,000, an empty one in between.
    let lengths = (0..100).map(|n: i32| if n == 40 { 0 } else { 2000 + n * 37 % 100 * 20 });
    let mut cu: Vec<i32> = std::iter::once(0)
        .chain(lengths.scan(0, |end, n| {
            *end += n;
            Some(*end)
        }))
        .collect();
    let count = cu.len() - 1;
    cu[count] = total as i32;
    let mut large = Large::new(layout, layout, layout, Options { causal: true, ..Options::default() });
    large.pack(&cu);
    let rows = around(total, BEYOND / layout.strides[1]).into_iter().flat_map(|token| {
        let n = cu.partition_point(|&start| start as usize <= token) - 1;
        let (start, end) = (cu[n] as usize, cu[n + 1] as usize);
        let sequence =
            Sequence { batch: 0, q_start: start, q_len: end - start, k_start: start, k_len: end - start };
        [0, 63].map(|head| (sequence, (head, token - start)))
    });
    large.check(rows);
}

/// O of 2³⁴ elements and an LSE of 2³¹.
#[test]
fn outputs_and_their_lse() {
    let (batch, sq, sk, heads, heads_k, d) = (8192, 4096 + 8, 40, 64, 8, 8);
    let o = Layout::contiguous([batch, sq, heads, d]);
    assert!(elements(o) > BEYOND && batch * heads * sq > BEYOND);
    // One Q serves the batch.
    let q = Layout { strides: [0, heads * d, d, 1], ..o };
    let large = Large::new(q, Layout::contiguous([batch, sk, heads_k, d]), o, Options::default());
    let entries = [around(batch, BEYOND / o.strides[0]), around(batch, BEYOND / (heads * sq))].concat();
    large.check(entries.into_iter().flat_map(|entry| {
        let sequence = Sequence { batch: entry, q_start: 0, q_len: sq, k_start: 0, k_len: sk };
        [(0, 0), (33, 2049), (63, sq - 1)].map(|row| (sequence, row))
    }));
}

/// Rows of O far apart: within one tile, and from one batch entry to the next.
#[test]
fn outputs_with_gaps() {
    let (heads, d) = (2, 64);
    let shape = [2, 40, heads, d];
    for strides in [[256, 1 << 26, 1 << 25, 1], [(1 << 31) + 4096, 128, 64, 1], [8192, 128, 1 << 31, 1]] {
        let o = Layout { shape, strides };
        assert!(elements(o) > BEYOND);
        let q = Layout::contiguous(shape);
        let large = Large::new(q, Layout::contiguous([2, 100, heads, d]), o, Options::default());
        large.check([0, 1].into_iter().flat_map(|batch| {
            let sequence = Sequence { batch, q_start: 0, q_len: 40, k_start: 0, k_len: 100 };
            [(0, 0), (1, 0), (0, 31), (1, 33), (0, 39), (1, 39)].map(|row| (sequence, row))
        }));
    }
}

/// The queries of one head, packed into a tile of its group's heads, far apart.
#[test]
fn queries_with_gaps() {
    let shape = [3, 2, 8, 64];
    for strides in [[512, 1 << 31, 1 << 27, 1], [1 << 31, 512, 64, 1]] {
        let q = Layout { shape, strides };
        assert!(elements(q) > BEYOND);
        let large =
            Large::new(q, Layout::contiguous([3, 300, 1, 64]), Layout::contiguous(shape), Options::default());
        large.check([0, 2].into_iter().flat_map(|batch| {
            let sequence = Sequence { batch, q_start: 0, q_len: 2, k_start: 0, k_len: 300 };
            [(0, 0), (7, 0), (3, 1), (7, 1)].map(|row| (sequence, row))
        }));
    }
}
