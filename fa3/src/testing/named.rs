//! The smallest inputs of errors that attention libraries are known to have had, and the accuracy
//! experiment of the FlashAttention-3 paper.

use super::{Arrangement, Case, Distribution, Lengths};
use crate::{DType, Options, Window};

fn case(name: &str, [batch, sq, sk, heads_q, heads_k, d]: [usize; 6]) -> Case {
    Case { name: name.to_owned(), batch, sq, sk, heads_q, heads_k, d, dv: d, seed: 77, ..Case::default() }
}

fn causal(name: &str, sizes: [usize; 6]) -> Case {
    Case { options: Options { causal: true, ..Options::default() }, ..case(name, sizes) }
}

fn packed(case: Case, cu_q: &[i32], cu_k: &[i32]) -> Case {
    Case { lengths: Lengths::Packed { cu_q: cu_q.to_vec(), cu_k: cu_k.to_vec() }, ..case }
}

fn used(case: Case, used: &[i32]) -> Case {
    Case { lengths: Lengths::UsedKeys(used.to_vec()), ..case }
}

fn arranged(arrangement: Arrangement, case: Case) -> Case {
    Case { arrangement, ..case }
}

fn scaled(scale: f32, case: Case) -> Case {
    Case { options: Options { scale: Some(scale), ..case.options }, ..case }
}

fn huge_negative(case: Case) -> Case {
    Case { distribution: Distribution::HugeNegative, ..case }
}

/// NaN in every second sequence.
fn nan_neighbours(case: Case) -> Case {
    Case { distribution: Distribution::NanNeighbours, ..case }
}

pub(super) fn named() -> Vec<Case> {
    let mut list = empty_sets();
    list.extend(lengths());
    list.extend(arrangements());
    list.extend(options());
    list.extend(long_causal());
    for d in [8, 16, 24, 32, 40, 96, 160, 256] {
        list.push(case(&format!("head_dim_{d}"), [1, 70, 90, 2, 1, d]));
    }
    list.push(Case { dv: 128, ..causal("head_dim_192_128", [1, 70, 90, 2, 1, 192]) });
    list
}

fn empty_sets() -> Vec<Case> {
    vec![
        case("one_query_no_key", [1, 1, 0, 2, 1, 64]),
        causal("causal_no_key", [2, 130, 0, 1, 1, 128]),
        case("no_key_d256", [1, 130, 0, 2, 1, 256]),
        case("no_batch", [0, 16, 16, 2, 2, 64]),
        case("no_query", [2, 0, 16, 2, 2, 64]),
        causal("causal_row_without_key", [1, 2, 1, 1, 1, 64]),
        causal("causal_tile_without_key", [1, 300, 20, 2, 1, 128]),
        Case { sinks: true, ..causal("sink_without_key", [1, 2, 1, 2, 1, 64]) },
        Case { sinks: true, ..case("sink_and_no_key", [1, 3, 0, 2, 1, 64]) },
        huge_negative(case("one_logit_below_minus_50000", [1, 1, 1, 1, 1, 64])),
        huge_negative(causal("all_logits_below_minus_50000", [1, 3, 130, 1, 1, 128])),
    ]
}

/// As many keys as it takes that d = 64 has three consumer warpgroups under a causal mask.
pub(super) fn long_causal() -> Vec<Case> {
    let long = causal("causal_4096_keys", [1, 70, 4096, 1, 1, 64]);
    let f16 = Case { name: "causal_4096_keys_f16".to_owned(), dtype: DType::F16, ..long.clone() };
    vec![long, f16]
}

fn lengths() -> Vec<Case> {
    let empty_sequences = [0, 0, 1208, 2048, 2048];
    vec![
        used(case("padding_is_nan", [2, 1, 3, 1, 1, 64]), &[1, 3]),
        used(causal("causal_padding_is_nan", [2, 5, 200, 2, 1, 128]), &[130, 0]),
        packed(causal("causal_varlen_0_2", [1, 2, 2, 1, 1, 64]), &[0, 2], &[0, 2]),
        packed(case("gqa_varlen_0_1_2", [1, 2, 2, 2, 1, 64]), &[0, 1, 2], &[0, 1, 2]),
        packed(
            causal("varlen_empty_queries", [1, 2048, 2048, 1, 1, 256]),
            &empty_sequences,
            &[0, 512, 1024, 1536, 2048],
        ),
        packed(causal("varlen_empty_keys", [1, 140, 130, 2, 2, 64]), &[0, 10, 140], &[0, 0, 130]),
        packed(case("varlen_neighbours", [1, 200, 200, 2, 1, 128]), &[0, 65, 130, 200], &[0, 1, 130, 200]),
        packed(case("no_sequence", [1, 0, 0, 2, 1, 64]), &[0], &[0]),
        nan_neighbours(packed(
            case("varlen_neighbours_are_nan", [1, 200, 200, 2, 1, 128]),
            &[0, 65, 130, 200],
            &[0, 1, 130, 200],
        )),
        nan_neighbours(packed(
            causal("gqa_varlen_neighbours_are_nan", [1, 24, 500, 8, 1, 64]),
            &[0, 1, 8, 13, 24],
            &[0, 100, 164, 299, 500],
        )),
        nan_neighbours(used(case("padded_neighbours_are_nan", [3, 40, 90, 2, 1, 256]), &[81, 90, 1])),
        used(case("batch_invariance_9", [2, 1, 19_802, 14, 2, 64]), &[19_802, 9]),
        used(case("batch_invariance_10", [2, 1, 19_802, 14, 2, 64]), &[19_802, 10]),
    ]
}

fn arrangements() -> Vec<Case> {
    use Arrangement::{Bhsd, ExpandBatch, ExpandHeads, OddRows, OddUnit, Sbhd};
    vec![
        arranged(OddUnit, case("size_one_odd_strides", [1, 1, 1, 1, 1, 64])),
        arranged(OddUnit, case("size_one_batch_and_head", [1, 140, 150, 1, 1, 128])),
        arranged(OddUnit, case("size_one_query_row", [2, 1, 150, 4, 2, 64])),
        arranged(Bhsd, causal("transposed", [2, 65, 70, 3, 3, 64])),
        arranged(Sbhd, causal("sequence_first", [3, 65, 70, 2, 1, 128])),
        arranged(ExpandBatch, case("one_kv_for_the_batch", [3, 65, 70, 2, 2, 64])),
        arranged(ExpandHeads, case("one_kv_for_the_heads", [2, 65, 70, 4, 4, 128])),
        arranged(OddRows, case("row_stride_65", [1, 70, 70, 1, 1, 64])),
    ]
}

fn options() -> Vec<Case> {
    let window = |name, left, right, sizes| Case {
        options: Options { window: Window { left, right }, ..Options::default() },
        ..case(name, sizes)
    };
    let softcap = Options { softcap: Some(15.0), causal: true, ..Options::default() };
    vec![
        window("window_1_0_of_3", Some(1), Some(0), [1, 3, 3, 1, 1, 64]),
        window("window_left_only", Some(100), None, [1, 300, 300, 2, 1, 64]),
        window("window_right_only", None, Some(100), [1, 300, 200, 2, 1, 128]),
        window("window_beyond_32_bits", Some(usize::MAX), Some(1 << 40), [1, 130, 200, 1, 1, 64]),
        window("window_beyond_all_keys", Some(1), Some(1), [1, 300, 40, 1, 1, 64]),
        Case { options: softcap, ..case("softcap", [1, 130, 260, 2, 1, 64]) },
        Case { alibi: true, ..causal("alibi", [1, 130, 260, 8, 2, 64]) },
        Case { alibi: true, ..case("alibi_both_sides", [1, 260, 130, 8, 2, 128]) },
        Case { sinks: true, ..causal("sinks", [2, 130, 260, 8, 2, 64]) },
        scaled(0.0, case("scale_zero", [1, 130, 260, 1, 1, 64])),
        scaled(-0.125, causal("scale_negative", [1, 130, 260, 1, 1, 64])),
    ]
}

pub(super) fn paper() -> Vec<Case> {
    let experiment = |d: usize| Case {
        dtype: DType::F16,
        distribution: Distribution::Outliers,
        ..case(&format!("paper_d{d}"), [1, 2048, 2048, 4, 4, d])
    };
    [64, 128, 256].map(experiment).into()
}
