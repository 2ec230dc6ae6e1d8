//! The whole case list through the CPU's code.

#![cfg(feature = "testing")]

use std::time::Instant;

use super::block::BLOCK;
use super::{Items, forward};
use crate::lengths::Sequence;
use crate::testing::{Buffer, Case, Inputs, Lengths, Outputs, Set, cases};
use crate::{Error, Operands, Place, Pointer};

fn pointer<T>(data: &[T]) -> Pointer {
    Pointer { address: data.as_ptr().expose_provenance() as u64, place: Place::Host }
}

fn operands(inputs: &Inputs, outputs: &mut Outputs) -> Operands {
    let tensor = |buffer: &Buffer| buffer.tensor(pointer(buffer.elements.bytes()));
    let base = outputs.o.elements.bytes_mut().as_mut_ptr().expose_provenance() as u64;
    let lse = outputs.lse.as_mut().map(|lse| Pointer {
        address: lse[Outputs::LSE_FIRST..].as_mut_ptr().expose_provenance() as u64,
        place: Place::Host,
    });
    Operands {
        q: tensor(&inputs.q),
        k: tensor(&inputs.k),
        v: tensor(&inputs.v),
        o: outputs.o.tensor(Pointer { address: base, place: Place::Host }),
        lse,
        sinks: inputs.sinks.as_deref().map(pointer),
        alibi: inputs.alibi.as_deref().map(pointer),
        used_k: inputs.used_k.as_deref().map(pointer),
        cu_q: inputs.cu_q.as_deref().map(pointer),
        cu_k: inputs.cu_k.as_deref().map(pointer),
    }
}

pub(super) fn compute(case: &Case, inputs: &Inputs) -> Outputs {
    let mut outputs = case.outputs();
    let operands = operands(inputs, &mut outputs);
    // SAFETY: the operands are the case's own buffers, which outlive the call; the outputs are used
    // by nothing else.
    unsafe { forward(&case.problem(), &operands, None) }.unwrap();
    outputs
}

#[test]
fn every_case_is_right() {
    let (mut computing, mut checking) = (0.0, 0.0);
    let mut failures = Vec::new();
    // Of the others, the small ones run through the API.
    let list = [Set::Dense, Set::Named, Set::Options].map(cases).concat();
    for case in &list {
        let inputs = case.inputs();
        let start = Instant::now();
        let outputs = compute(case, &inputs);
        computing += start.elapsed().as_secs_f64();
        let start = Instant::now();
        if let Err(failure) = case.check(&inputs, &outputs) {
            failures.push(failure.to_string());
        }
        checking += start.elapsed().as_secs_f64();
    }
    println!("{} cases: {computing:.1} s to compute, {checking:.1} s to check", list.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), list.len(), failures.join("\n"));
}

#[test]
fn the_papers_experiment_is_within_its_bound() {
    let case = cases(Set::Paper).into_iter().find(|case| case.d == 64).unwrap();
    let inputs = case.inputs();
    let report = case.check(&inputs, &compute(&case, &inputs)).unwrap();
    assert!(report.rmse <= 1e-4, "{report:?}");
}

#[test]
fn lengths_that_break_their_rules_are_refused() {
    for lengths in [Lengths::UsedKeys(vec![65]), Lengths::UsedKeys(vec![-1])] {
        let case = Case { lengths, ..Case::default() };
        let (inputs, mut outputs) = (case.inputs(), case.outputs());
        let operands = operands(&inputs, &mut outputs);
        // SAFETY: the operands are the case's own buffers, which outlive the call; the outputs are
        // used by nothing else.
        let refused = unsafe { forward(&case.problem(), &operands, None) };
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
        assert!(outputs.same_bits(&case.outputs()));
    }
}

#[test]
fn items_are_every_block_of_every_head_once() {
    let sequence = |q_start, q_len| Sequence { batch: 0, q_start, q_len, k_start: 0, k_len: 1 };
    for lengths in [&[0usize, 300, 0, 0, 128, 1, 129, 0][..], &[0, 0], &[]] {
        let sequences: Vec<_> = lengths.iter().enumerate().map(|(n, &len)| sequence(n, len)).collect();
        for heads in 0..3 {
            let items = Items::new(&sequences, heads);
            let found: Vec<_> = (0..items.len()).map(|index| items.get(index).unwrap()).collect();
            let mut expected = Vec::new();
            for &sequence in &sequences {
                for head in 0..heads {
                    expected.extend((0..sequence.q_len).step_by(BLOCK).map(|first| (sequence, head, first)));
                }
            }
            assert_eq!(found, expected);
            assert_eq!(items.get(items.len()), None);
        }
    }
}

#[test]
fn progress_counts_every_block() {
    let case = Case { sq: 300, heads_q: 2, heads_k: 2, ..Case::default() };
    let (inputs, mut outputs) = (case.inputs(), case.outputs());
    let operands = operands(&inputs, &mut outputs);
    let seen = std::sync::Mutex::new(Vec::new());
    let progress = |done, total| seen.lock().unwrap().push((done, total));
    // SAFETY: the operands are the case's own buffers, which outlive the call; the outputs are used
    // by nothing else.
    unsafe { forward(&case.problem(), &operands, Some(&progress)) }.unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, (1..=6).map(|done| (done, 6)).collect::<Vec<_>>());
}
