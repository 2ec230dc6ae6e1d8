//! Which problems are well-formed, and what is said of the others.

#![allow(clippy::unwrap_used, clippy::panic)]

use fa3::{DType, Error, Layout, Options, Problem, Sequences, Sizes};

fn plain() -> Problem {
    let sizes = Sizes { sk: 7, heads_k: 2, dv: 16, ..Sizes::new(2, 5, 6, 8) };
    Problem::dense(DType::F16, sizes, Options::default())
}

/// The argument that `problem` is refused for.
#[track_caller]
fn refused(problem: &Problem) -> (&'static str, String) {
    match problem.dims() {
        Err(error @ Error::Argument { argument, .. }) => (argument, error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sizes_of_a_grouped_problem() {
    let dims = plain().dims().unwrap();
    assert_eq!((dims.batch, dims.sequences, dims.sq, dims.sk), (2, 2, 5, 7));
    assert_eq!((dims.heads_q, dims.heads_k, dims.group, dims.d, dims.dv), (6, 2, 3, 8, 16));
    assert_eq!(dims.lse_len, 2 * 6 * 5);
    assert!(!dims.is_empty());
}

#[test]
fn empty_extents_are_well_formed() {
    for sizes in [Sizes::new(0, 5, 6, 8), Sizes::new(2, 0, 6, 8), Sizes::new(2, 5, 0, 8)] {
        let dims = Problem::dense(DType::F32, sizes, Options::default()).dims().unwrap();
        assert!(dims.is_empty(), "{sizes:?}");
    }
    let no_keys = Sizes { sk: 0, ..Sizes::new(1, 1, 1, 8) };
    assert!(!Problem::dense(DType::F32, no_keys, Options::default()).dims().unwrap().is_empty());
}

#[test]
fn each_broken_rule_names_its_argument() {
    type Break = fn(&mut Problem);
    let cases: [(&str, Break); 20] = [
        ("q.dtype", |p| p.q.dtype = DType::I32),
        ("k.dtype", |p| p.k.dtype = DType::Bf16),
        ("v.dtype", |p| p.v.dtype = DType::F32),
        ("o.dtype", |p| p.o.dtype = DType::F32),
        ("k.shape", |p| p.k.layout.shape[0] = 1),
        ("k.shape", |p| p.k.layout.shape[3] = 16),
        ("v.shape", |p| p.v.layout.shape[1] = 6),
        ("v.shape", |p| p.v.layout.shape[2] = 6),
        ("o.shape", |p| p.o.layout.shape[3] = 8),
        ("o.shape", |p| p.o.layout.shape[1] = 7),
        ("q.shape[3]", |p| (p.q.layout.shape[3], p.k.layout.shape[3]) = (0, 0)),
        ("v.shape[3]", |p| (p.v.layout.shape[3], p.o.layout.shape[3]) = (0, 0)),
        ("k.shape[2]", |p| (p.k.layout.shape[2], p.v.layout.shape[2]) = (4, 4)),
        ("k.shape[2]", |p| (p.k.layout.shape[2], p.v.layout.shape[2]) = (0, 0)),
        ("q.strides", |p| p.q.layout.strides[3] = 2),
        ("v.strides", |p| p.v.layout.strides[0] = usize::MAX),
        ("o.strides", |p| p.o.layout.strides[2] = 0),
        ("o.strides", |p| p.o.layout.strides[1] = 8),
        ("options.scale", |p| p.options.scale = Some(f32::NAN)),
        ("options.softcap", |p| p.options.softcap = Some(0.0)),
    ];
    for (argument, break_rule) in cases {
        let mut problem = plain();
        break_rule(&mut problem);
        assert_eq!(refused(&problem).0, argument, "{problem:?}");
    }
}

#[test]
fn options_that_are_no_numbers_are_refused() {
    for scale in [f32::INFINITY, f32::NEG_INFINITY] {
        let options = Options { scale: Some(scale), ..Options::default() };
        assert_eq!(refused(&Problem { options, ..plain() }).0, "options.scale");
    }
    for softcap in [-1.0, f32::NAN, f32::INFINITY] {
        let options = Options { softcap: Some(softcap), ..Options::default() };
        assert_eq!(refused(&Problem { options, ..plain() }).0, "options.softcap");
    }
}

#[test]
fn extents_whose_product_overflows_are_refused() {
    let sizes = Sizes::new(1 << 30, 1 << 30, 1 << 30, 64);
    refused(&Problem::dense(DType::F16, sizes, Options::default()));
    // Repeated slices need no memory, but the LSE would.
    let mut huge = Problem::dense(DType::F16, Sizes::new(1, 1, 1, 64), Options::default());
    for spec in [&mut huge.q, &mut huge.k, &mut huge.v, &mut huge.o] {
        spec.layout = Layout { shape: [usize::MAX, 1, 1, 64], strides: [0, 64, 64, 1] };
    }
    refused(&huge);
}

#[test]
fn extents_that_take_no_memory_are_bounded_too() {
    let max = usize::MAX;
    for sizes in
        [Sizes::new(0, max, 1, 8), Sizes::new(0, 4, 1, max), Sizes { sk: 1 << 61, ..Sizes::new(0, 4, 1, 8) }]
    {
        refused(&Problem::dense(DType::F32, sizes, Options::default()));
    }
    let mut repeated = Problem::dense(DType::F32, Sizes::new(1, 1, 1, 8), Options::default());
    for spec in [&mut repeated.k, &mut repeated.v] {
        spec.layout = Layout { shape: [1, 1 << 63, 1, 8], strides: [0, 0, 0, 1] };
    }
    assert_eq!(refused(&repeated).0, "v.shape");
}

#[test]
fn strides_of_single_elements_and_of_repeated_inputs_are_free() {
    let mut problem = Problem::dense(DType::F16, Sizes::new(1, 5, 1, 8), Options::default());
    problem.q.layout.strides[0] = 3;
    problem.o.layout.strides[2] = 0;
    problem.k.layout.strides[1] = 0;
    problem.dims().unwrap();
}

#[test]
fn packed_sequences_fit_their_totals() {
    let packed = |count, max_q, max_k| {
        let sizes = Sizes { sk: 12, ..Sizes::new(1, 10, 2, 8) };
        let sequences = Sequences::Packed { count, max_q, max_k };
        Problem { sequences, ..Problem::dense(DType::F16, sizes, Options::default()) }
    };
    let dims = packed(3, 6, 4).dims().unwrap();
    assert_eq!((dims.batch, dims.sequences, dims.max_q, dims.max_k), (1, 3, 6, 4));
    for (problem, argument) in [
        (packed(0, 10, 12), "sequences.count"),
        (packed(3, 11, 4), "sequences.max_q"),
        (packed(3, 3, 4), "sequences.max_q"),
        (packed(3, 4, 3), "sequences.max_k"),
        (packed(1 << 61, 10, 12), "sequences.count"),
    ] {
        assert_eq!(refused(&problem).0, argument);
    }
    let batched = Problem { sequences: Sequences::Packed { count: 2, max_q: 5, max_k: 7 }, ..plain() };
    assert_eq!(refused(&batched).0, "q.shape[0]");
}
