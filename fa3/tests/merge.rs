//! Merging partial results: on the CPU, as what reaches a GPU, and what is refused before.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

#[path = "common/merge_layouts.rs"]
mod merge_layouts;
#[path = "common/merges.rs"]
mod merges;

use std::sync::Arc;

use fa3::{
    Backend, Buffer, CudaTarget, DType, Device, Error, HostParts, Layout, MergeExecution, MergeOperands,
    MergePlan, MergeProblem, MockBackend, Operand, Place, Pointer, RecordedParams, StreamHandle, Target,
    Tensor, TensorSpec,
};
use proptest::prelude::*;

const H200: Target = Target::Cuda(CudaTarget::H200);
const CPU: Target = Target::Cpu(fa3::CpuTarget { threads: 1 });

#[test]
fn the_cpu_gives_what_the_reference_does() {
    for case in merges::CASES {
        for types in merges::TYPES {
            merges::check(&Device::cpu(), case, types);
        }
    }
}

#[test]
fn tensors_need_not_be_contiguous() {
    merge_layouts::strides_are_honoured(&Device::cpu());
}

#[test]
fn attention_over_parts_of_the_keys_merges_into_attention_over_all() {
    merge_layouts::parts_of_the_keys_are_all_of_them(&Device::cpu());
}

/// Two parts of `[2, 5, 4, 64]` in f32, to bf16, with sinks.
fn problem() -> MergeProblem {
    MergeProblem { sinks: true, ..MergeProblem::contiguous(2, DType::F32, DType::Bf16, [2, 5, 4, 64]) }
}

struct Setup {
    mock: Arc<MockBackend>,
    backend: Arc<dyn Backend>,
    plan: Arc<MergePlan>,
    operands: MergeOperands,
    _buffers: Vec<Buffer>,
}

fn setup() -> Setup {
    let mock = Arc::new(MockBackend::new(H200));
    let backend: Arc<dyn Backend> = Arc::clone(&mock) as _;
    let problem = problem();
    let mut buffers = Vec::new();
    let mut allocate = |bytes: usize| {
        buffers.push(Buffer::new(&backend, bytes).unwrap());
        buffers.last().unwrap().pointer()
    };
    let rows = 2 * 5 * 4;
    let operands = MergeOperands {
        parts: Tensor { pointer: allocate(2 * rows * 64 * 4), spec: problem.part },
        parts_lse: allocate(2 * rows * 4),
        o: Tensor { pointer: allocate(rows * 64 * 2), spec: problem.o },
        lse: Some(allocate(rows * 4)),
        sinks: Some(allocate(4 * 4)),
    };
    let plan = Arc::new(MergePlan::new(&H200, &problem).unwrap());
    Setup { mock, backend, plan, operands, _buffers: buffers }
}

impl Setup {
    fn refused(&self, change: impl FnOnce(&mut MergeOperands)) -> Error {
        let mut operands = self.operands;
        change(&mut operands);
        self.plan.bind(&self.backend, &operands).unwrap_err()
    }
}

#[test]
fn a_run_is_one_launch_with_the_bound_addresses() {
    let setup = setup();
    let binding = setup.plan.bind(&setup.backend, &setup.operands).unwrap();
    let before = setup.mock.calls().len();
    // SAFETY: the mock reads no operand.
    unsafe { binding.run(StreamHandle::from_raw(7)).unwrap() };
    assert_eq!(setup.mock.calls().len() - before, 1, "a run is a launch and nothing else");
    let launches = setup.mock.launches();
    let [launch] = &launches[..] else { panic!("{launches:?}") };
    assert_eq!(launch.symbol, "fa3_merge_sm90");
    // Eight threads a row, so 32 rows a CTA.
    assert_eq!((launch.grid, launch.block, launch.shared_bytes), ([2, 1, 1], 256, 0));
    assert_eq!(launch.stream, StreamHandle::from_raw(7));
    let [RecordedParams::Merge(params)] = launch.params[..] else { panic!("{launch:?}") };
    let MergeOperands { parts, parts_lse, o, lse, sinks } = setup.operands;
    assert_eq!([params.parts, params.parts_lse], [parts.pointer.address, parts_lse.address]);
    assert_eq!(params.o, o.pointer.address);
    assert_eq!([params.lse, params.sinks], [lse.unwrap().address, sinks.unwrap().address]);
    assert_eq!((params.part_stride, params.part_batch), (2 * 5 * 4 * 64, 5 * 4 * 64));
    assert_eq!((params.rows, params.sq, params.heads, params.lanes), (40, 5, 4, 8));
    assert_eq!((params.part_type, params.o_type), (0, 2));
}

#[test]
fn operands_that_were_not_planned_for_are_refused() {
    let setup = setup();
    let operands = setup.operands;
    let missing = |error, wanted| matches!(error, Error::OperandMissing { operand, .. } if operand == wanted);
    assert!(missing(setup.refused(|operands| operands.sinks = None), Operand::Sinks));
    assert!(missing(setup.refused(|operands| operands.lse = None), Operand::Lse));
    let error = setup.refused(|operands| operands.parts.spec.dtype = DType::F16);
    assert!(matches!(error, Error::PlanMismatch { what: "the parts", .. }), "{error}");
    let error = setup.refused(|operands| operands.o.spec.layout.strides[0] += 8);
    assert!(matches!(error, Error::PlanMismatch { what: "o", .. }), "{error}");
    let error = setup.refused(|operands| operands.parts_lse.place = Place::Host);
    assert!(matches!(error, Error::WrongPlace { operand: Operand::PartsLse, .. }), "{error}");
    let error = setup.refused(|operands| operands.parts.pointer.address = 0);
    assert!(matches!(error, Error::Null { operand: Operand::Parts, .. }), "{error}");
    let error = setup.refused(|operands| operands.parts.pointer.address += 8);
    assert!(matches!(error, Error::Misaligned { operand: Operand::Parts, alignment: 16, .. }), "{error}");
    let overlap = |error, wanted| matches!(error, Error::Overlap { other, .. } if other == wanted);
    // The last bytes of the last part.
    let last =
        Pointer { address: operands.parts.pointer.address + 2 * 40 * 64 * 4 - 16, ..operands.parts.pointer };
    assert!(overlap(setup.refused(|operands| operands.o.pointer = last), Operand::Parts));
    assert!(overlap(setup.refused(|operands| operands.lse = Some(operands.parts_lse)), Operand::PartsLse));
    let other: Arc<dyn Backend> = Arc::new(MockBackend::new(CPU));
    let error = setup.plan.bind(&other, &operands).unwrap_err();
    assert!(matches!(error, Error::PlanMismatch { what: "the target", .. }), "{error}");
    assert!(setup.plan.bind(&setup.backend, &operands).is_ok());
}

#[test]
fn what_the_kernel_does_not_take_is_refused_with_the_reason_and_the_cpu_takes_it() {
    let refused = |problem: &MergeProblem, words: &[&str]| {
        let error = MergePlan::new(&H200, problem).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
        }
        assert!(MergePlan::new(&CPU, problem).is_ok());
    };
    refused(
        &MergeProblem::contiguous(2, DType::F32, DType::F32, [1, 2, 3, 20]),
        &["o.shape[3]", "multiple of 8"],
    );
    let mut odd = problem();
    odd.part.layout.strides[1] += 4;
    odd.part_stride += 12;
    refused(&odd, &["part.strides", "part_stride", "16 bytes"]);
    // A dimension of one element is never stepped along.
    let mut single = MergeProblem::contiguous(1, DType::F32, DType::F32, [1, 1, 4, 8]);
    single.part.layout.strides = [3, 5, 8, 1];
    single.part_stride = 7;
    assert!(MergePlan::new(&H200, &single).is_ok());
}

#[test]
fn malformed_merges_are_refused_everywhere() {
    let refused = |change: fn(&mut MergeProblem), words: &[&str]| {
        let mut problem = problem();
        change(&mut problem);
        for target in [H200, CPU] {
            let error = MergePlan::new(&target, &problem).unwrap_err();
            assert!(matches!(error, Error::Argument { .. }), "{error}");
            for word in words {
                assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
            }
        }
    };
    refused(|problem| problem.part.dtype = DType::I32, &["part.dtype", "i32"]);
    refused(|problem| problem.o.layout.shape[1] = 6, &["o.shape", "[2, 5, 4, 64]"]);
    refused(|problem| problem.o.layout.strides[3] = 2, &["o.strides", "next to each other"]);
    refused(|problem| problem.o.layout.strides[1] = 0, &["o.strides", "address of its own"]);
    refused(|problem| problem.part_stride = usize::MAX, &["part_stride", "2^63"]);
    refused(|problem| problem.parts = usize::MAX, &["part.shape", "addressable"]);
}

#[test]
fn slices_of_other_lengths_are_refused() {
    let parts =
        |o: usize, lse: usize| HostParts::new([2, 1, 3, 2, 8], &vec![0.0f32; o], &vec![0.0; lse]).map(drop);
    assert!(parts(96, 12).is_ok());
    assert!(matches!(parts(95, 12), Err(Error::Length { argument: "o", given: 95, needed: 96, .. })));
    assert!(matches!(parts(96, 13), Err(Error::Length { argument: "lse", given: 13, needed: 12, .. })));
    let (o, lse) = ([0.0f32; 96], [0.0; 12]);
    let parts = HostParts::new([2, 1, 3, 2, 8], &o, &lse).unwrap();
    assert!(matches!(parts.with_sinks(&[0.0]), Err(Error::Length { argument: "sinks", needed: 2, .. })));
}

#[test]
fn a_plan_says_what_it_does() {
    let text = MergePlan::new(&H200, &problem()).unwrap().to_string();
    for word in ["merge 2 × f32 to bf16", "sinks", "fa3_merge_sm90", "grid 2×1×1"] {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
    let nothing = MergeProblem::contiguous(2, DType::F32, DType::F32, [0, 5, 4, 64]);
    assert_eq!(*MergePlan::new(&H200, &nothing).unwrap().execution(), MergeExecution::Nothing);
}

fn extent() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..9, 0usize..300, any::<usize>(), Just(usize::MAX), Just(1 << 31), Just(1 << 62)]
}

fn spec() -> impl Strategy<Value = TensorSpec> {
    let dtype = prop_oneof![Just(DType::F32), Just(DType::F16), Just(DType::Bf16), Just(DType::I32)];
    (dtype, [extent(), extent(), extent(), extent()], [extent(), extent(), extent(), extent()])
        .prop_map(|(dtype, shape, strides)| TensorSpec { dtype, layout: Layout { shape, strides } })
}

proptest! {
    /// Whatever the extents and the strides: an answer, and never a panic.
    #[test]
    fn no_merge_panics(
        (parts, part_stride) in (extent(), extent()),
        (part, mut o) in (spec(), spec()),
        (alike, contiguous, address) in (any::<bool>(), any::<bool>(), any::<u64>()),
    ) {
        if alike {
            o.layout.shape = part.layout.shape;
        }
        let mut problem = MergeProblem { parts, part, part_stride, o, lse: true, sinks: true };
        if contiguous {
            problem.part.layout = Layout::contiguous(part.layout.shape);
            problem.o.layout = Layout::contiguous(o.layout.shape);
        }
        for target in [H200, CPU] {
            let Ok(plan) = MergePlan::new(&target, &problem) else { continue };
            let backend: Arc<dyn Backend> = Arc::new(MockBackend::new(target));
            let pointer = |address: u64| Pointer { address, place: Place::Mock };
            let operands = MergeOperands {
                parts: Tensor { pointer: pointer(address), spec: problem.part },
                parts_lse: pointer(address / 2),
                o: Tensor { pointer: pointer(address / 3), spec: problem.o },
                lse: Some(pointer(address / 5)),
                sinks: Some(pointer(4)),
            };
            let _ = Arc::new(plan).bind(&backend, &operands);
        }
    }
}
