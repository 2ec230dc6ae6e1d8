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

// Issues S = Q·Kᵀ. `queries` is this warpgroup's first row in a tile of QueryRows rows.
template <typename Operand, i32 HeadDim, i32 QueryRows, i32 TileN>
__device__ __forceinline__ void issue_scores(float (&scores)[TileN / 2], u32 queries, u32 keys) {
    using Columns = Panels<HeadDim>;
    using Matrix = Descriptor<Columns::row_bytes>;
    const u32 a = Matrix::low(queries, 0);
    const u32 b = Matrix::low(keys, 0);
    wgmma_fence();
#pragma unroll
    for (i32 k = 0; k < HeadDim / kStep; ++k) {
        const i32 panel = k * kStep / Columns::columns;
        const i32 within = k * kStep % Columns::columns / kStep * kStepBytes;
        Wgmma<Operand, TileN>::from_shared(
            scores, Matrix::at(a, panel * QueryRows * Columns::row_bytes + within),
            Matrix::at(b, panel * TileN * Columns::row_bytes + within), k != 0);
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
        Wgmma<Operand, ValueDim>::from_registers(output, p[0], p[1], p[2], p[3],
                                                 Matrix::at(b, k * kStep * row_bytes),
                                                 k == 0 ? keep : 1);
    }
    wgmma_commit();
}

}  // namespace fa3
