// The two products of attention for one warpgroup's 64 rows: S = Q·Kᵀ and O += P·V.
//
// Tiles lie in the panels of `fa3/tma/matrix.cuh`.
#pragma once
#include <fa3/tma/matrix.cuh>
#include <fa3/tma/wgmma.cuh>

#include "../ptx/math.cuh"

namespace fa3 {

// The contraction of one wgmma with 16-bit operands, and its bytes along a K-major row.
constexpr i32 kStep = 16;
constexpr i32 kStepBytes = 32;

// Bytes from the start of a tile of Rows rows to the columns of step k.
template <i32 Width, i32 Rows>
__device__ __forceinline__ constexpr i32 step_offset(i32 k) {
    using Columns = Panels<Width>;
    const i32 panel = k * kStep / Columns::columns;
    const i32 within = k * kStep % Columns::columns / kStep * kStepBytes;
    return panel * Rows * Columns::row_bytes + within;
}

// Issues S = Q·Kᵀ. `queries` is this warpgroup's first row in a tile of QueryRows rows.
template <typename Operand, i32 HeadDim, i32 QueryRows, i32 TileN>
__device__ __forceinline__ void issue_scores(float (&scores)[TileN / 2], u32 queries, u32 keys) {
    using Matrix = Descriptor<Panels<HeadDim>::row_bytes>;
    const u32 a = Matrix::low(queries, 0);
    const u32 b = Matrix::low(keys, 0);
    wgmma_fence();
#pragma unroll
    for (i32 k = 0; k < HeadDim / kStep; ++k) {
        Wgmma<Operand, TileN>::from_shared(scores,
                                           Matrix::at(a, step_offset<HeadDim, QueryRows>(k)),
                                           Matrix::at(b, step_offset<HeadDim, TileN>(k)), k != 0);
    }
    wgmma_commit();
}

// This warpgroup's 64 rows of Q as A operands in registers (PTX ISA, "Register Fragments for
// wgmma.mma_async.m64nNk16"): four 8×8 matrices a step.
template <i32 HeadDim, i32 QueryRows>
__device__ __forceinline__ void load_queries(u32 (&fragments)[HeadDim / 4], u32 queries) {
    const u32 lane = threadIdx.x % 32;
    const u32 row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (i32 k = 0; k < HeadDim / kStep; ++k) {
        const u32 column = k * kStep + lane / 16 * 8;
        const uint4 f = load_matrices(queries + Panels<HeadDim>::offset(row, column, QueryRows));
        fragments[4 * k] = f.x;
        fragments[4 * k + 1] = f.y;
        fragments[4 * k + 2] = f.z;
        fragments[4 * k + 3] = f.w;
    }
}

// Issues S = Q·Kᵀ with Q from registers.
template <typename Operand, i32 HeadDim, i32 TileN>
__device__ __forceinline__ void issue_scores(float (&scores)[TileN / 2],
                                             const u32 (&queries)[HeadDim / 4], u32 keys) {
    using Matrix = Descriptor<Panels<HeadDim>::row_bytes>;
    const u32 b = Matrix::low(keys, 0);
    wgmma_fence();
#pragma unroll
    for (i32 k = 0; k < HeadDim / kStep; ++k) {
        const u32* q = queries + 4 * k;
        Wgmma<Operand, TileN>::template from_registers<Major::K>(
            scores, q[0], q[1], q[2], q[3], Matrix::at(b, step_offset<HeadDim, TileN>(k)), k != 0);
    }
    wgmma_commit();
}

// Issues O = P·V, added to O where `keep` is not zero. P is the A operand, from registers.
template <typename Operand, i32 ValueDim, i32 TileN>
__device__ __forceinline__ void issue_values(float (&output)[ValueDim / 2],
                                             const u32 (&probabilities)[TileN / 4], u32 values,
                                             i32 keep) {
    constexpr i32 row_bytes = Panels<ValueDim>::row_bytes;
    using Matrix = Descriptor<row_bytes>;
    const u32 b = Matrix::low(values, TileN * row_bytes);
    wgmma_fence();
#pragma unroll
    for (i32 k = 0; k < TileN / kStep; ++k) {
        const u32* p = probabilities + 4 * k;
        Wgmma<Operand, ValueDim>::template from_registers<Major::MN>(
            output, p[0], p[1], p[2], p[3], Matrix::at(b, k * kStep * row_bytes),
            k == 0 ? keep : 1);
    }
    wgmma_commit();
}

}  // namespace fa3
