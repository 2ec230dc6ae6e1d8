// C = A·Bᵀ + bias for row-major A (m×k), B (n×k) and C (m×n) in bf16, with sums in f32.
//
// A CTA persists on an SM and works on tiles of kTileM×kTileN of C. One thread keeps a ring of
// stages full by TMA, each with kTileK columns of A and of B; two consumer warpgroups multiply,
// each 64 rows of the tile. Edges need no code: TMA fills up with zeros what lies beyond a tensor,
// and clips what is stored there.
//
// The first warpgroup runs kLead stages ahead of the second. So one's products go on while the
// other adds the bias, rounds and stores, and the tensor cores do not idle at the end of a tile.
#include <fa3/tma/tma.cuh>

#include "params.cuh"

namespace fa3::examples {

using namespace tma;

constexpr i32 kTileM = FA3_TILE_M;
constexpr i32 kTileN = FA3_TILE_N;
constexpr i32 kTileK = 64;  // a row of the 128-byte swizzle
constexpr i32 kStages = FA3_STAGES;
constexpr i32 kLead = FA3_LEAD;
constexpr i32 kWarpgroup = 128;
constexpr i32 kConsumers = 2;
static_assert(kTileM == 64 * kConsumers && kTileN % 64 == 0 && kLead < kStages);

// C leaves in panels of 64 columns, two of which a warpgroup has room for.
constexpr i32 kPanelColumns = 64;
constexpr i32 kPanels = kTileN / kPanelColumns;
constexpr i32 kPanelStages = 2;
static_assert(kPanels % kPanelStages == 0);  // a tile begins with the same one as the last
using Columns = Panels<kPanelColumns>;

using StageRing = tma::Ring<kStages>;
using BiasRing = tma::Ring<2>;

// Shared memory, from a 1024-byte boundary on: the stages, panels of C, biases, barriers.
constexpr u32 kBytesA = kTileM * kTileK * 2;
constexpr u32 kBytesB = kTileN * kTileK * 2;
constexpr u32 kStageBytes = kBytesA + kBytesB;
constexpr u32 kPanelBytes = 64 * Columns::row_bytes;
constexpr u32 kBiasBytes = kTileN * 4;
constexpr u32 kOutput = kStages * kStageBytes;
constexpr u32 kBias = kOutput + kConsumers * kPanelStages * kPanelBytes;
constexpr u32 kBarriers = kBias + 2 * kBiasBytes;
static_assert(kBarriers + StageRing::bytes + BiasRing::bytes == FA3_SHARED_BYTES);

// Named barriers; 0 is that of all threads.
constexpr u32 kLeadBarrier = 1;
constexpr u32 kWarpgroupBarrier = 2;

struct Maps {
    const TensorMap& a;
    const TensorMap& b;
    const TensorMap& bias;
    const TensorMap& c;
};

struct Rings {
    StageRing stages;
    BiasRing biases;

    __device__ __forceinline__ explicit Rings(u32 barriers)
        : stages(barriers), biases(barriers + StageRing::bytes) {}
};

// Where a tile of C begins.
struct Tile {
    i32 row;
    i32 column;
};

// Tiles are taken in bands of `p.band` rows of tiles, and within a band column by column: what the
// CTAs work on at one time then shares few rows of A and of B, which stay in L2.
__device__ __forceinline__ Tile tile_at(const GemmParams& p, i32 number) {
    const i32 in_band = p.band * p.tiles_n;
    const i32 band = number / in_band;
    const i32 rows = min(p.band, p.tiles_m - band * p.band);
    const i32 within = number - band * in_band;
    return {(band * p.band + within % rows) * kTileM, within / rows * kTileN};
}

__device__ __forceinline__ void produce(const Maps& maps, const GemmParams& p, u32 shared,
                                        const Rings& rings) {
    StageRing::Cursor at;
    BiasRing::Cursor bias_at;
    for (i32 number = blockIdx.x; number < p.tiles_m * p.tiles_n; number += gridDim.x) {
        const Tile tile = tile_at(p, number);
        if (p.has_bias) {
            rings.biases.acquire(bias_at);
            rings.biases.expect(bias_at, kBiasBytes);
            load_tile(shared + kBias + bias_at.stage * kBiasBytes, &maps.bias,
                      rings.biases.full_barrier(bias_at), tile.column);
            bias_at.advance();
        }
        for (i32 k = 0; k < p.k; k += kTileK) {
            rings.stages.acquire(at);
            rings.stages.expect(at, kStageBytes);
            const u32 stage = shared + at.stage * kStageBytes;
            load_tile(stage, &maps.a, rings.stages.full_barrier(at), k, tile.row);
            load_tile(stage + kBytesA, &maps.b, rings.stages.full_barrier(at), k, tile.column);
            at.advance();
        }
    }
}

// A consumer warpgroup: 64 rows of each tile.
struct Consumer {
    const Maps& maps;
    const GemmParams& p;
    const u32 shared;
    const Rings& rings;
    const i32 warpgroup;
    const bool elected;  // one thread of the warpgroup speaks for it

    StageRing::Cursor at;        // the next stage to multiply
    StageRing::Cursor finished;  // the next to let go of
    BiasRing::Cursor bias_at;
    float sums[kTileN / 2];

    __device__ __forceinline__ u32 barrier() const { return kWarpgroupBarrier + warpgroup; }

    __device__ __forceinline__ void release() {
        if (elected) rings.stages.release(finished);
        finished.advance();
    }

    __device__ __forceinline__ void issue_products(bool first) {
        using Matrix = Descriptor<128>;
        const u32 stage = shared + at.stage * kStageBytes;
        const u32 a = Matrix::low(stage + warpgroup * 64 * 128, 0);
        const u32 b = Matrix::low(stage + kBytesA, 0);
        wgmma_fence();
#pragma unroll
        for (i32 k = 0; k < kTileK / 16; ++k) {
            Wgmma<Bf16, kTileN>::from_shared(sums, Matrix::at(a, k * 32), Matrix::at(b, k * 32),
                                             !first || k != 0);
        }
        wgmma_commit();
    }

    // The sums of a tile. A stage is let go of when the products of the next have been issued.
    __device__ __forceinline__ void multiply(bool first_tile) {
        if (first_tile && warpgroup == 1) named_sync(kLeadBarrier, 2 * kWarpgroup);
        const i32 steps = (p.k + kTileK - 1) / kTileK;
        for (i32 step = 0; step < steps; ++step) {
            if (first_tile && warpgroup == 0 && step == min(kLead, steps - 1)) {
                named_arrive(kLeadBarrier, 2 * kWarpgroup);
            }
            rings.stages.wait_full(at);
            issue_products(step == 0);
            at.advance();
            if (step > 0) {
                wgmma_wait<1>();
                release();
            }
        }
        wgmma_wait<0>();
        settle(sums);
        release();
    }

    // Adds the bias of the columns from `column` on, a multiple of 16, to the sums of 16 columns.
    __device__ __forceinline__ void add_bias(float* sums_of_16, i32 column) const {
        const u32 bias = shared + kBias + bias_at.stage * kBiasBytes;
#pragma unroll
        for (i32 half = 0; half < 2; ++half) {
            const float2 two = load_shared_f32x2(
                bias + (column + 8 * half + 2 * static_cast<i32>(threadIdx.x % 4)) * 4);
            float* sum = sums_of_16 + 4 * half;
            sum[0] += two.x;
            sum[1] += two.y;
            sum[2] += two.x;
            sum[3] += two.y;
        }
    }

    // A panel of C, to shared memory and from there on its way to global memory.
    __device__ __forceinline__ void store_panel(const Tile& tile, i32 panel) {
        const u32 lane = threadIdx.x % 32;
        const u32 row = threadIdx.x % kWarpgroup / 32 * 16 + lane % 16;
        const u32 stage = warpgroup * kPanelStages + panel % kPanelStages;
        const u32 own = shared + kOutput + stage * kPanelBytes;
        // The store of the panel that was here before is over.
        if (elected) store_wait_read<kPanelStages - 1>();
        named_sync(barrier(), kWarpgroup);
#pragma unroll
        for (i32 column = 0; column < kPanelColumns; column += 16) {
            float* s = sums + (panel * kPanelColumns + column) / 2;
            if (p.has_bias) add_bias(s, panel * kPanelColumns + column);
            // Four 8×8 matrices: rows 0–7 and 8–15 of 8 columns, then of the next 8.
            store_matrices(own + Columns::offset(row, column + lane / 16 * 8, 64),
                           pack<Bf16>(s[0], s[1]), pack<Bf16>(s[2], s[3]), pack<Bf16>(s[4], s[5]),
                           pack<Bf16>(s[6], s[7]));
        }
        fence_async_shared();
        named_sync(barrier(), kWarpgroup);
        if (elected) {
            store_tile(&maps.c, own, tile.column + panel * kPanelColumns,
                       tile.row + warpgroup * 64);
            store_commit();
        }
    }

    __device__ __forceinline__ void consume() {
        for (i32 number = blockIdx.x; number < p.tiles_m * p.tiles_n; number += gridDim.x) {
            const Tile tile = tile_at(p, number);
            multiply(number == blockIdx.x);
            if (p.has_bias) rings.biases.wait_full(bias_at);
#pragma unroll
            for (i32 panel = 0; panel < kPanels; ++panel) store_panel(tile, panel);
            if (p.has_bias) {
                if (elected) rings.biases.release(bias_at);
                bias_at.advance();
            }
        }
        if (elected) store_wait<0>();
    }
};

}  // namespace fa3::examples

extern "C" __global__ void __launch_bounds__(384, 1)
    FA3_SYMBOL(const __grid_constant__ fa3::tma::TensorMap a,
               const __grid_constant__ fa3::tma::TensorMap b,
               const __grid_constant__ fa3::tma::TensorMap bias,
               const __grid_constant__ fa3::tma::TensorMap c,
               const __grid_constant__ fa3::GemmParams p) {
    using namespace fa3::examples;
    extern __shared__ __align__(1024) u8 shared_memory[];
    const u32 shared = shared_address(shared_memory);
    const Maps maps{a, b, bias, c};
    const Rings rings(shared + kBarriers);
    if (threadIdx.x == 0) {
        rings.stages.init(kConsumers);
        rings.biases.init(kConsumers);
        barrier_init_fence();
    }
    __syncthreads();

    if (threadIdx.x < kWarpgroup) {
        registers_lower<24>();
        if (threadIdx.x == 0) produce(maps, p, shared, rings);
    } else {
        registers_raise<240>();
        // The same in all lanes, and the compiler is to know it.
        const i32 warpgroup = __shfl_sync(~0u, threadIdx.x / kWarpgroup, 0) - 1;
        Consumer{maps, p, shared, rings, warpgroup, threadIdx.x % kWarpgroup == 0}.consume();
    }
}
