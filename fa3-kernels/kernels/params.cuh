// The parameter blocks of the kernels; `src/params.rs` is the source and says what each field
// means. `params_check.cuh`, written from it at build time, asserts that the two agree.
#pragma once
#include <fa3/tma/types.cuh>

namespace fa3 {

struct ForwardParams {
    tma::u64 lse;
    tma::u64 o;
    tma::u64 schedule;
    tma::u64 sinks;
    tma::u64 slopes;
    tma::i64 o_batch;
    tma::i64 o_row;
    tma::i64 o_head;
    float scale_log2;
    float score_scale;
    float softcap_log2;
    tma::i32 edit;
    tma::i32 sq;
    tma::i32 sk;
    tma::i32 dv;
    tma::i32 pack;
    tma::i32 pack_reciprocal;
    tma::i32 heads;
    tma::i32 group;
    tma::i32 window_left;
    tma::i32 window_right;
    tma::i32 batch_heads;
    tma::i32 m_tiles;
    tma::i32 tiles;
    tma::i32 section;
    tma::i32 paired;
};

struct ScheduleParams {
    tma::u64 list;
    tma::u64 cu_q;
    tma::u64 cu_k;
    tma::u64 used_k;
    tma::i32 sequences;
    tma::i32 sq;
    tma::i32 sk;
    tma::i32 max_q;
    tma::i32 tile_queries;
    tma::i32 heads;
    tma::i32 section_keys;
    tma::i32 capacity;
};

struct MergeParams {
    tma::u64 parts;
    tma::u64 parts_lse;
    tma::u64 o;
    tma::u64 lse;
    tma::u64 sinks;
    tma::i64 part_stride;
    tma::i64 part_batch;
    tma::i64 part_row;
    tma::i64 part_head;
    tma::i64 o_batch;
    tma::i64 o_row;
    tma::i64 o_head;
    tma::i32 count;
    tma::u32 rows;
    tma::u32 sq;
    tma::u32 heads;
    tma::i32 dv;
    tma::u32 lanes;
    tma::i32 part_type;
    tma::i32 o_type;
};

}  // namespace fa3

#ifdef FA3_PARAMS_CHECK
#include <fa3/params_check.cuh>
#endif
