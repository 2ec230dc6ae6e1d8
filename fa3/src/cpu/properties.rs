//! Identities that attention obeys, on random problems.

#![cfg(feature = "testing")]

use half::bf16;
use proptest::prelude::*;

use super::tests::compute;
use crate::testing::{Case, Elements, Inputs, Outputs};
use crate::{DType, Options, Window};

/// A dense contiguous f32 case.
fn dense(sq: usize, sk: usize, d: usize, causal: bool, seed: u64) -> Case {
    let options = Options { causal, ..Options::default() };
    Case { sq, sk, d, dv: d, dtype: DType::F32, seed, options, ..Case::default() }
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..200, 1usize..400, prop::sample::select(vec![1usize, 8, 33, 64]), any::<bool>(), any::<u64>())
        .prop_map(|(sq, sk, d, causal, seed)| dense(sq, sk, d, causal, seed))
}

/// The f32 elements of a contiguous tensor.
fn elements(buffer: &mut crate::testing::Buffer) -> &mut [f32] {
    let (first, len) = (buffer.first, buffer.layout.shape.iter().product::<usize>());
    match &mut buffer.elements {
        Elements::F32(data) => &mut data[first..first + len],
        _ => &mut [],
    }
}

fn o(outputs: &Outputs) -> Vec<f64> {
    outputs.o.values()
}

fn lse(outputs: &Outputs) -> Vec<f64> {
    let lse = outputs.lse.as_deref().unwrap();
    lse[Outputs::LSE_FIRST..lse.len() - Outputs::LSE_FIRST].iter().map(|&value| f64::from(value)).collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.len(), b.len());
    for (n, (&a, &b)) in a.iter().zip(b).enumerate() {
        prop_assert!(a == b || (a - b).abs() <= tolerance * (1.0 + b.abs()), "{} is not {} at {}", a, b, n);
    }
    Ok(())
}

/// Keys `range` of the inputs, as a case and inputs of their own.
fn part(case: &Case, inputs: &Inputs, range: core::ops::Range<usize>) -> (Case, Inputs) {
    let part = Case { sk: range.len(), ..case.clone() };
    let mut of_part = part.inputs();
    let mut source = inputs.clone();
    elements(&mut of_part.q).copy_from_slice(elements(&mut source.q));
    for (to, from) in [(&mut of_part.k, &mut source.k), (&mut of_part.v, &mut source.v)] {
        elements(to).copy_from_slice(&elements(from)[range.start * case.d..range.end * case.d]);
    }
    (part, of_part)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_keys_does_not_matter(case in case(), shift in 1usize..400) {
        let case = Case { options: Options::default(), ..case };
        let mut inputs = case.inputs();
        let before = compute(&case, &inputs);
        let by = shift % case.sk * case.d;
        elements(&mut inputs.k).rotate_left(by);
        elements(&mut inputs.v).rotate_left(by);
        let after = compute(&case, &inputs);
        close(&o(&after), &o(&before), 2e-6)?;
        close(&lse(&after), &lse(&before), 2e-6)?;
    }

    #[test]
    fn adding_to_v_adds_to_o(case in case(), shift in -8.0f32..8.0) {
        let mut inputs = case.inputs();
        let before = compute(&case, &inputs);
        elements(&mut inputs.v).iter_mut().for_each(|v| *v += shift);
        let after = compute(&case, &inputs);
        prop_assert_eq!(lse(&after), lse(&before));
        // Rows that see no key stay zero.
        let sees: Vec<_> = lse(&before).iter().map(|lse| lse.is_finite()).collect();
        let moved = o(&before).iter().enumerate().map(|(n, o)| o + f64::from(if sees[n / case.d] { shift } else { 0.0 })).collect::<Vec<_>>();
        close(&o(&after), &moved, 4e-6)?;
    }

    #[test]
    fn a_causal_row_depends_on_its_own_keys_only(s in 2usize..300, at in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let case = dense(s, s, 16, true, seed);
        let mut inputs = case.inputs();
        let before = compute(&case, &inputs);
        let first = at.index(s - 1) + 1;
        for later in [&mut inputs.k, &mut inputs.v] {
            elements(later)[first * 16..].iter_mut().for_each(|x| *x = 3.0 - *x);
        }
        let after = compute(&case, &inputs);
        prop_assert_eq!(&o(&after)[..first * 16], &o(&before)[..first * 16]);
        prop_assert_ne!(&o(&after)[first * 16..], &o(&before)[first * 16..]);
    }

    #[test]
    fn parts_merge_by_their_lse(case in case(), at in any::<prop::sample::Index>()) {
        let case = Case { options: Options::default(), ..case };
        let inputs = case.inputs();
        let whole = compute(&case, &inputs);
        let cut = at.index(case.sk + 1);
        let parts = [0..cut, cut..case.sk].map(|range| {
            let (case, inputs) = part(&case, &inputs, range);
            compute(&case, &inputs)
        });
        let (lse_a, lse_b) = (lse(&parts[0]), lse(&parts[1]));
        let merged: Vec<f64> = lse_a.iter().zip(&lse_b).map(|(a, b)| a.max(*b) + (-(a - b).abs()).exp().ln_1p()).collect();
        close(&merged, &lse(&whole), 2e-6)?;
        let weighted = |part: &Outputs, lse: &[f64]| -> Vec<f64> {
            o(part).iter().enumerate().map(|(n, o)| o * (lse[n / case.d] - merged[n / case.d]).exp()).collect()
        };
        let sum: Vec<f64> = weighted(&parts[0], &lse_a).iter().zip(weighted(&parts[1], &lse_b)).map(|(a, b)| a + b).collect();
        close(&sum, &o(&whole), 4e-6)?;
    }

    #[test]
    fn a_power_of_two_moves_from_q_to_the_scale(case in case(), exponent in -3i32..4) {
        let factor = (exponent as f32).exp2();
        let mut inputs = case.inputs();
        let before = compute(&case, &inputs);
        elements(&mut inputs.q).iter_mut().for_each(|q| *q *= factor);
        let scale = Some(case.options.scale_for(case.d) / factor);
        let case = Case { options: Options { scale, ..case.options }, ..case };
        let after = compute(&case, &inputs);
        prop_assert!(after.same_bits(&before));
    }

    #[test]
    fn a_wide_softcap_is_none_and_a_narrow_one_averages(case in case()) {
        let inputs = case.inputs();
        let capped = |softcap| {
            let case = Case { options: Options { softcap, ..case.options }, ..case.clone() };
            compute(&case, &inputs)
        };
        close(&o(&capped(Some(1e5))), &o(&capped(None)), 4e-6)?;
        let flat = Case { options: Options { scale: Some(0.0), ..case.options }, ..case.clone() };
        close(&o(&capped(Some(1e-7))), &o(&compute(&flat, &inputs)), 4e-6)?;
    }

    #[test]
    fn a_window_of_all_keys_is_none(case in case()) {
        let inputs = case.inputs();
        let far = Some(case.sq + case.sk);
        let wide = Case { options: Options { window: Window { left: far, right: far }, ..case.options }, ..case.clone() };
        prop_assert!(compute(&wide, &inputs).same_bits(&compute(&case, &inputs)));
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads(case in case(), heads in 1usize..5) {
        let case = Case { heads_q: heads, heads_k: heads, ..case };
        let inputs = case.inputs();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compute(&case, &inputs))
        };
        prop_assert!(with(1).same_bits(&with(3)));
    }
}

#[test]
fn a_row_does_not_depend_on_its_neighbours_in_the_batch() {
    let list = crate::testing::cases(crate::testing::Set::Named);
    let named = |name: &str| list.iter().find(|case| case.name == name).unwrap();
    let outputs = ["batch_invariance_9", "batch_invariance_10"].map(|name| {
        let case = named(name);
        compute(case, &case.inputs())
    });
    let rows = 14 * 64;
    let bits = |outputs: &Outputs| outputs.o.as_slice::<bf16>().unwrap()[..rows].to_vec();
    assert_eq!(bits(&outputs[0]), bits(&outputs[1]));
}
