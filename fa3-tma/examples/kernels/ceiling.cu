// What the tensor cores give: loops of matrix products alone, on operands that never change.
//
// A pass of the loop is S = Q·Kᵀ, both from shared memory, then O += P·V, P from registers: the two
// products of attention on a tile, or one of them alone. What an attention kernel spends on loads,
// softmax, barriers and stores is missing, and no arrangement of these makes it faster than this.
// The warpgroups are independent: while one waits for its pass to end, the other's products go on.
#include <fa3/tma/tma.cuh>

#include "params.cuh"

namespace fa3::examples {

using namespace tma;

constexpr i32 kHeadDim = FA3_HEAD_DIM;
constexpr i32 kKeys = FA3_KEYS;
constexpr i32 kWarpgroups = FA3_WARPGROUPS;
constexpr bool kScores = FA3_SCORES;  // whether a pass has S = Q·Kᵀ
constexpr bool kValues = FA3_VALUES;  // whether it has O += P·V
constexpr i32 kThreads = 128 * kWarpgroups;
constexpr i32 kStep = 16;  // the contraction of one wgmma
constexpr i32 kRows = 64 * kWarpgroups;
using Columns = Panels<kHeadDim>;
using Matrix = Descriptor<Columns::row_bytes>;

// Shared memory, from a 1024-byte boundary on, and the source of which it is a copy: Q, K, V, and P
// as a warpgroup's registers, of which all warpgroups have the same.
constexpr u32 kKeysAt = kScores ? kRows * kHeadDim * 2 : 0;
constexpr u32 kValuesAt = kKeysAt + (kScores ? kKeys * kHeadDim * 2 : 0);
constexpr u32 kProbabilitiesAt = kValuesAt + (kValues ? kKeys * kHeadDim * 2 : 0);
constexpr u32 kBytes = kProbabilitiesAt + (kValues ? 64 * kKeys * 2 : 0);
static_assert(kBytes == FA3_SHARED_BYTES && kBytes % 16 == 0);

__device__ __forceinline__ void issue_scores(float (&scores)[kKeys / 2], u32 queries, u32 keys) {
    const u32 a = Matrix::low(queries, 0);
    const u32 b = Matrix::low(keys, 0);
#pragma unroll
    for (i32 k = 0; k < kHeadDim / kStep; ++k) {
        const i32 panel = k * kStep / Columns::columns;
        const i32 within = k * kStep % Columns::columns * 2;
        Wgmma<Bf16, kKeys>::from_shared(
            scores, Matrix::at(a, panel * kRows * Columns::row_bytes + within),
            Matrix::at(b, panel * kKeys * Columns::row_bytes + within), k != 0);
    }
}

__device__ __forceinline__ void issue_values(float (&output)[kHeadDim / 2],
                                             const u32 (&probabilities)[kKeys / 4], u32 values) {
    const u32 b = Matrix::low(values, kKeys * Columns::row_bytes);
#pragma unroll
    for (i32 k = 0; k < kKeys / kStep; ++k) {
        const u32* p = probabilities + 4 * k;
        Wgmma<Bf16, kHeadDim>::from_registers<Major::MN>(
            output, p[0], p[1], p[2], p[3], Matrix::at(b, k * kStep * Columns::row_bytes), 1);
    }
}

template <int N>
__device__ __forceinline__ float sum(const float (&registers)[N]) {
    float total = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) total += registers[i];
    return total;
}

}  // namespace fa3::examples

extern "C" __global__ void __launch_bounds__(128 * FA3_WARPGROUPS, 1)
    FA3_SYMBOL(const __grid_constant__ fa3::CeilingParams p) {
    using namespace fa3::examples;
    extern __shared__ __align__(1024) u8 shared_memory[];
    const u32 shared = shared_address(shared_memory);
    for (u32 at = threadIdx.x * 16; at < kBytes; at += kThreads * 16) {
        store_shared(shared + at, *reinterpret_cast<const uint4*>(p.source + at));
    }
    fence_async_shared();
    __syncthreads();

    // The same in all lanes, and the compiler is to know it.
    const u32 warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    u32 probabilities[kKeys / 4];
    if constexpr (kValues) {
        const u32* held = reinterpret_cast<const u32*>(p.source + kProbabilitiesAt);
#pragma unroll
        for (i32 i = 0; i < kKeys / 4; ++i) probabilities[i] = held[i * 128 + threadIdx.x % 128];
    }
    float scores[kKeys / 2] = {};
    float output[kHeadDim / 2] = {};
    for (u64 pass = 0; pass < p.passes; ++pass) {
        wgmma_fence();
        if constexpr (kScores) {
            issue_scores(scores, shared + warpgroup * 64 * Columns::row_bytes, shared + kKeysAt);
        }
        if constexpr (kValues) issue_values(output, probabilities, shared + kValuesAt);
        wgmma_commit();
        wgmma_wait<0>();
        if constexpr (kScores) settle(scores);
        if constexpr (kValues) settle(output);
    }
    float* sums = reinterpret_cast<float*>(p.sums);
    sums[blockIdx.x * kThreads + threadIdx.x] = sum(scores) + sum(output);
}
