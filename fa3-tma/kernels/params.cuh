// The parameter block of the kernels; `src/kernels/params.rs` is the source and says what each
// field means. `params_check.cuh`, written from it at build time, asserts that the two agree.
#pragma once
#include "fa3/tma/types.cuh"

namespace fa3 {

struct Tiling {
    tma::u32 tiles[5];
    tma::i32 extent[5];
    tma::i32 first[5];
    tma::u32 count;
    tma::u32 tile_bytes;
    tma::u32 stage_bytes;
};

}  // namespace fa3

#ifdef FA3_PARAMS_CHECK
#include <fa3/params_check.cuh>
#endif
