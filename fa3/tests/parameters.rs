//! The kernels' parameters, value by value, for each option.

#![allow(clippy::unwrap_used, clippy::panic)]

use core::f32::consts::LOG2_E;

use fa3::{CudaTarget, DType, Execution, GpuPlan, Options, Plan, Problem, Sequences, Sizes, Target, Window};
use fa3_kernels::{ForwardParams, ScheduleParams};

const UNBOUNDED: i32 = i32::MAX;

fn gpu(problem: &Problem) -> GpuPlan {
    let plan = Plan::forward(&Target::Cuda(CudaTarget::H200), problem).unwrap();
    let Execution::Gpu(gpu) = plan.execution() else { panic!("{plan}") };
    GpuPlan::clone(gpu)
}

fn forward(problem: &Problem) -> ForwardParams {
    gpu(problem).forward.params
}

fn list_of(problem: &Problem) -> ScheduleParams {
    gpu(problem).schedule.unwrap().params
}

/// Two sequences of 512 queries and 640 keys, 8 heads on 2, of 128.
fn plain() -> Problem {
    let sizes = Sizes { heads_k: 2, sk: 640, ..Sizes::new(2, 512, 8, 128) };
    Problem::dense(DType::Bf16, sizes, Options::default())
}

/// What [`plain`] becomes.
fn plain_params() -> ForwardParams {
    ForwardParams {
        lse: 0,
        o: 0,
        schedule: 0,
        sinks: 0,
        slopes: 0,
        o_batch: 512 * 8 * 128,
        o_row: 8 * 128,
        o_head: 128,
        scale_log2: (1.0 / 128f64.sqrt()) as f32 * LOG2_E,
        score_scale: 1.0,
        softcap_log2: 0.0,
        edit: 0,
        sq: 512,
        sk: 640,
        dv: 128,
        pack: 1,
        pack_reciprocal: 65_536,
        heads: 8,
        group: 4,
        window_left: UNBOUNDED,
        window_right: UNBOUNDED,
        batch_heads: 16,
        m_tiles: 4,
        tiles: 64,
        section: 1,
        paired: 0,
    }
}

fn with(options: Options) -> ForwardParams {
    forward(&Problem { options, ..plain() })
}

#[test]
fn plain_attention() {
    assert_eq!(forward(&plain()), plain_params());
    // The LSE is an address alone, and so are sinks.
    assert_eq!(forward(&Problem { lse: false, sinks: true, ..plain() }), plain_params());
}

#[test]
fn causality_and_windows_are_the_window_s_sides() {
    let sides = |causal, left, right| {
        let params = with(Options { causal, window: Window { left, right }, ..Options::default() });
        let ForwardParams { window_left, window_right, .. } = params;
        assert_eq!(ForwardParams { window_left, window_right, section: 1, ..plain_params() }, {
            ForwardParams { section: 1, ..params }
        });
        [window_left, window_right]
    };
    assert_eq!(sides(true, None, None), [UNBOUNDED, 0]);
    assert_eq!(sides(true, Some(255), Some(3)), [255, 0]);
    assert_eq!(sides(false, Some(255), Some(0)), [255, 0]);
    assert_eq!(sides(false, Some(0), None), [0, UNBOUNDED]);
    assert_eq!(sides(false, None, Some(7)), [UNBOUNDED, 7]);
    let far = i32::MAX as usize;
    assert_eq!(sides(false, Some(far - 1), Some(far)), [i32::MAX - 1, UNBOUNDED]);
    assert_eq!(sides(false, Some(usize::MAX), Some(far + 1)), [UNBOUNDED, UNBOUNDED]);
}

#[test]
fn a_causal_section_is_as_many_heads_as_fit_half_of_l2() {
    let section = |sk, heads_k, pack: usize| {
        let options = Options { causal: true, ..Options::default() };
        let sizes = Sizes { sk, heads_k, ..Sizes::new(1, if pack > 1 { 1 } else { 2048 }, 64, 128) };
        let params = forward(&Problem::dense(DType::Bf16, sizes, options));
        assert_eq!(params.pack as usize, pack);
        params.section
    };
    // A key and its value take 512 bytes: 25 MiB hold 51,200 of them.
    assert_eq!([section(2048, 64, 1), section(51_200, 64, 1), section(60_000, 64, 1)], [16, 1, 1]);
    // Four query heads share them; packed, they are one head of tiles.
    assert_eq!([section(2048, 16, 1), section(2048, 16, 4)], [64, 16]);
}

#[test]
fn a_softcap_slopes_and_scales_that_are_not_positive_edit_scores() {
    let edited = |scale: f32, softcap_log2| ForwardParams {
        scale_log2: 1.0,
        score_scale: scale,
        softcap_log2,
        edit: 1,
        ..plain_params()
    };
    let scale = (1.0 / 128f64.sqrt()) as f32;
    let capped = Options { softcap: Some(30.0), ..Options::default() };
    assert_eq!(with(capped), edited(scale / 30.0 * (2.0 * LOG2_E), 30.0 * LOG2_E));
    assert_eq!(forward(&Problem { alibi: true, ..plain() }), edited(scale * LOG2_E, 0.0));
    let both = Problem { alibi: true, options: capped, ..plain() };
    assert_eq!(forward(&both), edited(scale / 30.0 * (2.0 * LOG2_E), 30.0 * LOG2_E));
    for scale in [0.0, -0.5] {
        assert_eq!(with(Options { scale: Some(scale), ..Options::default() }), edited(scale * LOG2_E, 0.0));
        let negative = Options { scale: Some(scale), ..capped };
        assert_eq!(with(negative), edited(scale / 30.0 * (2.0 * LOG2_E), 30.0 * LOG2_E));
    }
    let steep = with(Options { scale: Some(2.0), ..Options::default() });
    assert_eq!(steep, ForwardParams { scale_log2: 2.0 * LOG2_E, ..plain_params() });
}

#[test]
fn widths_strides_and_packed_heads() {
    let sizes = Sizes { heads_k: 2, sk: 640, dv: 72, ..Sizes::new(2, 3, 8, 40) };
    let mut problem = Problem::dense(DType::Bf16, sizes, Options::default());
    problem.o.layout.strides = [8 * 3 * 80, 80, 3 * 80, 1];
    let params = forward(&problem);
    let expected = ForwardParams {
        o_batch: 8 * 3 * 80,
        o_row: 80,
        o_head: 3 * 80,
        scale_log2: (1.0 / 40f64.sqrt()) as f32 * LOG2_E,
        sq: 3,
        dv: 72,
        pack: 4,
        pack_reciprocal: 16_384,
        heads: 2,
        batch_heads: 4,
        m_tiles: 1,
        tiles: 4,
        ..plain_params()
    };
    assert_eq!(params, expected);
}

#[test]
fn packed_sequences_are_listed_on_the_device() {
    let sizes = Sizes { heads_k: 2, sk: 2000, ..Sizes::new(1, 1000, 8, 128) };
    let sequences = Sequences::Packed { count: 5, max_q: 640, max_k: 900 };
    let problem = Problem { sequences, ..Problem::dense(DType::F16, sizes, Options::default()) };
    let plan = gpu(&problem);
    let params = ForwardParams {
        o_batch: 0,
        sq: 1000,
        sk: 2000,
        batch_heads: 0,
        m_tiles: 0,
        tiles: 0,
        section: 0,
        ..plain_params()
    };
    assert_eq!(plan.forward.params, params);
    let list = ScheduleParams {
        list: 0,
        cu_q: 0,
        cu_k: 0,
        used_k: 0,
        sequences: 5,
        sq: 1000,
        sk: 2000,
        max_q: 640,
        tile_queries: 128,
        heads: 8,
        section_keys: 0,
        // (1000 + 5 · 127) / 128, less than 5 · 5.
        capacity: 12,
    };
    let schedule = plan.schedule.unwrap();
    assert_eq!(schedule.params, list);
    assert_eq!((schedule.kernel.symbol.as_str(), schedule.kernel.grid), ("fa3_schedule_sm90", [1, 1, 1]));
    assert_eq!((schedule.kernel.block, schedule.kernel.shared_bytes), (256, 0));
    assert_eq!((plan.forward.kernel.grid, plan.workspace_bytes), ([12 * 8, 1, 1], 32 + 12 * 32));

    let causal = Problem { options: Options { causal: true, ..Options::default() }, ..problem };
    // 25 MiB over 512 bytes a key, four query heads on each.
    assert_eq!(list_of(&causal), ScheduleParams { section_keys: 204_800, ..list });
    let few = Problem { sequences: Sequences::Packed { count: 500, max_q: 2, max_k: 4 }, ..causal };
    // Two queries of four heads a tile, of 32: 500 sequences of at most one row of tiles.
    let packed = ScheduleParams {
        sequences: 500,
        max_q: 2,
        tile_queries: 32,
        heads: 2,
        section_keys: 51_200,
        capacity: 500,
        ..list
    };
    assert_eq!(list_of(&few), packed);
}

#[test]
fn used_keys_are_listed_too() {
    let problem = Problem { sequences: Sequences::UsedKeys, ..plain() };
    let plan = gpu(&problem);
    let params = ForwardParams { batch_heads: 0, m_tiles: 0, tiles: 0, section: 0, ..plain_params() };
    assert_eq!(plan.forward.params, params);
    let list = ScheduleParams {
        sequences: 2,
        sq: 512,
        sk: 640,
        max_q: 512,
        tile_queries: 128,
        heads: 8,
        capacity: 8,
        ..ScheduleParams::default()
    };
    assert_eq!(plan.schedule.unwrap().params, list);
}
