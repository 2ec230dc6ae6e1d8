// The end of a tile: O normalised, rounded, written to shared memory in the 128-byte swizzle that
// the tensor map of O expects, and stored by TMA, which clips at the tensor's edge.
#pragma once
#include <fa3/tma/fence.cuh>
#include <fa3/tma/named.cuh>
#include <fa3/tma/store.cuh>

#include "../mma/products.cuh"
#include "softmax.cuh"
#include "tiles.cuh"

namespace fa3 {

// Writes this warpgroup's 64×HeadDim rows at `shared`, whose panels are `PanelBytes` apart.
template <typename Operand, i32 HeadDim, i32 PanelBytes, bool Lazy>
__device__ __forceinline__ void write_output(u32 shared, const float (&output)[HeadDim / 2],
                                             const OnlineSoftmax<Lazy>& softmax) {
    const float inverse[2] = {softmax.inverse(0), softmax.inverse(1)};
    const u32 lane = threadIdx.x % 32;
    const u32 row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (i32 c = 0; c < HeadDim; c += 16) {
        // Four 8×8 matrices: rows 0–7 and 8–15 of columns c to c+7, then of columns c+8 to c+15.
        const float* o = output + c / 2;
        const u32 column_bytes = c % kPanelColumns * 2 + lane / 16 * 16;
        const u32 swizzled = column_bytes ^ row % 8 * 16;
        store_matrices(shared + c / kPanelColumns * PanelBytes + row * kPanelRowBytes + swizzled,
                       pack<Operand>(o[0] * inverse[0], o[1] * inverse[0]),
                       pack<Operand>(o[2] * inverse[1], o[3] * inverse[1]),
                       pack<Operand>(o[4] * inverse[0], o[5] * inverse[0]),
                       pack<Operand>(o[6] * inverse[1], o[7] * inverse[1]));
    }
}

// Stores this warpgroup's rows, from `first_row` on. One thread calls it.
template <i32 HeadDim, i32 PanelBytes>
__device__ __forceinline__ void store_output(const tma::TensorMap& map, u32 shared,
                                             const Tile& tile, i32 first_row) {
#pragma unroll
    for (i32 panel = 0; panel < HeadDim / kPanelColumns; ++panel) {
        tma::store_tile(&map, shared + panel * PanelBytes, panel * kPanelColumns, first_row,
                        tile.head_q, tile.batch);
    }
    tma::store_commit();
}

// Writes the log-sum-exp of this thread's two rows, `row` and `row + 8`.
template <bool Lazy>
__device__ __forceinline__ void write_lse(const ForwardParams& p, const Tile& tile, i32 row,
                                          const OnlineSoftmax<Lazy>& softmax) {
    if (p.lse == 0 || threadIdx.x % 4 != 0) return;
    float* lse = reinterpret_cast<float*>(p.lse) + static_cast<tma::i64>(tile.batch_head) * p.sq;
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
        if (row + 8 * r < p.sq) lse[row + 8 * r] = softmax.log_sum_exp(r, p.scale_log2);
    }
}

}  // namespace fa3
