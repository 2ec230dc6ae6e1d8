// O = softmax(scale·Q·Kᵀ, masked)·V and its log-sum-exp, on Hopper.
//
// One producer warpgroup feeds K and V through two rings of shared-memory stages by TMA; each
// consumer warpgroup owns 64 rows of Q and walks over the key tiles from the last it sees down to
// the first, the next tile's scores in flight while it takes this tile's exponentials
// (FlashAttention-3, sections 3.1 and 3.2). One kernel a row of `table.rs`; the row's fields are
// the macros below.
#include <fa3/tma/elect.cuh>
#include <fa3/tma/load.cuh>
#include <fa3/tma/registers.cuh>
#include <fa3/tma/ring.cuh>

#include "../mma/products.cuh"
#include "../pipeline/epilogue.cuh"
#include "../pipeline/softmax.cuh"
#include "../pipeline/tiles.cuh"
#include "../pipeline/turns.cuh"

namespace fa3 {

#if FA3_OPERAND_BF16
using Operand = Bf16;
#else
using Operand = F16;
#endif
constexpr i32 kHeadDim = FA3_HEAD_DIM;
constexpr i32 kConsumers = FA3_CONSUMERS;
constexpr i32 kTileM = 64 * kConsumers;
constexpr i32 kTileN = FA3_TILE_N;
constexpr i32 kStages = FA3_STAGES;
constexpr bool kLazyRescale = FA3_LAZY_RESCALE;
constexpr bool kOutputOverQuery = FA3_OUTPUT_OVER_QUERY;
constexpr i32 kThreads = 128 * (kConsumers + 1);
// What 64 Ki registers allow: the producer gives up what the consumers take.
constexpr i32 kProducerRegisters = kConsumers == 2 ? 24 : 32;
constexpr i32 kConsumerRegisters = kConsumers == 2 ? 240 : 160;

static_assert(kHeadDim % kPanelColumns == 0 && kTileN % kStep == 0 &&
              (kConsumers == 2 || kConsumers == 3));
static_assert((kConsumerRegisters * kConsumers + kProducerRegisters) * 128 <= 64 * 1024);

// Shared memory, from a 1024-byte boundary on: Q, the stages of K, the stages of V, O, barriers.
constexpr u32 kQueryBytes = kTileM * kHeadDim * 2;
constexpr u32 kStageBytes = kTileN * kHeadDim * 2;
constexpr u32 kKeys = kQueryBytes;
constexpr u32 kValues = kKeys + kStages * kStageBytes;
constexpr u32 kOutput = kOutputOverQuery ? 0 : kValues + kStages * kStageBytes;
constexpr u32 kBarriers = kValues + kStages * kStageBytes + (kOutputOverQuery ? 0 : kQueryBytes);
constexpr u32 kOutputPanelBytes = kTileM * kPanelRowBytes;

using QueryRing = tma::Ring<1>;
using KeyRing = tma::Ring<kStages>;
static_assert(kBarriers + QueryRing::bytes + 2 * KeyRing::bytes <= FA3_SHARED_BYTES);

constexpr i32 kTurnBarrier = 1;
constexpr i32 kWarpgroupBarrier = kTurnBarrier + kConsumers;

struct Rings {
    QueryRing queries;
    KeyRing keys;
    KeyRing values;

    __device__ __forceinline__ explicit Rings(u32 barriers)
        : queries(barriers),
          keys(barriers + QueryRing::bytes),
          values(barriers + QueryRing::bytes + KeyRing::bytes) {}
};

struct Maps {
    const tma::TensorMap& q;
    const tma::TensorMap& k;
    const tma::TensorMap& v;
    const tma::TensorMap& o;
};

// The producer: one thread keeps the rings full, in the order in which the consumers drain them.
__device__ __forceinline__ void produce(const Maps& maps, const ForwardParams& p, u32 shared,
                                        const Rings& rings) {
    QueryRing::Cursor query_at;
    KeyRing::Cursor key_at, value_at;
    for (u32 index = blockIdx.x; index < tile_count(p); index += gridDim.x) {
        const Tile tile = tile_at<kTileM>(p, index);
        const auto load = [&](const tma::TensorMap& map, u32 stage, i32 rows, u32 full, i32 head,
                              i32 row) {
#pragma unroll
            for (i32 panel = 0; panel < kHeadDim / kPanelColumns; ++panel) {
                tma::load_tile(stage + panel * rows * kPanelRowBytes, &map, full,
                               panel * kPanelColumns, row, head, tile.batch);
            }
        };
        const auto load_queries = [&] {
            rings.queries.acquire(query_at);
            rings.queries.expect(query_at, kQueryBytes);
            load(maps.q, shared, kTileM, rings.queries.full_barrier(query_at), tile.head_q,
                 tile.first_row);
            query_at.advance();
        };
        const auto load_stage = [&](const KeyRing& ring, KeyRing::Cursor& at,
                                    const tma::TensorMap& map, u32 base, i32 j) {
            ring.acquire(at);
            ring.expect(at, kStageBytes);
            load(map, base + at.stage * kStageBytes, kTileN, ring.full_barrier(at), tile.head_k,
                 j * kTileN);
            at.advance();
        };

        i32 j = key_tiles<kTileM, kTileN>(p, tile) - 1;
        load_stage(rings.keys, key_at, maps.k, shared + kKeys, j);
        load_queries();
        for (; j > 0; --j) {
            load_stage(rings.keys, key_at, maps.k, shared + kKeys, j - 1);
            load_stage(rings.values, value_at, maps.v, shared + kValues, j);
        }
        load_stage(rings.values, value_at, maps.v, shared + kValues, 0);
    }
}

// A consumer warpgroup: 64 rows of each tile.
struct Consumer {
    const Maps& maps;
    const ForwardParams& p;
    const u32 shared;
    const Rings& rings;
    const i32 warpgroup;
    const bool elected;  // one thread of the warpgroup speaks for it
    const Turns<FA3_TURNS, kConsumers, kTurnBarrier> turns;

    QueryRing::Cursor query_at;
    KeyRing::Cursor key_at, value_at;
    OnlineSoftmax<kLazyRescale> softmax;
    float scores[kTileN / 2];
    u32 probabilities[kTileN / 4];
    float output[kHeadDim / 2];

    __device__ __forceinline__ void scores_of_next_stage() {
        issue_scores<Operand, kHeadDim, kTileM, kTileN>(
            scores, shared + warpgroup * 64 * kPanelRowBytes,
            shared + kKeys + key_at.stage * kStageBytes);
    }

    __device__ __forceinline__ void values_of_next_stage(i32 keep) {
        issue_values<Operand, kHeadDim, kTileN>(
            output, probabilities, shared + kValues + value_at.stage * kStageBytes, keep);
    }

    __device__ __forceinline__ void release(const KeyRing& ring, KeyRing::Cursor& at) const {
        if (elected) ring.release(at);
        at.advance();
    }

    __device__ __forceinline__ void mask(i32 j, i32 row) {
        const i32 limit[2] = {key_limit(p, row) - j * kTileN, key_limit(p, row + 8) - j * kTileN};
        softmax.mask(scores, limit);
    }

    // The last key tile, alone: there are no probabilities yet to multiply under its softmax.
    __device__ __forceinline__ void first_scores(i32 j, i32 open, i32 row) {
        rings.keys.wait_full(key_at);
        turns.take();
        scores_of_next_stage();
        wgmma_wait<0>();
        settle(scores);
        turns.pass();
        release(rings.keys, key_at);
        if (j >= open) mask(j, row);
        softmax.step<true>(scores, p.scale_log2);
        round_to_operand<Operand>(probabilities, scores);
    }

    // Tile j's scores, with tile j+1's P·V behind them in the tensor cores.
    template <bool Masked>
    __device__ __forceinline__ void overlapped_step(i32 j, i32 row, i32& keep) {
        rings.keys.wait_full(key_at);
        turns.take();
        scores_of_next_stage();
        rings.values.wait_full(value_at);
        values_of_next_stage(keep);
        keep = 1;
        turns.pass();
        wgmma_wait<1>();
        settle(scores);
        release(rings.keys, key_at);
        if (Masked) mask(j, row);
        softmax.step<false>(scores, p.scale_log2);
        wgmma_wait<0>();
        settle(output);
        release(rings.values, value_at);
        round_to_operand<Operand>(probabilities, scores);
        softmax.rescale(output);
    }

    __device__ __forceinline__ void last_values(i32 keep) {
        rings.values.wait_full(value_at);
        values_of_next_stage(keep);
        softmax.finish();
        wgmma_wait<0>();
        settle(output);
        release(rings.values, value_at);
    }

    __device__ __forceinline__ void release_queries() {
        if (elected) rings.queries.release(query_at);
        query_at.advance();
    }

    __device__ __forceinline__ void write(const Tile& tile, i32 first_row, i32 row) {
        const u32 own = shared + kOutput + warpgroup * 64 * kPanelRowBytes;
        const u32 barrier = kWarpgroupBarrier + warpgroup;
        // The store of the tile before, or this tile's reads of Q, must be over.
        if (elected) tma::store_wait_read<0>();
        tma::named_sync(barrier, 128);
        write_output<Operand, kHeadDim, kOutputPanelBytes>(own, output, softmax);
        tma::fence_async_shared();
        tma::named_sync(barrier, 128);
        if (elected) {
            store_output<kHeadDim, kOutputPanelBytes>(maps.o, own, tile, first_row);
            if (kOutputOverQuery) tma::store_wait_read<0>();
        }
        if (kOutputOverQuery) release_queries();
        write_lse(p, tile, row, softmax);
    }

    __device__ __forceinline__ void consume() {
        for (u32 index = blockIdx.x; index < tile_count(p); index += gridDim.x) {
            const Tile tile = tile_at<kTileM>(p, index);
            const i32 first_row = tile.first_row + warpgroup * 64;
            const i32 row = first_row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
            const i32 open = open_key_tiles<kTileN>(p, first_row);
            i32 j = key_tiles<kTileM, kTileN>(p, tile) - 1;
            i32 keep = 0;
            rings.queries.wait_full(query_at);
            first_scores(j, open, row);
            while (--j >= open) overlapped_step<true>(j, row, keep);
            for (; j >= 0; --j) overlapped_step<false>(j, row, keep);
            if (!kOutputOverQuery) release_queries();
            last_values(keep);
            write(tile, first_row, row);
        }
        turns.finish();
        if (elected) tma::store_wait<0>();
    }
};

}  // namespace fa3

extern "C" __global__ void __launch_bounds__(fa3::kThreads, 1)
    FA3_SYMBOL(const __grid_constant__ fa3::tma::TensorMap q,
               const __grid_constant__ fa3::tma::TensorMap k,
               const __grid_constant__ fa3::tma::TensorMap v,
               const __grid_constant__ fa3::tma::TensorMap o,
               const __grid_constant__ fa3::ForwardParams p) {
    using namespace fa3;
    extern __shared__ __align__(1024) tma::u8 shared_memory[];
    const u32 shared = tma::shared_address(shared_memory);
    const Maps maps{q, k, v, o};
    const Rings rings(shared + kBarriers);

    if (threadIdx.x == 0) {
        rings.queries.init(kConsumers);
        rings.keys.init(kConsumers);
        rings.values.init(kConsumers);
        tma::barrier_init_fence();
    }
    __syncthreads();

    if (threadIdx.x < 128) {
        tma::registers_lower<kProducerRegisters>();
        if (threadIdx.x == 0) produce(maps, p, shared, rings);
    } else {
        tma::registers_raise<kConsumerRegisters>();
        // The same in all lanes, and the compiler is to know it: addresses stay in uniform
        // registers.
        const i32 warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0) - 1;
        Consumer consumer{maps,
                          p,
                          shared,
                          rings,
                          warpgroup,
                          threadIdx.x % 128 == 0,
                          Turns<FA3_TURNS, kConsumers, kTurnBarrier>(warpgroup)};
        consumer.consume();
    }
}
