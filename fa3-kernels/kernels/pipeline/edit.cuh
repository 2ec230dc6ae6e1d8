// Scores that are more than scaled products: a softcap, ALiBi ("Train Short, Test Long", Press et
// al.), a scale that is not positive. They become logits to base two before the mask and the
// softmax.
#pragma once
#include "softmax.cuh"
#include "tiles.cuh"

namespace fa3 {

constexpr float kLog2e = 1.44269504088896f;

// A sink times log₂e. One that is finite stays so.
__device__ __forceinline__ float sink_log2(float sink) {
    const float product = sink * kLog2e;
    return fabsf(sink) <= -kLowest ? fminf(fmaxf(product, kLowest), -kLowest) : product;
}

// The entry of an array over query heads that belongs to a row of a tile.
__device__ __forceinline__ float of_head(u64 array, const ForwardParams& p, const Tile& tile,
                                         i32 row) {
    return reinterpret_cast<const float*>(array)[head_of(p, tile, row)];
}

// Turns the products with the keys from `first_key` on into logits times log₂e. `row` is the first
// of this thread's two rows.
template <int N>
__device__ __forceinline__ void edit_scores(float (&scores)[N], const ForwardParams& p,
                                            const Tile& tile, i32 row, i32 first_key) {
#pragma unroll
    for (int i = 0; i < N; ++i) scores[i] *= p.score_scale;
    if (p.softcap_log2 > 0.f) {
        // cap·tanh(x) = cap − 2·cap / (e²ˣ + 1). The instruction tanh.approx is 2⁻¹¹ off, which a
        // cap of 50 turns into an error of 2 % in a probability; this is 2⁻²² off.
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const float reciprocal = reciprocal_approx(exp2_approx(scores[i]) + 1.f);
            scores[i] = fmaf(-2.f * p.softcap_log2, reciprocal, p.softcap_log2);
        }
    }
    if (p.slopes == 0) return;
    float slope[2], distance[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        slope[r] = of_head(p.slopes, p, tile, row + 8 * r) * kLog2e;
        const i32 at = position(tile, query_of(p, tile, row + 8 * r));
        distance[r] = static_cast<float>(at - (first_key + first_column()));
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const int r = i / 2 % 2;
        const float from_key = fabsf(distance[r] - static_cast<float>(column_step(i)));
        scores[i] = fmaf(-slope[r], from_key, scores[i]);
    }
}

}  // namespace fa3
