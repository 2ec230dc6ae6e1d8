//! The errors that public attention libraries are known to have had, each with its smallest input: which
//! case or test of this crate has it. A named case runs on the CPU, on the emulator under all checks and
//! on the card, where it must be right, or be refused by type.
//!
//! | Input | Case or test |
//! |---|---|
//! | one query, no key | `one_query_no_key`, `no_key_d256`, `causal_no_key`, `sink_and_no_key` |
//! | no batch entry, no query, no sequence | `no_batch`, `no_query`, `no_sequence` |
//! | cu = 0, 0, 1208, 2048, 2048 at d = 256 | `varlen_empty_queries`; `varlen_empty_keys` |
//! | causal, 2 queries, 1 key: row 0 sees none | `causal_row_without_key`, `causal_tile_without_key`, `sink_without_key` |
//! | one key whose logit is below −5·10⁴ | `one_logit_below_minus_50000`, `all_logits_below_minus_50000` |
//! | lengths 1 and 3 of 3 keys, NaN beyond | `padding_is_nan`, `causal_padding_is_nan` |
//! | NaN in Q, K and V of the neighbours in a batch | `varlen_neighbours_are_nan`, `gqa_varlen_neighbours_are_nan`, `padded_neighbours_are_nan` |
//! | rows of a neighbour must not be written | the same, and `rows_of_no_sequence_stay_as_they_were` of `emu_ragged` and `gpu_ragged` |
//! | NaN around all tensors, and unwritten outputs | every case: `src/testing/buffer.rs`, `src/testing/check.rs` |
//! | a dimension of one element with any stride | `size_one_odd_strides`, `size_one_batch_and_head`, `size_one_query_row` |
//! | transposed views | `transposed`, `sequence_first` |
//! | K and V of stride 0 | `one_kv_for_the_batch`, `one_kv_for_the_heads` |
//! | rows 65 elements apart at d = 64 | `row_stride_65`: refused by the kernels, right on the CPU |
//! | head dimensions of 8 to 256, 192/128 | `head_dim_8` … `head_dim_256`, `head_dim_192_128` |
//! | causal varlen with cu = 0, 2 | `causal_varlen_0_2` |
//! | 3 keys, a window of 1 on the left, 0 on the right | `window_1_0_of_3` |
//! | varlen with cu = 0, 1, 2, packed heads: 2 of Q, 1 of K and V | `gqa_varlen_0_1_2` |
//! | a plan made for another window, layout or target | `a_plan_is_bound_to_what_it_was_made_for`; `what_runs_is_what_was_planned_for_its_window_and_no_other` of `tests/binding.rs` |
//! | a long row beside a neighbour of 9 and of 10 tokens | `batch_invariance_9`, `batch_invariance_10`; `neighbours_do_not_change_a_row` of `emu_ragged` and `gpu_ragged` |
//! | a device that there are no kernels for | `fa3-sys/src/arch.rs`, `fa3-sys/src/driver/device.rs`; `tests/plan.rs` |
//! | the LSE takes 4 bytes a row and no more | `the_lse_takes_four_bytes_a_row` |
//! | lengths on the device that break their rules | `any_lengths_stay_within_the_tensors` of `emu_ragged` and `gpu_ragged` |
//!
//! Page tables, fp8 and gradients have no place in the API yet: there is no way to ask for them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "clippy sees no test in a test's helpers")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use fa3::testing::{Set, cases};
use fa3::{
    Backend, Buffer, Call, CudaTarget, DType, Device, Error, HostInputs, HostTensor, MockBackend, Operand,
    Operands, Options, Problem, Sequences, Sizes, StreamHandle, Target, Tensor, Window, Workspace,
    attention_with,
};
use half::bf16;

const H200: Target = Target::Cuda(CudaTarget::H200);

/// Everything between backticks in the table's second column is there: a case, a test or a file.
#[test]
fn what_the_table_names_exists() {
    const HERE: &str = include_str!("known_errors.rs");
    let rows = HERE.lines().filter(|line| line.starts_with("//! |"));
    let cells: String = rows.filter_map(|line| line.split('|').nth(2)).collect();
    let words: BTreeSet<&str> = cells.split('`').skip(1).step_by(2).collect();
    assert!(words.len() > 40, "{words:?}");
    let list = cases(Set::Named);
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for word in words {
        let case = list.iter().any(|case| case.name == word);
        let test = [HERE, include_str!("common/ragged.rs"), include_str!("binding.rs")]
            .iter()
            .any(|source| source.contains(&format!("fn {word}(")));
        let files = [
            crate_folder.join(word),
            crate_folder.join("..").join(word),
            crate_folder.join(format!("tests/{word}.rs")),
        ];
        let known = case || test || files.iter().any(|file| file.exists());
        assert!(known, "{word}");
    }
}

fn mock() -> (Arc<MockBackend>, Device) {
    let mock = Arc::new(MockBackend::new(H200));
    let device = Device::new(Arc::clone(&mock) as Arc<dyn Backend>, "a recorded H200");
    (mock, device)
}

#[test]
fn the_lse_takes_four_bytes_a_row() {
    let (batch, sq, sk, heads, heads_k, d) = (2, 100, 130, 6, 2, 64);
    let (q, kv) = (vec![bf16::ONE; batch * sq * heads * d], vec![bf16::ONE; batch * sk * heads_k * d]);
    let q = HostTensor::new([batch, sq, heads, d], &q).unwrap();
    let kv = HostTensor::new([batch, sk, heads_k, d], &kv).unwrap();
    let (mock, device) = mock();
    attention_with(&device, &HostInputs::new(q, kv, kv), &Options::default()).unwrap();
    let calls = mock.calls();
    let sizes: Vec<usize> = calls
        .iter()
        .filter_map(|call| match call {
            Call::Allocate { bytes, .. } => Some(*bytes),
            _ => None,
        })
        .collect();
    let tensor = |s: usize, h: usize| 2 * batch * s * h * d;
    let (q, kv, lse) = (tensor(sq, heads), tensor(sk, heads_k), 4 * batch * heads * sq);
    assert_eq!(sizes, [q, kv, kv, q, lse]);
}

/// Options are the plan's own: a launch cannot be given others, and what it is given is checked.
#[test]
fn a_plan_is_bound_to_what_it_was_made_for() {
    let problem = |left| {
        let options = Options { window: Window { left: Some(left), right: None }, ..Options::default() };
        Problem { lse: false, ..Problem::dense(DType::F32, Sizes::new(1, 8, 1, 1), options) }
    };
    let device = Device::cpu();
    let backend = device.backend();
    let buffer = |values: &[f32]| Buffer::from_bytes(backend, bytemuck::cast_slice(values)).unwrap();
    let (zeros, steps, o) =
        (buffer(&[0.0; 8]), buffer(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), buffer(&[0.0; 8]));
    let tensor = |buffer: &Buffer| Tensor { pointer: buffer.pointer(), spec: problem(1).q };
    let operands = Operands::new(tensor(&zeros), tensor(&zeros), tensor(&steps), tensor(&o));
    let plans = [1, 2].map(|left| device.plan(&problem(left)).unwrap());
    assert_ne!(plans[0], plans[1]);
    let bindings = plans.map(|plan| plan.bind(backend, &operands, Workspace::Own).unwrap());
    // The mean of the keys from the first query's window on, and of all.
    for (binding, means) in bindings.iter().zip([[3.5, 6.5], [3.5, 6.0]]) {
        let mut means_found = [0f32; 8];
        let bytes = bytemuck::cast_slice_mut(&mut means_found);
        // SAFETY: the buffers are as large as the layouts and live on.
        unsafe {
            binding.run(StreamHandle::DEFAULT).unwrap();
            backend.download(bytes, o.pointer(), StreamHandle::DEFAULT).unwrap();
        }
        assert_eq!([means_found[0], means_found[7]], means);
    }
    let used = Problem { sequences: Sequences::UsedKeys, ..problem(1) };
    let error = device.plan(&used).unwrap().bind(backend, &operands, Workspace::Own).unwrap_err();
    assert!(matches!(error, Error::OperandMissing { operand: Operand::UsedKeys, .. }), "{error}");
    let (_, other) = mock();
    let error = bindings[0].plan().bind(other.backend(), &operands, Workspace::Own).unwrap_err();
    assert!(matches!(error, Error::PlanMismatch { what: "the target", .. }), "{error}");
}
