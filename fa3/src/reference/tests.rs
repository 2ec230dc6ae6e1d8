//! Each line of the semantics, on cases small enough to compute by hand.

use super::*;
use crate::{DType, Layout, Options, Sequences, TensorSpec, Window};

/// A dense f32 problem with d = dv = 1: `[batch, sq, sk, heads_q, heads_k]`.
fn problem([batch, sq, sk, heads_q, heads_k]: [usize; 5], options: Options) -> Problem {
    let spec = |s, h| TensorSpec { dtype: DType::F32, layout: Layout::contiguous([batch, s, h, 1]) };
    Problem {
        q: spec(sq, heads_q),
        k: spec(sk, heads_k),
        v: spec(sk, heads_k),
        o: spec(sq, heads_q),
        lse: true,
        sinks: false,
        alibi: false,
        sequences: Sequences::Dense,
        options,
    }
}

fn causal() -> Options {
    Options { causal: true, ..Options::default() }
}

fn window(left: Option<usize>, right: Option<usize>) -> Options {
    Options { window: Window { left, right }, ..Options::default() }
}

/// With equal scores, O is the mean of the visible values: which keys does each row see?
fn sums_of_powers(options: Options, sq: usize, sk: usize) -> Vec<Vec<usize>> {
    let problem = problem([1, sq, sk, 1, 1], options);
    let v: Vec<f32> = (0..sk).map(|key| (1u32 << key) as f32).collect();
    let output = forward(&problem, &Inputs::new(&vec![0.0; sq], &vec![0.0; sk], &v)).unwrap();
    let decode = |(&o, &lse): (&f64, &f64)| {
        let sum = (o * lse.exp()).round() as u32;
        (0..sk).filter(|key| sum & (1 << key) != 0).collect()
    };
    output.o.iter().zip(&output.lse).map(decode).collect()
}

fn close(actual: &[f64], expected: &[f64]) {
    assert_eq!(actual.len(), expected.len());
    for (a, e) in actual.iter().zip(expected) {
        assert!(a == e || (a - e).abs() < 1e-12, "{actual:?} is not {expected:?}");
    }
}

#[test]
fn weights_are_exponentials_of_scaled_products() {
    let options = Options { scale: Some(0.5), ..Options::default() };
    let output =
        forward(&problem([1, 1, 2, 1, 1], options), &Inputs::new(&[2.0f32], &[1.0, 3.0], &[10.0, 20.0]));
    let output = output.unwrap();
    let (a, b) = (1f64.exp(), 3f64.exp());
    close(&output.o, &[(10.0 * a + 20.0 * b) / (a + b)]);
    close(&output.lse, &[(a + b).ln()]);
}

#[test]
fn the_default_scale_is_one_over_the_root_of_d() {
    let spec = |s| TensorSpec { dtype: DType::F32, layout: Layout::contiguous([1, s, 1, 4]) };
    let mut problem = problem([1, 1, 1, 1, 1], Options::default());
    (problem.q, problem.k, problem.v, problem.o) = (spec(1), spec(1), spec(1), spec(1));
    let ones = [1.0f32; 4];
    close(&forward(&problem, &Inputs::new(&ones, &ones, &ones)).unwrap().lse, &[2.0]);
}

#[test]
fn causal_is_aligned_bottom_right() {
    assert_eq!(sums_of_powers(causal(), 2, 4), [vec![0, 1, 2], vec![0, 1, 2, 3]]);
    assert_eq!(sums_of_powers(causal(), 3, 1), [vec![], vec![], vec![0]]);
}

#[test]
fn windows_keep_keys_on_both_sides() {
    assert_eq!(sums_of_powers(window(Some(1), Some(0)), 3, 3), [vec![0], vec![0, 1], vec![1, 2]]);
    assert_eq!(sums_of_powers(window(Some(0), Some(1)), 3, 3), [vec![0, 1], vec![1, 2], vec![2]]);
    assert_eq!(sums_of_powers(window(Some(1), None), 2, 4), [vec![1, 2, 3], vec![2, 3]]);
    assert_eq!(sums_of_powers(window(None, Some(0)), 3, 3), sums_of_powers(causal(), 3, 3));
    let both = Options { causal: true, ..window(Some(1), Some(7)) };
    assert_eq!(sums_of_powers(both, 4, 4), sums_of_powers(window(Some(1), Some(0)), 4, 4));
    let whole = window(Some(usize::MAX), Some(usize::MAX));
    assert_eq!(sums_of_powers(whole, 2, 3), [vec![0, 1, 2], vec![0, 1, 2]]);
}

#[test]
fn a_row_that_sees_no_key_is_zero() {
    let inputs = Inputs::new(&[1.0f32, 1.0], &[3.0], &[5.0]);
    for output in [
        forward(&problem([1, 2, 1, 1, 1], causal()), &inputs).unwrap(),
        low_precision(&problem([1, 2, 1, 1, 1], causal()), &inputs).unwrap(),
    ] {
        close(&output.o, &[0.0, 5.0]);
        close(&output.lse, &[f64::NEG_INFINITY, 3.0]);
    }
    let output = forward(&problem([1, 1, 0, 1, 1], Options::default()), &Inputs::new(&[1.0f32], &[], &[]));
    assert_eq!(output.unwrap(), Output { o: vec![0.0], lse: vec![f64::NEG_INFINITY] });
}

#[test]
fn empty_batches_and_queries_give_empty_outputs() {
    for shape in [[0, 3, 3, 1, 1], [1, 0, 3, 1, 1]] {
        let zeros = [0.0f32; 3];
        let output = forward(&problem(shape, Options::default()), &Inputs::new(&zeros, &zeros, &zeros));
        assert_eq!(output.unwrap(), Output { o: vec![], lse: vec![] });
    }
}

#[test]
fn softcap_acts_on_the_scaled_score() {
    let options = Options { scale: Some(2.0), softcap: Some(3.0), ..Options::default() };
    let output =
        forward(&problem([1, 1, 1, 1, 1], options), &Inputs::new(&[1.0f32], &[6.0], &[1.0])).unwrap();
    close(&output.lse, &[3.0 * 4f64.tanh()]);
}

#[test]
fn a_sink_is_in_the_denominator_only() {
    let mut problem = problem([1, 2, 1, 2, 1], causal());
    problem.sinks = true;
    let inputs = Inputs::new(&[0.0f32; 4], &[0.0], &[6.0]);
    let inputs = Inputs { sinks: Some(&[0.0, 1.5]), ..inputs };
    let output = forward(&problem, &inputs).unwrap();
    // Row 0 sees no key: O is zero and the LSE is the sink.
    close(&output.o, &[0.0, 0.0, 3.0, 6.0 / (1.0 + 1.5f64.exp())]);
    close(&output.lse, &[0.0, 2f64.ln(), 1.5, (1.0 + 1.5f64.exp()).ln()]);
}

#[test]
fn alibi_subtracts_the_distance() {
    let mut problem = problem([1, 1, 3, 1, 1], window(None, None));
    problem.alibi = true;
    let inputs = Inputs { alibi: Some(&[0.5]), ..Inputs::new(&[0.0f32], &[0.0; 3], &[0.0; 3]) };
    let output = forward(&problem, &inputs).unwrap();
    close(&output.lse, &[((-1f64).exp() + (-0.5f64).exp() + 1.0).ln()]);
    // Two queries, one key: the first query lies one position before it.
    let mut problem = self::problem([1, 2, 1, 1, 1], Options::default());
    problem.alibi = true;
    let inputs = Inputs { alibi: Some(&[0.5]), ..Inputs::new(&[0.0f32; 2], &[0.0], &[0.0]) };
    close(&forward(&problem, &inputs).unwrap().lse, &[-0.5, 0.0]);
}

#[test]
fn query_heads_share_key_heads_in_groups() {
    let problem = problem([1, 1, 1, 6, 2], Options::default());
    let output = forward(&problem, &Inputs::new(&[0.0f32; 6], &[0.0; 2], &[1.0, 2.0])).unwrap();
    close(&output.o, &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
}

#[test]
fn keys_beyond_the_used_length_are_not_read() {
    let mut problem = problem([2, 1, 3, 1, 1], causal());
    problem.sequences = Sequences::UsedKeys;
    let k = [0.0f32, f32::NAN, f32::NAN, 0.0, 0.0, 0.0];
    let v = [7.0f32, f32::NAN, f32::NAN, 1.0, 2.0, 6.0];
    let inputs = Inputs { used_k: Some(&[1, 3]), ..Inputs::new(&[0.0f32; 2], &k, &v) };
    close(&forward(&problem, &inputs).unwrap().o, &[7.0, 3.0]);
    close(&low_precision(&problem, &inputs).unwrap().o, &[7.0, 3.0]);
}

#[test]
fn packed_sequences_do_not_see_each_other() {
    let mut problem = problem([1, 3, 4, 2, 1], causal());
    problem.sequences = Sequences::Packed { count: 3, max_q: 2, max_k: 3 };
    let v = [1.0f32, 10.0, 20.0, 60.0];
    let inputs = Inputs::new(&[0.0f32; 6], &[0.0; 4], &v);
    let inputs = Inputs { cu_q: Some(&[0, 1, 1, 3]), cu_k: Some(&[0, 1, 1, 4]), ..inputs };
    let output = forward(&problem, &inputs).unwrap();
    close(&output.o, &[1.0, 1.0, 15.0, 15.0, 30.0, 30.0]);
    // [heads, total].
    close(&output.lse, &[0.0, 2f64.ln(), 3f64.ln(), 0.0, 2f64.ln(), 3f64.ln()]);
}

#[test]
fn strides_are_followed() {
    let mut problem = problem([2, 2, 2, 1, 1], Options::default());
    problem.v.layout.strides = [0, 3, 99, 1];
    let inputs = Inputs::new(&[0.0f32; 4], &[0.0; 4], &[1.0, f32::NAN, f32::NAN, 5.0]);
    close(&forward(&problem, &inputs).unwrap().o, &[3.0; 4]);
}

#[test]
fn one_very_negative_logit_keeps_its_weight() {
    let problem = problem([1, 1, 1, 1, 1], Options::default());
    let inputs = Inputs::new(&[-300.0f32], &[200.0], &[5.0]);
    let output = forward(&problem, &inputs).unwrap();
    assert_eq!((output.o[0], output.lse[0]), (5.0, -6e4));
    assert_eq!(low_precision(&problem, &inputs).unwrap(), output);
}

#[test]
fn low_precision_rounds_weights_and_output() {
    let spec = |s| TensorSpec { dtype: DType::Bf16, layout: Layout::contiguous([1, s, 1, 1]) };
    let mut problem = problem([1, 1, 2, 1, 1], Options::default());
    (problem.q, problem.k, problem.v, problem.o) = (spec(1), spec(2), spec(2), spec(1));
    let bf = |x: f32| half::bf16::from_f32(x);
    let (q, k, v) = ([bf(1.0)], [bf(0.0), bf(-0.5)], [bf(0.0), bf(3.0)]);
    let weight = bf((-0.5f32).exp()).to_f32();
    let expected = bf(weight * 3.0 / (1.0 + (-0.5f32).exp())).to_f64();
    let plain = low_precision(&problem, &Inputs::new(&q, &k, &v)).unwrap();
    assert_eq!(plain.o, [expected]);
    let exact = forward(&problem, &Inputs::new(&q, &k, &v)).unwrap();
    assert!((plain.o[0] - exact.o[0]).abs() > 1e-4);
}

#[test]
fn single_rows_equal_the_whole() {
    let mut problem = problem([1, 5, 7, 4, 2], causal());
    problem.sequences = Sequences::Packed { count: 2, max_q: 3, max_k: 4 };
    let values = |n: usize, step: f32| (0..n).map(|i| (i as f32 * step).sin()).collect::<Vec<_>>();
    let (q, k, v) = (values(20, 1.1), values(14, 0.7), values(14, 2.3));
    let inputs = Inputs { cu_q: Some(&[0, 3, 5]), cu_k: Some(&[0, 3, 7]), ..Inputs::new(&q, &k, &v) };
    let whole = forward(&problem, &inputs).unwrap();
    let rows = [Row { sequence: 1, head: 3, query: 0 }, Row { sequence: 0, head: 1, query: 2 }];
    let found = forward_rows(&problem, &inputs, &rows).unwrap();
    close(&found[0].o, &[whole.o[3 * 4 + 3]]);
    close(&[found[0].lse, found[1].lse], &[whole.lse[3 * 5 + 3], whole.lse[5 + 2]]);
    close(&found[1].o, &[whole.o[2 * 4 + 1]]);
    let beyond = Row { sequence: 1, head: 0, query: 2 };
    assert!(matches!(forward_rows(&problem, &inputs, &[beyond]), Err(InputError::Row { .. })));
}

#[test]
fn wrong_inputs_are_refused() {
    let dense = problem([1, 2, 2, 1, 1], Options::default());
    let short = forward(&dense, &Inputs::new(&[0.0f32], &[0.0; 2], &[0.0; 2]));
    assert_eq!(short, Err(InputError::Short { argument: "q", given: 1, needed: 2 }));
    let inputs = Inputs::new(&[0.0f32; 2], &[0.0; 2], &[0.0; 2]);
    let unused = forward(&dense, &Inputs { sinks: Some(&[0.0]), ..inputs });
    assert_eq!(unused, Err(InputError::Presence { argument: "sinks", given: true }));
    let heads = forward(&problem([1, 1, 1, 2, 2], Options::default()), &inputs);
    assert!(heads.is_ok());
    let mut mixed = dense;
    mixed.v.dtype = DType::F16;
    assert!(matches!(forward(&mixed, &inputs), Err(InputError::Problem { argument: "v.dtype", .. })));
    let mut few = dense;
    few.sequences = Sequences::UsedKeys;
    assert!(matches!(forward(&few, &inputs), Err(InputError::Presence { argument: "used_k", given: false })));
    assert!(forward(&few, &Inputs { used_k: Some(&[3]), ..inputs }).is_err());
}
