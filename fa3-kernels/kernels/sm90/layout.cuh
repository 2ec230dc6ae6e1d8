// What a row of `table.rs` makes of the forward kernel: its tile, its registers, its shared memory
// and its barriers. The row's fields are the macros below.
#pragma once
#include <fa3/tma/ring.cuh>

#include "../mma/products.cuh"
#include "../pipeline/handover.cuh"

namespace fa3 {

#if FA3_OPERAND_BF16
using Operand = Bf16;
#else
using Operand = F16;
#endif
constexpr i32 kHeadDim = FA3_HEAD_DIM;
constexpr i32 kValueDim = FA3_VALUE_DIM;
constexpr i32 kConsumers = FA3_CONSUMERS;
constexpr i32 kTileM = 64 * kConsumers;
// CTAs that share the loads of K and V by multicast; their tiles lie side by side.
constexpr i32 kCluster = FA3_CLUSTER;
constexpr i32 kTileN = FA3_TILE_N;
constexpr i32 kStages = FA3_STAGES;
constexpr bool kOutputOverQuery = FA3_OUTPUT_OVER_QUERY;
// With two, the next tile's queries load while this tile's are in use; so they do with one that
// is let go of early.
constexpr i32 kQueryStages = FA3_QUERY_STAGES;
// Whether S takes Q from registers: shared memory is read less, and Q's stage is free at once.
constexpr bool kQueryInRegisters = FA3_QUERY_IN_REGISTERS;
constexpr bool kQueryLeavesEarly = kQueryInRegisters && !kOutputOverQuery;
// Whether the next tile's first scores are issued before this tile's last P·V.
constexpr bool kScoresAhead = FA3_SCORES_AHEAD;
// Of eight pairs of exponentials, those that are taken by a polynomial.
constexpr i32 kPolynomials = FA3_POLYNOMIALS;
// Products that may still run when the scores are looked at: P·V behind them. With the widest O
// there are no registers for exponentials beside probabilities that are in use.
constexpr i32 kAfterScores = kValueDim == 256 ? 0 : 1;
constexpr i32 kThreads = 128 * (kConsumers + 1);
// The producer gives up what the consumers take: with 240 registers d128 runs at 674 TFLOP/s on an
// H200 (16k keys), with 232 at 660. A CTA has the registers that it is launched with:
// for each thread its share of 64 Ki, rounded down to a multiple of 8.
constexpr i32 kLaunchRegisters = 64 * 1024 / kThreads / 8 * 8;
constexpr i32 kProducerRegisters = kConsumers == 3 ? 32 : kCluster == 1 ? 24 : 56;
constexpr i32 kConsumerRegisters = kConsumers == 3 ? 160 : kCluster == 1 ? 240 : 224;

using KeyPanels = Panels<kHeadDim>;
using ValuePanels = Panels<kValueDim>;

static_assert(kCluster == 1 || (kCluster == 2 && kTileN % (8 * kCluster) == 0));
static_assert(kTileN % kStep == 0 && kHeadDim % kStep == 0 && (kConsumers == 2 || kConsumers == 3));
static_assert(kConsumerRegisters * kConsumers + kProducerRegisters <=
              kLaunchRegisters * (kConsumers + 1));
static_assert(!kScoresAhead || !kOutputOverQuery);
static_assert(kPolynomials >= 0 && kPolynomials <= 8);
static_assert(!kOutputOverQuery || (kValueDim <= kHeadDim && kQueryStages == 1));

// Shared memory, from a 1024-byte boundary on: Q, the stages of K, the stages of V, O, the tile at
// hand, barriers.
constexpr u32 kQueryBytes = kTileM * kHeadDim * 2;
constexpr u32 kKeyBytes = kTileN * kHeadDim * 2;
constexpr u32 kValueBytes = kTileN * kValueDim * 2;
constexpr u32 kKeys = kQueryStages * kQueryBytes;
constexpr u32 kValues = kKeys + kStages * kKeyBytes;
constexpr u32 kEnd = kValues + kStages * kValueBytes;
constexpr u32 kOutput = kOutputOverQuery ? 0 : kEnd;
constexpr u32 kWork = kEnd + (kOutputOverQuery ? 0 : kTileM * kValueDim * 2);
constexpr u32 kBarriers = kWork + 2 * kQueryStages * Work::bytes;
static_assert(kKeys % 1024 == 0 && kKeyBytes % 1024 == 0 && kValueBytes % 1024 == 0);

using QueryRing = tma::Ring<kQueryStages>;
using KeyRing = tma::Ring<kStages>;
static_assert(kBarriers + QueryRing::bytes + 2 * KeyRing::bytes <= FA3_SHARED_BYTES);

// The barrier of all threads is the consumers' own once these have met at it.
constexpr i32 kConsumerBarrier = 0;
constexpr i32 kTurnBarrier = 1;
constexpr i32 kWarpgroupBarrier = kTurnBarrier + kConsumers;

// The slots of the tiles at hand take turns with the stages of Q and their phases.
__device__ __forceinline__ u32 work_slot(u32 shared, QueryRing::Cursor at) {
    return shared + kWork + (at.phase * kQueryStages + at.stage) * Work::bytes;
}

__device__ __forceinline__ u32 query_stage(u32 shared, QueryRing::Cursor at) {
    return shared + at.stage * kQueryBytes;
}

struct Rings {
    QueryRing queries;
    KeyRing keys;
    KeyRing values;

    __device__ __forceinline__ explicit Rings(u32 barriers)
        : queries(barriers),
          keys(barriers + QueryRing::bytes),
          values(barriers + QueryRing::bytes + KeyRing::bytes) {}
};

}  // namespace fa3
