// The end of a tile: O normalised, rounded, written to shared memory in the swizzle that the
// tensor map of O expects, and from there to global memory: by TMA, which clips at the tensor's
// edge, or row by row where the sequence ends before the tensor or heads are packed.
#pragma once
#include <fa3/tma/fence.cuh>
#include <fa3/tma/named.cuh>
#include <fa3/tma/shared.cuh>
#include <fa3/tma/store.cuh>

#include "../mma/products.cuh"
#include "softmax.cuh"
#include "tiles.cuh"

namespace fa3 {

// Writes this warpgroup's 64×ValueDim rows at `shared`, in a tile of TileM rows.
template <typename Operand, i32 ValueDim, i32 TileM>
__device__ __forceinline__ void write_output(u32 shared, const float (&output)[ValueDim / 2],
                                             const float (&factor)[2]) {
    const float f0 = factor[0], f1 = factor[1];
    const u32 lane = threadIdx.x % 32;
    const u32 row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (i32 c = 0; c < ValueDim; c += 16) {
        // Four 8×8 matrices: rows 0–7 and 8–15 of columns c to c+7, then of columns c+8 to c+15.
        const float* o = output + c / 2;
        const u32 offset = Panels<ValueDim>::offset(row, c + lane / 16 * 8, TileM);
        store_matrices(shared + offset, pack<Operand>(o[0] * f0, o[1] * f0),
                       pack<Operand>(o[2] * f1, o[3] * f1), pack<Operand>(o[4] * f0, o[5] * f0),
                       pack<Operand>(o[6] * f1, o[7] * f1));
    }
}

// Stores this warpgroup's rows by TMA, from query `first_query` on. One thread calls it.
template <i32 ValueDim, i32 TileM>
__device__ __forceinline__ void store_output(const tma::TensorMap& map, u32 shared,
                                             const Tile& tile, i32 first_query) {
    using Columns = Panels<ValueDim>;
#pragma unroll
    for (i32 panel = 0; panel < Columns::count; ++panel) {
        tma::store_tile(&map, shared + panel * TileM * Columns::row_bytes, panel * Columns::columns,
                        tile.q_start + first_query, tile.head, tile.batch);
    }
    tma::store_commit();
}

// Stores those of this warpgroup's rows that are the sequence's, `first_row` being the first in
// the tile, 16 bytes a thread at a time. All of its threads call it.
template <i32 ValueDim, i32 TileM>
__device__ __forceinline__ void store_rows(const ForwardParams& p, u32 shared, const Tile& tile,
                                           i32 first_row) {
    constexpr i32 pieces = ValueDim / 8;
    for (i32 i = threadIdx.x % 128; i < 64 * pieces; i += 128) {
        const i32 within = i / pieces;
        const i32 row = first_row + within;
        const i32 column = i % pieces * 8;
        if (column >= p.dv || !is_row<TileM>(p, tile, row)) continue;
        const tma::i64 at = tile.batch * p.o_batch +
                            (tile.q_start + query_of(p, tile, row)) * p.o_row +
                            head_of(p, tile, row) * p.o_head + column;
        const uint4 piece = load_shared(shared + Panels<ValueDim>::offset(within, column, TileM));
        *reinterpret_cast<uint4*>(p.o + 2 * at) = piece;
    }
}

// Writes the log-sum-exp of this thread's two rows, `row` and `row + 8` of the tile.
template <i32 TileM>
__device__ __forceinline__ void write_lse(const ForwardParams& p, const Tile& tile, i32 row,
                                          const OnlineSoftmax& softmax) {
    if (p.lse == 0 || threadIdx.x % 4 != 0) return;
    float* lse = reinterpret_cast<float*>(p.lse);
    const tma::i64 first_head = static_cast<tma::i64>(tile.batch) * (p.heads * p.pack);
#pragma unroll
    for (i32 r = 0; r < 2; ++r, row += 8) {
        if (!is_row<TileM>(p, tile, row)) continue;
        const tma::i64 head = first_head + head_of(p, tile, row);
        lse[head * p.sq + tile.q_start + query_of(p, tile, row)] = softmax.log_sum_exp(r);
    }
}

}  // namespace fa3
