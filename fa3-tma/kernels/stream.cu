// Streams a tensor tile by tile through the ring and writes each tile's image in shared memory,
// every byte of it, to global memory: tile i at out + i · tile_bytes.
//
// FA3_RANK    dimensions of the tensor, 1 to 5
// FA3_STAGES  stages of the ring
#include "tiling.cuh"

using namespace fa3::tma;
using fa3::Tiling;

namespace {

constexpr int RANK = FA3_RANK;
constexpr int STAGES = FA3_STAGES;
constexpr u32 CONSUMERS = 3;  // warps, each with a third of every tile
constexpr u32 WARP = 32;

// Shared memory: STAGES stages of tiling.stage_bytes, then the ring's barriers.
struct Shared {
    u32 stages;
    Ring<STAGES> ring;

    __device__ __forceinline__ Shared(u32 base, const Tiling& tiling)
        : stages(base), ring(base + STAGES * tiling.stage_bytes) {}
};

__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* map,
                                        const Tiling& tiling) {
    Ring<STAGES>::Cursor at;
    for (u32 tile = blockIdx.x; tile < tiling.count; tile += gridDim.x) {
        shared.ring.acquire(at);
        shared.ring.expect(at, tiling.tile_bytes);
        load<RANK>(shared.stages + at.stage * tiling.stage_bytes, map, shared.ring.full_barrier(at),
                   coordinates<RANK>(tiling, tile));
        at.advance();
    }
}

__device__ __forceinline__ void consume(const Shared& shared, const u8* stages,
                                        const Tiling& tiling, u8* out, u32 consumer, bool elected) {
    Ring<STAGES>::Cursor at;
    const u32 thread = consumer * WARP + threadIdx.x % WARP;
    for (u32 tile = blockIdx.x; tile < tiling.count; tile += gridDim.x) {
        shared.ring.wait_full(at);
        const u8* from = stages + at.stage * tiling.stage_bytes;
        u8* to = out + static_cast<u64>(tile) * tiling.tile_bytes;
        for (u32 byte = 16 * thread; byte < tiling.tile_bytes; byte += 16 * CONSUMERS * WARP) {
            *reinterpret_cast<uint4*>(to + byte) = *reinterpret_cast<const uint4*>(from + byte);
        }
        __syncwarp();
        if (elected) shared.ring.release(at);
        at.advance();
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__((1 + CONSUMERS) * WARP)
    FA3_SYMBOL(const __grid_constant__ TensorMap map, const __grid_constant__ Tiling tiling,
               u8* out) {
    extern __shared__ __align__(1024) u8 memory[];
    const Shared shared(shared_address(memory), tiling);
    const u32 warp = threadIdx.x / WARP;
    if (threadIdx.x == 0) {
        prefetch_tensor_map(&map);
        shared.ring.init(CONSUMERS);
        barrier_init_fence();
    }
    __syncthreads();

    const bool elected = elect_one();
    if (warp == 0) {
        if (elected) produce(shared, &map, tiling);
    } else {
        consume(shared, memory, tiling, out, warp - 1, elected);
    }
}
