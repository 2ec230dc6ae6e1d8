//! Exact attention without a GPU: one query, two keys of equal score, the mean of the two values.

use fa3::reference::{Inputs, forward};
use fa3::{DType, Layout, Options, Problem, Sequences, TensorSpec};

#[test]
fn the_mean_of_two_values() {
    let spec = |s, d| TensorSpec { dtype: DType::F32, layout: Layout::contiguous([1, s, 1, d]) };
    let problem = Problem {
        q: spec(1, 2),
        k: spec(2, 2),
        v: spec(2, 1),
        o: spec(1, 1),
        lse: true,
        sinks: false,
        alibi: false,
        sequences: Sequences::Dense,
        options: Options::default(),
    };
    let inputs = Inputs::new(&[1.0_f32, 0.0], &[0.0, 1.0, 0.0, -1.0], &[4.0, 8.0]);
    let output = forward(&problem, &inputs).expect("the shapes agree");
    assert_eq!(output.o, [6.0]);
    assert_eq!(output.lse, [2_f64.ln()]);
}
