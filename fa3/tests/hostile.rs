//! Problems and addresses of any numbers at all: each is computed or refused, and nothing panics.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
#[cfg(feature = "emu")]
use std::sync::OnceLock;

use fa3::{
    Backend, CpuTarget, CudaTarget, DType, Execution, Layout, MockBackend, Operands, Options, Place, Plan,
    Pointer, Problem, Sequences, StreamHandle, Target, Tensor, TensorSpec, Window, Workspace,
};
#[cfg(feature = "emu")]
use fa3::{Device, Error, Sizes};
use fa3_sys::Arch;
use proptest::prelude::*;

/// A number near one where arithmetic changes: 0, a head dimension, a power of two, the largest.
fn number() -> impl Strategy<Value = usize> {
    let near = |exponent: u32, difference: isize| (1usize << exponent).wrapping_add_signed(difference);
    prop_oneof![
        4 => 0usize..5,
        3 => prop::sample::select(vec![8usize, 64, 128, 256]),
        2 => 0usize..100_000,
        2 => (0u32..64, -2isize..3).prop_map(move |(exponent, difference)| near(exponent, difference)),
        1 => (0usize..3).prop_map(|less| usize::MAX - less),
    ]
}

fn dtype() -> impl Strategy<Value = DType> {
    prop_oneof![4 => Just(DType::F16), 4 => Just(DType::Bf16), 2 => Just(DType::F32), 1 => Just(DType::I32)]
}

/// Contiguous, repeating, or of any strides.
fn layout(shape: [usize; 4]) -> impl Strategy<Value = Layout> {
    let contiguous = Layout::contiguous(shape);
    prop_oneof![
        3 => Just(contiguous),
        3 => prop::array::uniform3(any::<bool>()).prop_map(move |repeats| {
            let mut layout = contiguous;
            layout.strides.iter_mut().zip(repeats).for_each(|(stride, repeat)| if repeat { *stride = 0 });
            layout
        }),
        2 => prop::array::uniform4(number()).prop_map(move |[a, b, c, d]| Layout {
            shape,
            strides: [a, b, c, if d.is_multiple_of(4) { d } else { 1 }],
        }),
    ]
}

fn float() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>(),
        prop::sample::select(vec![0.0, -0.0, f32::NAN, f32::INFINITY, f32::MIN, f32::MAX, 1e-45, 0.125])
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let side = || prop::option::weighted(0.3, number());
    let plain = (any::<bool>()).prop_map(|causal| Options { causal, ..Options::default() });
    let any = (prop::option::of(float()), any::<[bool; 2]>(), side(), side(), prop::option::of(float()));
    let any = any.prop_map(|(scale, [causal, batch_invariant], left, right, softcap)| Options {
        scale,
        causal,
        window: Window { left, right },
        softcap,
        batch_invariant,
    });
    prop_oneof![plain, any]
}

fn sequences() -> impl Strategy<Value = Sequences> {
    prop_oneof![
        3 => Just(Sequences::Dense),
        1 => Just(Sequences::UsedKeys),
        1 => (number(), number(), number()).prop_map(|(count, max_q, max_k)| Sequences::Packed { count, max_q, max_k }),
    ]
}

fn problem() -> impl Strategy<Value = Problem> {
    let sizes = (number(), number(), number(), number(), number(), number(), number(), 0usize..8);
    (sizes, dtype(), options(), sequences(), any::<[bool; 3]>()).prop_flat_map(
        |((batch, sq, sk, heads_k, group, d, dv, same), dtype, options, sequences, [lse, sinks, alibi])| {
            let heads_q = if group == 0 { 0 } else { heads_k.saturating_mul(group.min(8)) };
            let dv = if same > 0 { d } else { dv };
            let of = |shape| layout(shape).prop_map(move |layout| TensorSpec { dtype, layout });
            let tensors = (
                of([batch, sq, heads_q, d]),
                of([batch, sk, heads_k, d]),
                of([batch, sk, heads_k, dv]),
                prop_oneof![5 => Just(TensorSpec { dtype, layout: Layout::contiguous([batch, sq, heads_q, dv]) }), 1 => of([batch, sq, heads_q, dv])],
            );
            tensors.prop_map(move |(q, k, v, o)| Problem { q, k, v, o, lse, sinks, alibi, sequences, options })
        },
    )
}

fn targets() -> impl Strategy<Value = Target> {
    let cuda = |arch| move |(sms, l2_bytes)| Target::Cuda(CudaTarget { arch, sms, l2_bytes });
    let hardware = || (prop_oneof![Just(132u32), any::<u32>()], prop_oneof![Just(50u64 << 20), any::<u64>()]);
    prop_oneof![
        6 => hardware().prop_map(cuda(Arch::Sm90a)),
        1 => hardware().prop_map(cuda(Arch::Sm100a)),
        3 => prop_oneof![Just(2usize), number()].prop_map(|threads| Target::Cpu(CpuTarget { threads })),
    ]
}

fn address() -> impl Strategy<Value = Pointer> {
    let place = prop_oneof![20 => Just(Place::Mock), 1 => Just(Place::Host), 1 => Just(Place::Cuda(0))];
    let address = prop_oneof![
        8 => (0u64..1 << 40).prop_map(|n| n << 20),
        2 => any::<u64>().prop_map(|n| n & !15),
        1 => any::<u64>(),
        1 => Just(0),
    ];
    (address, place).prop_map(|(address, place)| Pointer { address, place })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_problem_and_any_address_is_taken_or_refused(
        problem in problem(), target in targets(), addresses in prop::collection::vec(address(), 11),
        missing_bytes in prop_oneof![9 => Just(0usize), 1 => 1usize..100], given in prop::collection::vec(prop::option::weighted(0.95, Just(())), 6),
    ) {
        let plan = match Plan::forward(&target, &problem) {
            Ok(plan) => plan,
            Err(error) => {
                prop_assert!(!error.to_string().is_empty());
                return Ok(());
            }
        };
        prop_assert!(!plan.to_string().is_empty());
        prop_assert!(plan.work().flops.is_finite() && plan.work().flops >= 0.0);
        if let Execution::Gpu(gpu) = plan.execution() {
            let params = &gpu.forward.params;
            prop_assert!(i64::from(params.section) * i64::from(params.m_tiles) <= i64::from(i32::MAX));
            prop_assert!(gpu.kernels().all(|kernel| (1..=i32::MAX as u32).contains(&kernel.grid[0])));
            prop_assert!(params.scale_log2 > 0.0 && params.scale_log2.is_finite());
            prop_assert!(params.score_scale.is_finite() && params.softcap_log2.is_finite());
            prop_assert!([params.window_left, params.window_right, params.dv, params.group].iter().all(|&n| n >= 0));
            if let Some(schedule) = &gpu.schedule {
                prop_assert!(schedule.params.capacity > 0 && schedule.params.section_keys >= 0);
                prop_assert!(plan.workspace_bytes() > 32 * schedule.params.capacity as usize);
            }
        }
        let mock: Arc<dyn Backend> = Arc::new(MockBackend::new(target));
        let tensor = |n: usize, spec| Tensor { pointer: addresses[n], spec };
        let wanted = |n: usize, wanted: bool| (wanted == given[n - 4].is_some()).then_some(addresses[n]);
        let packed = matches!(problem.sequences, Sequences::Packed { .. });
        let operands = Operands {
            lse: wanted(4, problem.lse),
            sinks: wanted(5, problem.sinks),
            alibi: wanted(6, problem.alibi),
            used_k: wanted(7, problem.sequences == Sequences::UsedKeys),
            cu_q: wanted(8, packed),
            cu_k: wanted(9, packed),
            ..Operands::new(tensor(0, problem.q), tensor(1, problem.k), tensor(2, problem.v), tensor(3, problem.o))
        };
        let bytes = plan.workspace_bytes().saturating_sub(missing_bytes);
        let workspace = Workspace::Caller { pointer: addresses[10], bytes };
        match Arc::new(plan).bind(&mock, &operands, workspace) {
            Ok(binding) => {
                // SAFETY: the mock reads no operand.
                unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Problems that the kernels mostly take.
#[cfg(feature = "emu")]
fn kernel_problem() -> impl Strategy<Value = Problem> {
    let head = || prop::sample::select(vec![8usize, 64, 72, 96, 128, 192, 256]);
    let sizes = (1usize..4, number(), number(), 1usize..4, 1usize..4, head(), head());
    let dtype = prop_oneof![Just(DType::F16), Just(DType::Bf16)];
    let sequences = prop_oneof![
        2 => Just(Sequences::Dense),
        1 => Just(Sequences::UsedKeys),
        1 => (1usize..100, number(), number())
            .prop_map(|(count, max_q, max_k)| Sequences::Packed { count, max_q, max_k }),
    ];
    (sizes, dtype, sequences, any::<[bool; 4]>()).prop_map(
        |((batch, sq, sk, heads_k, group, d, dv), dtype, mut sequences, [causal, lse, sinks, alibi])| {
            let mut batch = batch;
            if let Sequences::Packed { count, max_q, max_k } = &mut sequences {
                batch = 1;
                *max_q = (*max_q).clamp(sq.div_ceil(*count), sq);
                *max_k = (*max_k).clamp(sk.div_ceil(*count), sk);
            }
            let sizes = Sizes { heads_k, sk, dv, ..Sizes::new(batch, sq, heads_k * group, d) };
            let options = Options { causal, ..Options::default() };
            Problem { lse, sinks, alibi, sequences, ..Problem::dense(dtype, sizes, options) }
        },
    )
}

#[cfg(feature = "emu")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// On an emulated GPU the kernels themselves meet such problems and addresses: a fault ends them.
    #[test]
    fn the_emulator_stops_kernels_on_any_address(
        problem in kernel_problem(), addresses in prop::collection::vec(address(), 11),
    ) {
        static DEVICE: OnceLock<Device> = OnceLock::new();
        let open = || Device::emulated(CudaTarget::H200, fa3::fa3_emu::Options::default()).unwrap();
        let device = DEVICE.get_or_init(open);
        let backend = device.backend();
        let Ok(plan) = device.plan(&problem) else { return Ok(()) };
        let pointer = |n: usize| Pointer { place: backend.place(), ..addresses[n] };
        let tensor = |n: usize, spec| Tensor { pointer: pointer(n), spec };
        let packed = matches!(problem.sequences, Sequences::Packed { .. });
        let operands = Operands {
            lse: problem.lse.then(|| pointer(4)),
            sinks: problem.sinks.then(|| pointer(5)),
            alibi: problem.alibi.then(|| pointer(6)),
            used_k: (problem.sequences == Sequences::UsedKeys).then(|| pointer(7)),
            cu_q: packed.then(|| pointer(8)),
            cu_k: packed.then(|| pointer(9)),
            ..Operands::new(tensor(0, problem.q), tensor(1, problem.k), tensor(2, problem.v), tensor(3, problem.o))
        };
        let workspace = Workspace::Caller { pointer: pointer(10), bytes: plan.workspace_bytes() };
        match plan.bind(backend, &operands, workspace) {
            Ok(binding) => {
                // SAFETY: the emulator checks every access.
                let ran = unsafe { binding.run(StreamHandle::DEFAULT) };
                match plan.execution() {
                    Execution::Nothing => prop_assert!(ran.is_ok()),
                    _ => prop_assert!(matches!(ran, Err(Error::Emulated { .. })), "{ran:?}"),
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
