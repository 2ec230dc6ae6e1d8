//! Plans are data: what holds of all of them.

#![allow(clippy::unwrap_used, clippy::panic)]

use fa3::{
    CudaTarget, DType, Error, Execution, ForwardPlan, Operand, Options, Plan, Problem, Sequences, Sizes,
    Target, Window, support,
};
use fa3_kernels::forward_kernels;
use proptest::prelude::*;

const H200: Target = Target::Cuda(CudaTarget::H200);

fn forward(plan: &Plan) -> &ForwardPlan {
    match plan.execution() {
        Execution::Gpu(gpu) => &gpu.forward,
        other => panic!("{other:?}"),
    }
}

fn supported() -> impl Strategy<Value = Problem> {
    let dtype = prop::sample::select(vec![DType::Bf16, DType::F16]);
    let d = prop::sample::select(vec![64usize, 128, 256]);
    let sequence = || prop_oneof![0usize..300, 300usize..40_000];
    let sizes = (1usize..9, sequence(), sequence(), 1usize..5, 1usize..9, d);
    (dtype, sizes, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(dtype, (batch, sq, sk, heads_k, group, d), causal, lse, transposed)| {
            let sizes = Sizes { sk, heads_q: heads_k * group, heads_k, ..Sizes::new(batch, sq, 1, d) };
            let mut problem = Problem::dense(dtype, sizes, Options { causal, ..Options::default() });
            problem.lse = lse;
            if transposed {
                for spec in [&mut problem.q, &mut problem.k, &mut problem.v, &mut problem.o] {
                    let [_, s, h, d] = spec.layout.shape;
                    spec.layout.strides = [s * h * d, d, s * d, 1];
                }
            }
            problem
        },
    )
}

proptest! {
    #[test]
    fn a_kernel_plan_covers_the_output_within_the_machine_s_limits(problem in supported()) {
        let plan = Plan::forward(&H200, &problem).unwrap();
        prop_assert_eq!(&plan, &Plan::forward(&H200, &problem).unwrap());
        prop_assert_eq!(plan.workspace_bytes(), 0);
        let dims = plan.dims();
        if dims.is_empty() {
            prop_assert_eq!(plan.execution(), &Execution::Nothing);
            return Ok(());
        }
        let ForwardPlan { kernel, tile, maps, params } = forward(&plan);
        let row = forward_kernels().find(|row| row.symbol() == kernel.symbol).unwrap();
        prop_assert_eq!(row.head_dim as usize, dims.d);
        prop_assert_eq!((tile.m, tile.n), (row.tile_m(), row.tile_n));
        prop_assert_eq!(kernel.block, 128 * (tile.consumers + 1));
        prop_assert!(kernel.shared_bytes <= kernel.arch.max_shared_bytes());

        prop_assert_eq!(params.lse, 0);
        prop_assert_eq!((params.sq as usize, params.sk as usize), (dims.sq, dims.sk));
        prop_assert_eq!(params.batch_heads as usize, dims.batch * dims.heads_q);
        prop_assert_eq!(params.group as usize * dims.heads_k, dims.heads_q);
        let rows = params.m_tiles as usize * tile.m as usize;
        prop_assert!(rows >= dims.sq && rows - dims.sq < tile.m as usize);
        prop_assert_eq!(params.tiles, params.m_tiles * params.batch_heads);
        prop_assert!(params.section >= 1 && params.section <= params.batch_heads);
        prop_assert!(params.section.count_ones() == 1);
        prop_assert!(params.scale_log2 > 0.0);
        prop_assert_eq!(params.causal == 1, problem.options.causal);
        prop_assert!(kernel.grid[0] >= 1 && i64::from(kernel.grid[0]) <= i64::from(params.tiles));
        prop_assert_eq!((kernel.grid[1], kernel.grid[2]), (1, 1));

        let boxes = row.boxes();
        let operands = [Operand::Q, Operand::K, Operand::V, Operand::O];
        for ((slot, operand), extents) in maps.iter().zip(operands).zip([boxes.q, boxes.kv, boxes.kv, boxes.o]) {
            prop_assert_eq!(slot.operand, operand);
            let empty = dims.sk == 0 && matches!(operand, Operand::K | Operand::V);
            prop_assert_eq!(slot.address, if empty { Operand::Q } else { operand });
            prop_assert_eq!(slot.desc.box_extents(), Some(&extents[..]));
            prop_assert!(slot.desc.validate(1 << 20).is_ok());
            prop_assert_eq!(slot.desc.extents()[0] as usize, dims.d);
        }
    }

    #[test]
    fn the_cpu_takes_every_well_formed_problem(problem in supported(), softcap in prop::option::of(0.1f32..50.0)) {
        let options = Options { softcap, window: Window { left: Some(3), right: Some(1) }, scale: Some(-1.0), ..problem.options };
        let problem = Problem { options, sinks: true, alibi: true, ..problem };
        let cpu = Target::Cpu(fa3::CpuTarget { threads: 2 });
        prop_assert!(Plan::forward(&cpu, &problem).is_ok());
        prop_assert!(Plan::forward(&H200, &problem).is_err());
    }
}

fn plain() -> Problem {
    Problem::dense(DType::Bf16, Sizes { heads_k: 2, ..Sizes::new(2, 512, 8, 128) }, Options::default())
}

#[test]
fn every_unsupported_feature_is_refused_by_name() {
    type Change = fn(&mut Problem);
    let cases: [(&str, Change); 9] = [
        ("options.scale", |p| p.options.scale = Some(0.0)),
        ("options.scale", |p| p.options.scale = Some(-1.0)),
        ("options.scale", |p| p.options.scale = Some(3.0e38)),
        ("options.softcap", |p| p.options.softcap = Some(20.0)),
        ("options.window", |p| p.options.window.left = Some(3)),
        ("sinks", |p| p.sinks = true),
        ("alibi", |p| p.alibi = true),
        ("sequences", |p| p.sequences = Sequences::UsedKeys),
        ("k.strides", |p| p.k.layout.strides[1] += 1),
    ];
    for (argument, change) in cases {
        let mut problem = plain();
        change(&mut problem);
        let Err(Error::Unsupported(unsupported)) = support(&H200, &problem) else { panic!("{argument}") };
        assert!(unsupported.reasons.iter().any(|reason| reason.argument == argument), "{unsupported}");
        assert_eq!(Plan::forward(&H200, &problem).unwrap_err().to_string(), unsupported.to_string());
    }
}

#[test]
fn types_and_head_dimensions_without_kernels_are_refused() {
    for (dtype, d, dv) in
        [(DType::F32, 64, 64), (DType::Bf16, 96, 96), (DType::F16, 32, 32), (DType::F16, 128, 64)]
    {
        let problem = Problem::dense(dtype, Sizes { dv, ..Sizes::new(1, 128, 1, d) }, Options::default());
        assert!(matches!(support(&H200, &problem), Err(Error::Unsupported(_))), "{dtype} {d} {dv}");
    }
}

#[test]
fn a_batch_invariant_plan_has_one_kernel_whatever_the_lengths() {
    let of = |batch_invariant, sk| {
        let options = Options { causal: true, batch_invariant, ..Options::default() };
        let problem = Problem::dense(DType::Bf16, Sizes { sk, ..Sizes::new(2, 64, 2, 64) }, options);
        forward(&Plan::forward(&H200, &problem).unwrap()).kernel.symbol.clone()
    };
    assert_eq!(of(true, 100), of(true, 10_000));
    assert_ne!(of(false, 100), of(false, 10_000), "else the test shows nothing");
}

#[test]
fn every_reason_is_given_at_once() {
    let options = Options { softcap: Some(1.0), scale: Some(-1.0), ..Options::default() };
    let problem = Problem { options, ..plain() };
    let Err(Error::Unsupported(unsupported)) = support(&H200, &problem) else { panic!() };
    assert_eq!(unsupported.reasons.len(), 2, "{unsupported}");
}

#[test]
fn an_architecture_without_kernels_is_refused() {
    let target = Target::Cuda(CudaTarget { arch: fa3_sys::Arch::Sm100a, ..CudaTarget::H200 });
    let error = support(&target, &plain()).unwrap_err();
    assert!(error.to_string().contains("sm_100a"), "{error}");
}

#[test]
fn repeated_keys_and_a_single_batch_entry_of_any_stride_are_taken() {
    let mut problem = Problem::dense(DType::F16, Sizes::new(1, 64, 4, 64), Options::default());
    problem.q.layout.strides[0] = 3;
    problem.k.layout.strides[2] = 0;
    support(&H200, &problem).unwrap();
}

#[test]
fn the_table_says_what_support_says() {
    let rows = support::table(&H200);
    for row in &rows {
        assert_eq!(row.verdict.is_ok(), support(&H200, &row.problem).is_ok(), "{row}");
    }
    let verdict = |feature: &str| rows.iter().find(|row| row.feature == feature).unwrap().verdict.is_ok();
    assert!(verdict("bf16") && verdict("causal") && verdict("head dimension 256"));
    assert!(!verdict("f32") && !verdict("head dimension 96") && !verdict("packed sequences"));
    let cpu = support::table(&Target::Cpu(fa3::CpuTarget { threads: 1 }));
    assert!(cpu.iter().all(|row| row.verdict.is_ok()));
}

#[test]
fn a_plan_prints_what_would_run() {
    let options = Options { causal: true, ..Options::default() };
    let problem = Problem::dense(DType::Bf16, Sizes { heads_k: 4, ..Sizes::new(2, 1024, 16, 128) }, options);
    let text = Plan::forward(&H200, &problem).unwrap().to_string();
    for part in [
        "bf16, batch 2, sq 1024, sk 1024, heads 16/4, d 128",
        "causal",
        "lse",
        "fa3_fwd_sm90_bf16_d128_m128",
        "384 threads",
        "map       k: tiled bf16",
        "flop",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}
