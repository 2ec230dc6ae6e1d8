// The two products of attention for one warpgroup's 64 rows: S = Q·Kᵀ and O += P·V.
//
// Tiles lie in shared memory as TMA's 128-byte swizzle writes them: panels of 64 columns, each row
// of a panel 128 bytes, one panel after the other.
#pragma once
#include "../ptx/math.cuh"

namespace fa3 {

constexpr i32 kPanelColumns = 64;
constexpr i32 kPanelRowBytes = 128;
// The contraction of one wgmma with 16-bit operands, and its bytes along a K-major row.
constexpr i32 kStep = 16;
constexpr i32 kStepBytes = 32;

// Issues S = Q·Kᵀ. `queries` is this warpgroup's first row in a tile of QueryRows rows.
template <typename Operand, i32 HeadDim, i32 QueryRows, i32 TileN>
__device__ __forceinline__ void issue_scores(float (&scores)[TileN / 2], u32 queries, u32 keys) {
    const u32 a = descriptor_low(queries, 0);
    const u32 b = descriptor_low(keys, 0);
    wgmma_fence();
#pragma unroll
    for (i32 k = 0; k < HeadDim / kStep; ++k) {
        const i32 panel = k * kStep / kPanelColumns;
        const i32 within = k * kStep % kPanelColumns / kStep * kStepBytes;
        Wgmma<Operand, TileN>::scores(
            scores, descriptor(a, panel * QueryRows * kPanelRowBytes + within),
            descriptor(b, panel * TileN * kPanelRowBytes + within), k != 0);
    }
    wgmma_commit();
}

// Issues O = P·V, added to O where `keep` is not zero. P is the A operand, from registers.
template <typename Operand, i32 HeadDim, i32 TileN>
__device__ __forceinline__ void issue_values(float (&output)[HeadDim / 2],
                                             const u32 (&probabilities)[TileN / 4], u32 values,
                                             i32 keep) {
    const u32 b = descriptor_low(values, TileN * kPanelRowBytes);
    wgmma_fence();
#pragma unroll
    for (i32 k = 0; k < TileN / kStep; ++k) {
        const u32* p = probabilities + 4 * k;
        Wgmma<Operand, HeadDim>::values(output, p[0], p[1], p[2], p[3],
                                        descriptor(b, k * kStep * kPanelRowBytes),
                                        k == 0 ? keep : 1);
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
