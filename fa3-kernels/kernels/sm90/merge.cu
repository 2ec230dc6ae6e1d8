// Attention over parts of the keys, merged by the parts' log-sum-exps:
//   LSE = log Σ exp LSE_i,   O = Σ exp(LSE_i − LSE)·O_i,
// where a sink, if the head has one, is one more term of the first sum.
//
// A row of O is the work of neighbouring threads, eight columns each. Every one of them reads all
// of the row's LSEs: the first brings them into L1.
#include <fa3/tma/convert.cuh>

#include "../params.cuh"
#include "../ptx/global.cuh"
#include "../ptx/math.cuh"

namespace fa3 {

using tma::i64;

constexpr u32 kThreads = FA3_THREADS;
constexpr i32 kColumns = 8;
// Parts whose loads are in flight together.
constexpr i32 kBatch = 4;
constexpr float kLog2e = 1.44269504088896f;
constexpr float kLn2 = 0.693147180559945f;
constexpr u32 kMinusInfinity = 0xFF800000;

// MergeParams::part_type and o_type.
constexpr i32 kF32 = 0;
constexpr i32 kF16 = 1;

// Eight elements: of 16 bits in `low`, of 32 in both.
struct Piece {
    uint4 low;
    uint4 high;
};

// Elements `at` to `at + 7` of a tensor, or nothing.
__device__ __forceinline__ Piece load_if(bool wanted, u64 tensor, i64 at, i32 type) {
    const bool wide = type == kF32;
    const u64 address = tensor + (wide ? 4 : 2) * at;
    return {load_global_if(wanted, address), load_global_if(wanted && wide, address + 16)};
}

__device__ __forceinline__ void to_f32(float (&values)[kColumns], const Piece& piece, i32 type) {
    const u32 low[4] = {piece.low.x, piece.low.y, piece.low.z, piece.low.w};
    const u32 high[4] = {piece.high.x, piece.high.y, piece.high.z, piece.high.w};
    if (type == kF32) {
#pragma unroll
        for (i32 i = 0; i < 4; ++i) {
            values[i] = __uint_as_float(low[i]);
            values[i + 4] = __uint_as_float(high[i]);
        }
    } else if (type == kF16) {
#pragma unroll
        for (i32 i = 0; i < 4; ++i) unpack<F16>(low[i], values[2 * i], values[2 * i + 1]);
    } else {
#pragma unroll
        for (i32 i = 0; i < 4; ++i) unpack<Bf16>(low[i], values[2 * i], values[2 * i + 1]);
    }
}

__device__ __forceinline__ void store(const float (&values)[kColumns], u64 tensor, i64 at,
                                      i32 type) {
    const u64 address = tensor + (type == kF32 ? 4 : 2) * at;
    u32 words[kColumns];
#pragma unroll
    for (i32 i = 0; i < kColumns; ++i) words[i] = __float_as_uint(values[i]);
    if (type == kF32) {
        store_global(address + 16, make_uint4(words[4], words[5], words[6], words[7]));
    } else {
#pragma unroll
        for (i32 i = 0; i < kColumns / 2; ++i) {
            const float low = values[2 * i], high = values[2 * i + 1];
            words[i] = type == kF16 ? pack<F16>(low, high) : pack<Bf16>(low, high);
        }
    }
    store_global(address, make_uint4(words[0], words[1], words[2], words[3]));
}

}  // namespace fa3

extern "C" __global__ void __launch_bounds__(fa3::kThreads)
    FA3_SYMBOL(const __grid_constant__ fa3::MergeParams p) {
    using namespace fa3;
    const u32 rows_a_cta = kThreads / p.lanes;
    const u32 within = threadIdx.x / p.lanes;
    const u32 row = blockIdx.x * rows_a_cta + within;
    if (within >= rows_a_cta || row >= p.rows) return;
    const u32 query = row % p.sq;
    const u32 head = row / p.sq % p.heads;
    const u32 batch = row / p.sq / p.heads;

    // Weights are relative to the largest, so that they neither overflow nor all vanish.
    const float none = __uint_as_float(kMinusInfinity);
    const auto lse_of = [&](i32 part) {
        const i64 at = static_cast<i64>(part) * p.rows + row;
        return load_global_if(part < p.count, p.parts_lse + 4 * at, none);
    };
    const float sink = load_global_if(p.sinks != 0, p.sinks + 4 * head, none);
    float largest = sink;
#pragma unroll 4
    for (i32 part = 0; part < p.count; ++part) largest = fmaxf(largest, lse_of(part));
    const auto weight_of = [&](float lse) {
        return lse == none ? 0.f : exp2_approx((lse - largest) * kLog2e);
    };

    const i64 from = batch * p.part_batch + query * p.part_row + head * p.part_head;
    const i64 to = batch * p.o_batch + query * p.o_row + head * p.o_head;
    for (i32 column = threadIdx.x % p.lanes * kColumns; column < p.dv;
         column += p.lanes * kColumns) {
        float output[kColumns] = {};
        float sum = weight_of(sink);
        for (i32 first = 0; first < p.count; first += kBatch) {
            float weights[kBatch];
            Piece pieces[kBatch];
#pragma unroll
            for (i32 i = 0; i < kBatch; ++i) {
                weights[i] = weight_of(lse_of(first + i));
            }
#pragma unroll
            for (i32 i = 0; i < kBatch; ++i) {
                // A part without keys may hold anything.
                const i64 at = (first + i) * p.part_stride + from + column;
                pieces[i] = load_if(weights[i] != 0.f, p.parts, at, p.part_type);
            }
#pragma unroll
            for (i32 i = 0; i < kBatch; ++i) {
                float values[kColumns];
                to_f32(values, pieces[i], p.part_type);
                sum += weights[i];
#pragma unroll
                for (i32 c = 0; c < kColumns; ++c) {
                    output[c] = fmaf(weights[i], values[c], output[c]);
                }
            }
        }
        // The largest weight is one, so that the sum vanishes only where there is none.
        const float factor = sum == 0.f ? 0.f : reciprocal_approx(sum);
#pragma unroll
        for (i32 c = 0; c < kColumns; ++c) output[c] *= factor;
        store(output, p.o, to + column, p.o_type);
        if (column == 0 && p.lse != 0) {
            const float lse = sum == 0.f ? largest : fmaf(log2_approx(sum), kLn2, largest);
            store_global(p.lse + 4 * static_cast<i64>(row), lse);
        }
    }
}
