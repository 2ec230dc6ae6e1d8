// out[b, c, r] = scale · in[b, r, c] for bf16 matrices with any strides that a tensor map takes.
//
// A job of bytes alone, without a ring: each CTA loads one tile by TMA, turns and scales it, and
// stores it by TMA, and the loads of one CTA run under the work of the others on its SM. CTAs start
// in order, so that what they read and write at one time lies close together; CTAs that persist
// drift apart, and memory then gives a tenth less.
#include <fa3/tma/tma.cuh>

#include "params.cuh"

namespace fa3::examples {

using namespace tma;

constexpr i32 kTileRows = FA3_TILE_ROWS;
constexpr i32 kTileColumns = FA3_TILE_COLUMNS;
constexpr i32 kWarps = 4;
constexpr i32 kColumnsPerWarp = kTileColumns / kWarps;
using InColumns = Panels<kTileColumns>;
using OutColumns = Panels<kTileRows>;
static_assert(InColumns::count == 1 && kTileRows % 16 == 0 && kColumnsPerWarp == 16);

// Shared memory, from a 1024-byte boundary on: the tile as it came, the tile as it goes, the
// barrier.
constexpr u32 kTileBytes = kTileRows * kTileColumns * 2;
constexpr u32 kBarrier = 2 * kTileBytes;
static_assert(kBarrier + 8 <= FA3_SHARED_BYTES);

// Where a tile of the input begins.
struct Tile {
    i32 row;
    i32 column;
    i32 batch;
};

// One under the other: tiles that are turned at one time fill whole rows of the output.
__device__ __forceinline__ Tile tile_at(const TransposeParams& p, u32 number) {
    const u32 column = number / p.tiles_rows;
    return {static_cast<i32>(number % p.tiles_rows) * kTileRows,
            static_cast<i32>(column % p.tiles_columns) * kTileColumns,
            static_cast<i32>(column / p.tiles_columns)};
}

__device__ __forceinline__ u32 scaled(u32 pair, float scale) {
    float low, high;
    unpack<Bf16>(pair, low, high);
    return pack<Bf16>(low * scale, high * scale);
}

// A warp turns 16 columns of the input into 16 rows of the output, four 8×8 matrices at a time:
// lane l gives the address of row l%8 of matrix l/8, of the input and of the output.
__device__ __forceinline__ void turn(u32 from, u32 to, float scale) {
    const u32 lane = threadIdx.x % 32;
    const u32 first = threadIdx.x / 32 * kColumnsPerWarp;
    const u32 column = first + lane / 16 * 8;
#pragma unroll
    for (u32 row = 0; row < kTileRows; row += 16) {
        const uint4 m =
            load_matrices_transposed(from + InColumns::offset(row + lane % 16, column, kTileRows));
        store_matrices(
            to + OutColumns::offset(column + lane % 8, row + lane / 8 % 2 * 8, kTileColumns),
            scaled(m.x, scale), scaled(m.y, scale), scaled(m.z, scale), scaled(m.w, scale));
    }
}

}  // namespace fa3::examples

extern "C" __global__ void __launch_bounds__(128)
    FA3_SYMBOL(const __grid_constant__ fa3::tma::TensorMap in,
               const __grid_constant__ fa3::tma::TensorMap out,
               const __grid_constant__ fa3::TransposeParams p) {
    using namespace fa3::examples;
    extern __shared__ __align__(1024) u8 shared_memory[];
    const u32 from = shared_address(shared_memory);
    const u32 to = from + kTileBytes;
    const u32 loaded = from + kBarrier;
    const Tile tile = tile_at(p, blockIdx.x);
    if (threadIdx.x == 0) {
        barrier_init(loaded, 1);
        barrier_init_fence();
        arrive_expect(loaded, kTileBytes);
        load_tile(from, &in, loaded, tile.column, tile.row, tile.batch);
    }
    __syncthreads();
    wait(loaded, 0);
    turn(from, to, p.scale);
    fence_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (i32 panel = 0; panel < OutColumns::count; ++panel) {
            store_tile(&out, to + panel * kTileColumns * OutColumns::row_bytes,
                       tile.row + panel * OutColumns::columns, tile.column, tile.batch);
        }
        store_commit();
        store_wait<0>();
    }
}
