//! What the kernels take and what they refuse, with the reasons.

#![allow(clippy::unwrap_used, clippy::panic)]

use fa3::{
    CudaTarget, DType, Error, Layout, Options, Plan, Problem, Sequences, Sizes, Target, Unsupported, support,
};

const H200: Target = Target::Cuda(CudaTarget::H200);

fn plain() -> Problem {
    Problem::dense(DType::Bf16, Sizes { heads_k: 2, ..Sizes::new(2, 512, 8, 128) }, Options::default())
}

#[track_caller]
fn refused(problem: &Problem) -> Unsupported {
    let Err(Error::Unsupported(unsupported)) = support(&H200, problem) else { panic!("{problem:?}") };
    assert_eq!(Plan::forward(&H200, problem).unwrap_err().to_string(), unsupported.to_string());
    unsupported
}

#[test]
fn every_unsupported_feature_is_refused_by_name() {
    type Change = fn(&mut Problem);
    let cases: [(&str, Change); 9] = [
        ("options.scale", |p| p.options.scale = Some(3.0e38)),
        ("options.scale", |p| p.options.scale = Some(-3.0e38)),
        ("options.softcap", |p| p.options.softcap = Some(1025.0)),
        ("options.softcap", |p| (p.options.scale, p.options.softcap) = (Some(1e20), Some(1e-20))),
        ("q.strides", |p| p.q.layout.strides[2] += 4),
        ("k.strides", |p| p.k.layout.strides[1] += 1),
        ("v.strides", |p| p.v.layout.strides[0] += 4),
        ("o.strides", |p| p.o.layout.strides[0] += 4),
        ("k.strides", |p| p.k.layout.strides[0] = 1 << 40),
    ];
    for (argument, change) in cases {
        let mut problem = plain();
        change(&mut problem);
        let unsupported = refused(&problem);
        let reasons: Vec<_> = unsupported.reasons.iter().map(|reason| reason.argument).collect();
        assert_eq!(reasons, [argument], "{unsupported}");
    }
}

#[test]
fn types_and_head_dimensions_without_kernels_are_refused() {
    for (dtype, d, dv, argument) in [
        (DType::F32, 64, 64, "dtype"),
        (DType::Bf16, 100, 96, "head_dim"),
        (DType::F16, 4, 8, "head_dim"),
        (DType::F16, 264, 256, "head_dim"),
        (DType::F16, 128, 65, "v.shape[3]"),
        (DType::Bf16, 128, 512, "v.shape[3]"),
    ] {
        let problem = Problem::dense(dtype, Sizes { dv, ..Sizes::new(1, 128, 1, d) }, Options::default());
        assert_eq!(refused(&problem).reasons[0].argument, argument, "{dtype} {d} {dv}");
    }
}

#[test]
fn every_multiple_of_eight_up_to_256_is_taken() {
    for (d, dv) in (8..=256).step_by(8).flat_map(|d| (8..=256).step_by(8).map(move |dv| (d, dv))) {
        let problem =
            Problem::dense(DType::Bf16, Sizes { dv, ..Sizes::new(1, 128, 2, d) }, Options::default());
        support(&H200, &problem).unwrap();
    }
}

#[test]
fn more_rows_or_tiles_than_the_kernels_count_are_refused() {
    // Repeated rows take no memory.
    let long = |sq: usize, sk: usize, heads: usize| {
        let sizes = Sizes { sk, ..Sizes::new(1, sq, heads, 64) };
        let mut problem = Problem::dense(DType::F16, sizes, Options::default());
        for spec in [&mut problem.k, &mut problem.v] {
            spec.layout.strides = [0, 0, 0, 1];
        }
        problem
    };
    let limit = i32::MAX as usize - 1024;
    support(&H200, &long(8, limit, 1)).unwrap();
    for (problem, argument) in [(long(8, limit + 1, 1), "k.shape[1]"), (long(limit + 1, 8, 1), "q.shape[1]")]
    {
        assert_eq!(refused(&problem).reasons[0].argument, argument);
    }
    // 2^24 rows are 2^17 tiles of 128 or 87,382 of 192, in each of 2^15 heads.
    let mut tiles = long(1 << 24, 8, 1 << 15);
    assert_eq!(refused(&tiles).reasons[0].argument, "q.shape");
    tiles.sequences = Sequences::UsedKeys;
    assert_eq!(refused(&tiles).reasons[0].argument, "q.shape");
    // Sequences of one row each begin a tile each.
    let mut packed = long(1 << 24, 8, 1 << 8);
    support(&H200, &packed).unwrap();
    packed.sequences = Sequences::Packed { count: 1 << 24, max_q: 1, max_k: 1 };
    assert_eq!(refused(&packed).reasons[0].argument, "q.shape");
}

#[test]
fn every_reason_is_given_at_once() {
    let sizes = Sizes { dv: 20, ..Sizes::new(1, 128, 1, 20) };
    let options = Options { scale: Some(f32::MAX), ..Options::default() };
    let unsupported = refused(&Problem::dense(DType::F32, sizes, options));
    assert_eq!(unsupported.reasons.len(), 4, "{unsupported}");
    let mut strides = plain();
    strides.q.layout.strides[1] += 4;
    strides.v.layout.strides[1] += 4;
    assert_eq!(refused(&strides).reasons.len(), 2);
}

#[test]
fn strides_of_65_elements_are_refused_unless_never_stepped_over() {
    let of = |sq| {
        let layout = Layout { shape: [1, sq, 1, 64], strides: [sq * 65, 65, 64, 1] };
        let mut problem = Problem::dense(DType::Bf16, Sizes::new(1, sq, 1, 64), Options::default());
        for spec in [&mut problem.q, &mut problem.k, &mut problem.v, &mut problem.o] {
            spec.layout = layout;
        }
        problem
    };
    support(&H200, &of(1)).unwrap();
    assert_eq!(refused(&of(2)).reasons.len(), 4);
}

#[test]
fn an_architecture_without_kernels_is_refused() {
    let target = Target::Cuda(CudaTarget { arch: fa3_sys::Arch::Sm100a, ..CudaTarget::H200 });
    let error = support(&target, &plain()).unwrap_err();
    assert!(error.to_string().contains("sm_100a"), "{error}");
}

#[test]
fn the_table_says_what_support_says() {
    let rows = support::table(&H200);
    for row in &rows {
        assert_eq!(row.verdict.is_ok(), support(&H200, &row.problem).is_ok(), "{row}");
    }
    let refused: Vec<_> =
        rows.iter().filter(|row| row.verdict.is_err()).map(|row| row.feature.as_str()).collect();
    let expected =
        ["f32", "head dimension 100", "head dimension 512", "strides that are no multiples of 16 bytes"];
    assert_eq!(refused, expected);
    let cpu = support::table(&Target::Cpu(fa3::CpuTarget { threads: 1 }));
    assert!(cpu.iter().all(|row| row.verdict.is_ok()));
}
