#include "fa3/tma/tma.cuh"
using namespace fa3::tma;

constexpr int STAGES = 4;
constexpr u32 TILE_BYTES = 64 * 64 * 2;

extern "C" __global__ void __launch_bounds__(128)
    rows(const __grid_constant__ TensorMap map, int tiles) {
    extern __shared__ __align__(1024) u8 memory[];
    const u32 stages = shared_address(memory);
    const Ring<STAGES> ring(stages + STAGES * TILE_BYTES);
    if (threadIdx.x == 0) {
        ring.init(3);
        barrier_init_fence();
    }
    __syncthreads();

    Ring<STAGES>::Cursor at;
    const bool elected = elect_one();
    if (threadIdx.x < 32) {
        for (int tile = 0; elected && tile < tiles; tile++, at.advance()) {
            ring.acquire(at);
            ring.expect(at, TILE_BYTES);
            load_tile(stages + at.stage * TILE_BYTES, &map, ring.full_barrier(at), 0, 64 * tile);
        }
    } else {
        for (int tile = 0; tile < tiles; tile++, at.advance()) {
            ring.wait_full(at);
            // … read memory + at.stage * TILE_BYTES …
            __syncwarp();
            if (elected) ring.release(at);
        }
    }
}
