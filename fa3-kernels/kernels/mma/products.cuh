// The two products of attention for one warpgroup's 64 rows: S = Q·Kᵀ and O += P·V.
//
// Tiles lie in shared memory as TMA's swizzle writes them: panels of 64 columns in the 128-byte
// swizzle, or of 32 in the 64-byte one where 64 does not divide the width, one panel after the
// other.
#pragma once
#include "../ptx/math.cuh"

namespace fa3 {

// The panels of a tile of this width.
template <i32 Width>
struct Panels {
    static constexpr i32 columns = Width % 64 == 0 ? 64 : 32;
    static constexpr i32 row_bytes = 2 * columns;
    static constexpr i32 count = Width / columns;
    static_assert(Width % columns == 0);

    // Where column `column` of row `row` of a tile of `rows` rows lies: the swizzle exchanges the
    // 16-byte pieces of a row by the row's number in each 1024 bytes (PTX ISA, "Swizzling Modes").
    static __device__ __forceinline__ u32 offset(u32 row, u32 column, u32 rows) {
        const u32 panel = column / columns * (rows * row_bytes);
        const u32 turned = columns == 64 ? row % 8 : row / 2 % 4;
        return panel + row * row_bytes + (column % columns * 2 ^ turned * 16);
    }
};

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
        Wgmma<Operand, TileN>::scores(
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
        Wgmma<Operand, ValueDim>::values(output, p[0], p[1], p[2], p[3],
                                         Matrix::at(b, k * kStep * row_bytes), k == 0 ? keep : 1);
    }
    wgmma_commit();
}

// Rounds probabilities to the operand type. The accumulator's layout, packed in pairs, is that of
// a wgmma A operand in registers (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
template <typename Operand, i32 N>
__device__ __forceinline__ void round_to_operand(u32 (&packed)[N / 2], const float (&values)[N]) {
#pragma unroll
    for (i32 i = 0; i < N / 2; ++i) packed[i] = pack<Operand>(values[2 * i], values[2 * i + 1]);
}

}  // namespace fa3
