//! Plans are data: what holds of all of them.

#![allow(clippy::unwrap_used, clippy::panic)]

use fa3::{
    CudaTarget, DType, Execution, ForwardPlan, GpuPlan, Operand, Options, Plan, Problem, Sequences, Sizes,
    Target, Window,
};
use fa3_kernels::{ForwardKernel, forward_kernels};
use proptest::prelude::*;

const H200: Target = Target::Cuda(CudaTarget::H200);

fn gpu(plan: &Plan) -> &GpuPlan {
    match plan.execution() {
        Execution::Gpu(gpu) => gpu,
        other => panic!("{other:?}"),
    }
}

fn row(forward: &ForwardPlan) -> &'static ForwardKernel {
    forward_kernels().find(|row| row.symbol() == forward.kernel.symbol).unwrap()
}

fn options() -> impl Strategy<Value = Options> {
    let side = || prop::option::weighted(0.3, prop_oneof![0usize..200, Just(usize::MAX)]);
    let scale = prop::sample::select(vec![None, None, Some(0.3), Some(0.0), Some(-2.0)]);
    let softcap = prop::option::weighted(0.2, 0.5f32..60.0);
    (scale, any::<bool>(), side(), side(), softcap, any::<bool>()).prop_map(
        |(scale, causal, left, right, softcap, batch_invariant)| Options {
            scale,
            causal,
            window: Window { left, right },
            softcap,
            batch_invariant,
        },
    )
}

/// Extents and how sequences lie in them: two out of three are ragged.
fn sequences() -> impl Strategy<Value = (usize, usize, usize, Sequences)> {
    let length = || prop_oneof![0usize..300, 300usize..40_000];
    let batch = (1usize..9, length(), length());
    let packed = prop::collection::vec((length(), length()), 1..9).prop_map(|lengths| {
        let (q, k): (Vec<usize>, Vec<usize>) = lengths.into_iter().unzip();
        let max = |lengths: &[usize]| lengths.iter().copied().max().unwrap();
        let sequences = Sequences::Packed { count: q.len(), max_q: max(&q), max_k: max(&k) };
        (1, q.iter().sum(), k.iter().sum(), sequences)
    });
    prop_oneof![
        batch.clone().prop_map(|(batch, sq, sk)| (batch, sq, sk, Sequences::Dense)),
        batch.prop_map(|(batch, sq, sk)| (batch, sq, sk, Sequences::UsedKeys)),
        packed,
    ]
}

/// What the kernels take.
fn supported() -> impl Strategy<Value = Problem> {
    let dtype = prop::sample::select(vec![DType::Bf16, DType::F16]);
    let head = || (1usize..=32).prop_map(|eighths| 8 * eighths);
    let sizes = (sequences(), 1usize..5, prop_oneof![1usize..9, 60usize..260], head(), head());
    (dtype, sizes, options(), any::<[bool; 4]>()).prop_map(
        |(dtype, ((batch, sq, sk, sequences), heads_k, group, d, dv), options, flags)| {
            let [lse, sinks, alibi, transposed] = flags;
            let sizes = Sizes { sk, heads_q: heads_k * group, heads_k, dv, ..Sizes::new(batch, sq, 1, d) };
            let mut problem = Problem::dense(dtype, sizes, options);
            problem = Problem { lse, sinks, alibi, sequences, ..problem };
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
        let dims = plan.dims();
        if dims.is_empty() {
            prop_assert_eq!(plan.execution(), &Execution::Nothing);
            prop_assert_eq!(plan.workspace_bytes(), 0);
            return Ok(());
        }
        let GpuPlan { schedule, forward, workspace_bytes, .. } = gpu(&plan);
        let ForwardPlan { kernel, tile, params, .. } = forward;
        let row = row(forward);
        prop_assert_eq!((tile.m, tile.n), (row.tile_m(), row.tile_n));
        prop_assert_eq!(kernel.block, 128 * (tile.consumers + 1));
        prop_assert!(kernel.shared_bytes <= kernel.arch.max_shared_bytes());
        prop_assert_eq!((kernel.grid[1], kernel.grid[2]), (1, 1));

        let (pack, heads) = (params.pack as usize, params.heads as usize);
        prop_assert_eq!(heads * pack, dims.heads_q);
        prop_assert_eq!(params.group as usize * dims.heads_k, dims.heads_q);
        prop_assert!(pack == 1 || (pack == dims.group && pack <= tile.m as usize));
        prop_assert_eq!((params.sq as usize, params.sk as usize, params.dv as usize), (dims.sq, dims.sk, dims.dv));
        prop_assert_eq!(tile.pack as usize, pack);
        prop_assert!((0..tile.m as i32).all(|row| (row * params.pack_reciprocal) >> 16 == row / params.pack));
        let queries = tile.queries() as usize;
        prop_assert_eq!(queries, tile.m as usize / pack);
        let grid = kernel.grid[0] as usize;
        prop_assert_eq!(schedule.is_some(), problem.sequences != Sequences::Dense);
        if let Some(schedule) = schedule {
            let list = &schedule.params;
            prop_assert_eq!(grid, list.capacity as usize * heads);
            prop_assert_eq!(*workspace_bytes, 32 + 32 * list.capacity as usize);
            prop_assert_eq!((list.tile_queries as usize, list.heads as usize), (queries, heads));
            prop_assert_eq!((list.sequences as usize, list.max_q as usize), (dims.sequences, dims.max_q));
            prop_assert_eq!((list.sq, list.sk), (params.sq, params.sk));
            prop_assert_eq!([params.m_tiles, params.tiles, params.section, params.batch_heads, params.paired], [0; 5]);
        } else {
            prop_assert_eq!(*workspace_bytes, 0);
            prop_assert_eq!(params.batch_heads as usize, dims.batch * heads);
            let rows = params.m_tiles as usize * queries;
            prop_assert!(rows >= dims.sq && rows - dims.sq < queries);
            prop_assert_eq!(params.tiles, params.m_tiles * params.batch_heads);
            prop_assert!(params.section >= 1 && params.section <= params.batch_heads);
            prop_assert!(params.section.count_ones() == 1);
            prop_assert!(grid >= 1 && grid << params.paired <= params.tiles as usize + 1);
        }
    }

    #[test]
    fn the_kernel_is_the_narrowest_that_holds_the_heads(problem in supported()) {
        let plan = Plan::forward(&H200, &problem).unwrap();
        let Execution::Gpu(gpu) = plan.execution() else { return Ok(()) };
        let chosen = row(&gpu.forward);
        let dims = plan.dims();
        let holds = |row: &&ForwardKernel| row.head_dim as usize >= dims.d && row.value_dim as usize >= dims.dv;
        prop_assert!(holds(&chosen));
        for other in forward_kernels().filter(holds) {
            prop_assert!(other.head_dim + other.value_dim >= chosen.head_dim + chosen.value_dim);
        }
    }

    #[test]
    fn addresses_are_left_to_the_binding_and_maps_describe_the_operands(problem in supported()) {
        let plan = Plan::forward(&H200, &problem).unwrap();
        let Execution::Gpu(gpu) = plan.execution() else { return Ok(()) };
        let params = &gpu.forward.params;
        prop_assert_eq!([params.lse, params.o, params.schedule, params.sinks, params.slopes], [0; 5]);
        if let Some(schedule) = &gpu.schedule {
            let list = &schedule.params;
            prop_assert_eq!([list.list, list.cu_q, list.cu_k, list.used_k], [0; 4]);
        }
        let dims = plan.dims();
        let boxes = row(&gpu.forward).boxes(params.pack as u32);
        let expected = [
            (Operand::Q, &boxes.q[..], dims.d),
            (Operand::K, &boxes.k, dims.d),
            (Operand::V, &boxes.v, dims.dv),
            (Operand::O, &boxes.o, dims.dv),
        ];
        prop_assert_eq!(gpu.forward.maps.len(), expected.len());
        for (slot, (operand, extents, dim)) in gpu.forward.maps.iter().zip(expected) {
            prop_assert_eq!(slot.operand, operand);
            let empty = dims.sk == 0 && matches!(operand, Operand::K | Operand::V);
            prop_assert_eq!(slot.address, if empty { Operand::Q } else { operand });
            prop_assert_eq!(slot.desc.box_extents(), Some(extents));
            prop_assert!(slot.desc.validate(1 << 20).is_ok());
            // A row of Q that stands in for keys is as wide as Q, whatever V is.
            prop_assert_eq!(slot.desc.extents()[0] as usize, if empty { dims.d } else { dim });
        }
    }

    #[test]
    fn a_batch_invariant_plan_has_one_kernel_and_tile_whatever_the_lengths(
        problem in supported(), (batch, sq, sk, sequences) in sequences(),
    ) {
        let options = Options { batch_invariant: true, ..problem.options };
        let plan = |(batch, sq, sk, sequences)| {
            let [_, _, heads_q, d] = problem.q.layout.shape;
            let [_, _, heads_k, dv] = problem.v.layout.shape;
            let sizes = Sizes { batch, sq, sk, heads_q, heads_k, d, dv };
            let of = Problem { sequences, ..Problem::dense(problem.q.dtype, sizes, options) };
            Plan::forward(&H200, &of).unwrap()
        };
        let ([one_batch, one_sq, ..], one_sk) = (problem.q.layout.shape, problem.k.layout.shape[1]);
        let (one, other) = (plan((one_batch, one_sq, one_sk, problem.sequences)), plan((batch, sq, sk, sequences)));
        let (Execution::Gpu(one), Execution::Gpu(other)) = (one.execution(), other.execution()) else { return Ok(()) };
        prop_assert_eq!(&one.forward.kernel.symbol, &other.forward.kernel.symbol);
        prop_assert_eq!(one.forward.tile, other.forward.tile);
        prop_assert_eq!(one.forward.params.pack, other.forward.params.pack);
    }

    #[test]
    fn the_cpu_takes_every_well_formed_problem(problem in supported()) {
        let cpu = Target::Cpu(fa3::CpuTarget { threads: 2 });
        prop_assert!(Plan::forward(&cpu, &problem).is_ok());
    }
}

fn plain() -> Problem {
    Problem::dense(DType::Bf16, Sizes { heads_k: 2, ..Sizes::new(2, 512, 8, 128) }, Options::default())
}

#[test]
fn packed_heads_take_strictly_fewer_tiles() {
    let pack = |sq, heads_k, group| {
        let sizes = Sizes { sk: 4096, heads_k, ..Sizes::new(1, sq, heads_k * group, 128) };
        let plan = Plan::forward(&H200, &Problem::dense(DType::Bf16, sizes, Options::default())).unwrap();
        gpu(&plan).forward.params.pack
    };
    // One query: all heads of a group fit one tile of 128 rows.
    assert_eq!([pack(1, 8, 4), pack(1, 1, 128), pack(1, 8, 1)], [4, 128, 1]);
    // More heads than rows.
    assert_eq!(pack(1, 1, 129), 1);
    // 64 queries of two heads fill a tile; 128 of them fill two, packed or not.
    assert_eq!([pack(64, 2, 2), pack(128, 2, 2), pack(129, 2, 2)], [2, 1, 2]);
    // 42 queries of 3 heads a tile: 128 queries take 4 tiles packed, 3 apart.
    assert_eq!([pack(126, 1, 3), pack(128, 1, 3)], [1, 1]);
}

#[test]
fn lengths_decide_kernel_and_pack_only_where_bits_may_depend_on_them() {
    let of = |batch_invariant, sk, d| {
        let options = Options { causal: true, batch_invariant, ..Options::default() };
        let sizes = Sizes { sk, heads_k: 1, ..Sizes::new(2, 2048, 2, d) };
        let plan = Plan::forward(&H200, &Problem::dense(DType::Bf16, sizes, options)).unwrap();
        let forward = &gpu(&plan).forward;
        (forward.kernel.symbol.clone(), forward.params.pack)
    };
    assert_eq!(of(true, 100, 64), of(true, 10_000, 64));
    assert_ne!(of(false, 100, 64), of(false, 10_000, 64), "else the test shows nothing");
    assert_ne!(of(true, 2048, 128).1, of(false, 2048, 128).1, "nor here");
}

#[test]
fn repeated_keys_and_a_single_batch_entry_of_any_stride_are_taken() {
    let mut problem = Problem::dense(DType::F16, Sizes::new(1, 64, 4, 64), Options::default());
    problem.q.layout.strides[0] = 3;
    problem.o.layout.strides[0] = usize::MAX;
    problem.k.layout.strides[2] = 0;
    let plan = Plan::forward(&H200, &problem).unwrap();
    assert_eq!(gpu(&plan).forward.params.o_batch, 0, "never stepped over");
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

#[test]
fn a_plan_of_ragged_sequences_prints_both_kernels_and_what_edits_scores() {
    let options = Options { softcap: Some(30.0), batch_invariant: true, ..Options::default() };
    let mut problem = Problem::dense(DType::F16, Sizes { heads_k: 2, ..Sizes::new(1, 600, 8, 128) }, options);
    problem.sequences = Sequences::Packed { count: 3, max_q: 400, max_k: 400 };
    let text = Plan::forward(&H200, &problem).unwrap().to_string();
    for part in [
        "3 sequences, 600 queries (at most 400), 600 keys (at most 400)",
        "batch-invariant",
        "schedule  fa3_schedule_sm90 (sm_90a): at most 21 rows of tiles",
        "kernel    fa3_fwd_sm90_f16_d128_m128 (sm_90a)",
        "tile      128 rows (32 queries of 4 heads) × 128 keys",
        "tiles     listed on the device, at most 42",
        "scores    edited",
        "workspace 704 bytes",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_ne!(Plan::forward(&H200, &plain()).unwrap().to_string(), text);
}
