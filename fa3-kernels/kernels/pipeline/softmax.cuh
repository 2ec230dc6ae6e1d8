// The online softmax of one warpgroup's 64 rows (Milakov and Gimelshein, "Online normalizer
// calculation for softmax"; base-two exponentials as in FlashAttention-2).
//
// Accumulator element 4j + 2r + c of a thread is row 16·warp + lane/4 + 8r, column
// 8j + 2·(lane%4) + c (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"): a thread
// holds parts of two rows, and four neighbouring lanes share them.
#pragma once
#include "../ptx/math.cuh"

namespace fa3 {

constexpr float kNegativeInfinity = -__builtin_huge_valf();
// What stands for the maximum of a row that has seen no key: its exponentials are 0, not NaN.
constexpr float kLowest = -0x1.fffffep127f;
constexpr float kLn2 = 0.693147180559945f;
// The maximum may lag behind by this many powers of two before O is rescaled: P then stays below
// 2⁸ and the final division takes the factor out again, exactly.
constexpr float kLazyPowers = 8.f;

// Accumulator element `i` of a thread is in column first_column() + column_step(i).
__device__ __forceinline__ i32 first_column() { return 2 * static_cast<i32>(threadIdx.x % 4); }
__device__ __forceinline__ constexpr i32 column_step(int i) { return i / 4 * 8 + i % 2; }

template <bool Lazy>
struct OnlineSoftmax {
    float maximum[2];     // of the scores, scaled, at least kLowest; may lag when Lazy
    float sum[2];         // this thread's share of the denominator
    float correction[2];  // what O and sum of earlier tiles are multiplied by
    float factor[2];      // in the end, what O is multiplied by

    // Masks the keys from `end[r]` on, counted from the tile's first.
    template <int N>
    static __device__ __forceinline__ void mask_from(float (&scores)[N], const i32 (&end)[2]) {
        const i32 column = first_column();
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (column + column_step(i) >= end[i / 2 % 2]) scores[i] = kNegativeInfinity;
        }
    }

    // Masks the keys before `begin[r]`.
    template <int N>
    static __device__ __forceinline__ void mask_before(float (&scores)[N], const i32 (&begin)[2]) {
        const i32 column = first_column();
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (column + column_step(i) < begin[i / 2 % 2]) scores[i] = kNegativeInfinity;
        }
    }

    // Turns scores into probabilities relative to the row's maximum so far.
    template <bool First, int N>
    __device__ __forceinline__ void step(float (&scores)[N], float scale_log2) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            // Scaled before it is compared: the difference of two maxima has no rounding error that
            // grows with each tile, and where the maximum stays the correction is exactly one.
            const float tile_maximum = row_maximum(scores, r) * scale_log2;
            const float last = First ? kLowest : maximum[r];
            maximum[r] = Lazy && !First && tile_maximum - last <= kLazyPowers
                             ? last
                             : fmaxf(last, tile_maximum);
            correction[r] = First ? 0.f : exp2_approx(last - maximum[r]);
            float tile_sum = 0.f;
#pragma unroll
            for (int i = 2 * r; i < N; i += 4) {
                scores[i] = exp2_approx(fmaf(scores[i], scale_log2, -maximum[r]));
                scores[i + 1] = exp2_approx(fmaf(scores[i + 1], scale_log2, -maximum[r]));
                tile_sum += scores[i] + scores[i + 1];
            }
            sum[r] = First ? tile_sum : fmaf(sum[r], correction[r], tile_sum);
        }
    }

    // Brings O of the earlier tiles to the new maximum.
    template <int N>
    __device__ __forceinline__ void rescale(float (&output)[N]) const {
        if (Lazy && !__any_sync(~0u, correction[0] != 1.f || correction[1] != 1.f)) return;
#pragma unroll
        for (int i = 0; i < N; ++i) output[i] *= correction[i / 2 % 2];
    }

    // Adds up the four lanes' shares: then the row's denominator is in `sum`, relative to the
    // maximum, and zero if the row saw no key, whose O becomes zero. A score that overflowed has
    // left nothing of the others: that row is not a number, lest it pass for one without keys.
    __device__ __forceinline__ void finish() {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
            sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
            sum[r] += maximum[r] - maximum[r];  // zero, or NaN of infinity
            factor[r] = sum[r] == 0.f ? 0.f : 1.f / sum[r];
        }
    }

    // After finish(): one more logit of row half `r`, in the denominator only, times log₂e.
    __device__ __forceinline__ void add_sink(int r, float sink_log2) {
        const float own = sum[r] == 0.f ? kNegativeInfinity : maximum[r];
        if (own == kNegativeInfinity && sink_log2 == kNegativeInfinity) return;
        maximum[r] = fmaxf(own, sink_log2);
        const float shrink = exp2_approx(own - maximum[r]);
        sum[r] = fmaf(sum[r], shrink, exp2_approx(sink_log2 - maximum[r]));
        factor[r] = shrink / sum[r];
    }

    // After finish(): the natural logarithm of the denominator, −∞ where the row saw no key.
    __device__ __forceinline__ float log_sum_exp(int r) const {
        return sum[r] == 0.f ? kNegativeInfinity : (maximum[r] + log2_approx(sum[r])) * kLn2;
    }

  private:
    template <int N>
    static __device__ __forceinline__ float row_maximum(const float (&scores)[N], int r) {
        // Four independent chains, for their latency.
        float chain[4] = {scores[2 * r], scores[2 * r + 1], scores[2 * r + 4], scores[2 * r + 5]};
#pragma unroll
        for (int i = 8; i < N; i += 4) {
            const int c = i / 4 % 2 * 2;
            chain[c] = fmaxf(chain[c], scores[i + 2 * r]);
            chain[c + 1] = fmaxf(chain[c + 1], scores[i + 2 * r + 1]);
        }
        float result = fmaxf(fmaxf(chain[0], chain[1]), fmaxf(chain[2], chain[3]));
        result = fmaxf(result, __shfl_xor_sync(~0u, result, 1));
        return fmaxf(result, __shfl_xor_sync(~0u, result, 2));
    }
};

}  // namespace fa3
