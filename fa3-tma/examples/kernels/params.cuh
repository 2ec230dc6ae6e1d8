// The parameter blocks of the kernels; `src/params.rs` is the source and says what each field
// means. `params_check.cuh`, written from it at build time, asserts that the two agree.
#pragma once
#include <fa3/tma/types.cuh>

namespace fa3 {

struct GemmParams {
    tma::i32 k;
    tma::i32 tiles_m;
    tma::i32 tiles_n;
    tma::i32 band;
    tma::i32 has_bias;
};

struct TransposeParams {
    float scale;
    tma::i32 tiles_rows;
    tma::i32 tiles_columns;
};

struct CeilingParams {
    tma::u64 source;
    tma::u64 sums;
    tma::u64 passes;
};

}  // namespace fa3

#ifdef FA3_PARAMS_CHECK
#include <fa3/params_check.cuh>
#endif
