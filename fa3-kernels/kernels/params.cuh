// The parameter block of the forward kernels; `src/params.rs` is the source and says what each
// field means. `params_check.cuh`, written from it at build time, asserts that the two agree.
#pragma once
#include <fa3/tma/types.cuh>

namespace fa3 {

struct ForwardParams {
    tma::u64 lse;
    float scale_log2;
    tma::i32 sq;
    tma::i32 sk;
    tma::i32 heads_q;
    tma::i32 group;
    tma::i32 batch_heads;
    tma::i32 m_tiles;
    tma::i32 tiles;
    tma::i32 section;
    tma::i32 causal;
};

}  // namespace fa3

#ifdef FA3_PARAMS_CHECK
#include <fa3/params_check.cuh>
#endif
