// The online softmax of one warpgroup's 64 rows (Milakov and Gimelshein, "Online normalizer
// calculation for softmax"; base-two exponentials as in FlashAttention-2).
//
// Accumulator element 4j + 2r + c of a thread is row 16·warp + lane/4 + 8r, column
// 8j + 2·(lane%4) + c (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"): a thread
// holds parts of two rows, and four neighbouring lanes share them.
#pragma once
#include <fa3/tma/convert.cuh>

#include "../ptx/math.cuh"

namespace fa3 {

constexpr float kNegativeInfinity = -__builtin_huge_valf();
// What stands for the maximum of a row that has seen no key: its exponentials are 0, not NaN.
constexpr float kLowest = -0x1.fffffep127f;
constexpr float kLn2 = 0.693147180559945f;
// Exponentials are taken relative to the maximum of the tiles before, without a look at their own,
// unless the row would outgrow it by more than this many powers of two. P then stays below 2¹⁵,
// which both operand types hold with as many digits as 1; the final division takes the factor out
// again, exactly.
constexpr float kHeadroom = 15.f;
constexpr float kLargest = 0x1p15f;

// 2^x without the unit for special functions, which the exponentials of narrow heads keep busier
// than the products keep the tensor cores: 2^n by the exponent's bits, 2^f for |f| ≤ ½ by a
// polynomial, to 2.8e-6 (Cody and Waite, "Software Manual for the Elementary Functions"). Beyond
// the exponents of f32 it is zero or infinity.
__device__ __forceinline__ float exp2_polynomial(float x) {
    // A sum with it has round(x) + 127 in its lowest bits.
    constexpr float kShift = 0x1.8p23f + 127.f;
    const float within = min_nan(max_nan(x, -127.f), 128.f);
    const float shifted = within + kShift;
    const float f = within - (shifted - kShift);
    const float high = fmaf(fmaf(0.009582853f, f, 0.055906426f), f, 0.24024099f);
    const float mantissa = fmaf(fmaf(high, f, 0.69312418f), f, 1.f);
    return mantissa * __uint_as_float(__float_as_uint(shifted) << 23);
}

// Accumulator element `i` of a thread is in column first_column() + column_step(i).
__device__ __forceinline__ i32 first_column() { return 2 * static_cast<i32>(threadIdx.x % 4); }
__device__ __forceinline__ constexpr i32 column_step(int i) { return i / 4 * 8 + i % 2; }

struct OnlineSoftmax {
    float maximum[2];  // of the scores, scaled, at least kLowest; may lag by kHeadroom
    float sum[2];      // this thread's share of the denominator
    float factor[2];   // in the end, what O is multiplied by

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

    // The probabilities of the first tile, relative to its maximum.
    template <typename Operand, int Polynomials, int N>
    __device__ __forceinline__ void begin(u32 (&probabilities)[N / 2], const float (&scores)[N],
                                          float scale_log2) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            maximum[r] = fmaxf(kLowest, row_maximum(scores, r) * scale_log2);
        }
        exponentials<Operand, Polynomials>(probabilities, sum, scores, scale_log2);
    }

    // The probabilities of a later tile; `output` is O of the tiles before. `look` says that some
    // rows may have seen no key yet: the tile's maximum is then taken at once. It decides no bits.
    template <typename Operand, int Polynomials, int N, int M>
    __device__ __forceinline__ void add(u32 (&probabilities)[N / 2], const float (&scores)[N],
                                        float scale_log2, float (&output)[M], bool look) {
        float tile_sum[2];
        if (look) raise(scores, scale_log2, output);
        exponentials<Operand, Polynomials>(probabilities, tile_sum, scores, scale_log2);
        if (!look && !__all_sync(~0u, fits(tile_sum[0]) && fits(tile_sum[1]))) {
            raise(scores, scale_log2, output);
            exponentials<Operand, Polynomials>(probabilities, tile_sum, scores, scale_log2);
        }
        sum[0] += tile_sum[0];
        sum[1] += tile_sum[1];
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
    // Also rounded: the accumulator's layout, packed in pairs, is that of a wgmma A operand in
    // registers (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
    // Of eight pairs, as many as Polynomials leave the special functions alone.
    template <typename Operand, int Polynomials, int N>
    __device__ __forceinline__ void exponentials(u32 (&probabilities)[N / 2], float (&tile_sum)[2],
                                                 const float (&scores)[N], float scale_log2) const {
        tile_sum[0] = tile_sum[1] = 0.f;
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            const int r = i / 2 % 2;
            const bool polynomial = i / 2 * Polynomials % 8 < Polynomials;
            const auto exp2 = [&](float x) {
                return polynomial ? exp2_polynomial(x) : exp2_approx(x);
            };
            const float even = exp2(fmaf(scores[i], scale_log2, -maximum[r]));
            const float odd = exp2(fmaf(scores[i + 1], scale_log2, -maximum[r]));
            probabilities[i / 2] = pack<Operand>(even, odd);
            tile_sum[r] += even + odd;
        }
    }

    // Whether no probability can be beyond the headroom. NaN does not fit.
    static __device__ __forceinline__ bool fits(float tile_sum) { return tile_sum <= kLargest; }

    // Brings rows that outgrow the headroom, and only those, to their tile's maximum: what a row
    // becomes does not depend on the other rows of the warp.
    template <int N, int M>
    __device__ __forceinline__ void raise(const float (&scores)[N], float scale_log2,
                                          float (&output)[M]) {
        float correction[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            // Scaled before it is compared: the difference of two maxima has no rounding error that
            // grows with each tile, and where the maximum stays the correction is exactly one.
            const float tile_maximum = row_maximum(scores, r) * scale_log2;
            const float last = maximum[r];
            maximum[r] = tile_maximum - last <= kHeadroom ? last : fmaxf(last, tile_maximum);
            correction[r] = exp2_approx(last - maximum[r]);
            sum[r] *= correction[r];
        }
#pragma unroll
        for (int i = 0; i < M; ++i) output[i] *= correction[i / 2 % 2];
    }

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
