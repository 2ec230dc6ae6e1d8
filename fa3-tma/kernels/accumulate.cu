// Doubles an f32 tensor and writes it twice by TMA: stored into `copy`, added to `sum`. Tiles
// come through the ring, are doubled in their stage, and leave from there.
//
// FA3_RANK    dimensions of the tensors, 1 to 5
// FA3_STAGES  stages of the ring
#include "tiling.cuh"

using namespace fa3::tma;
using fa3::Tiling;

namespace {

constexpr int RANK = FA3_RANK;
constexpr int STAGES = FA3_STAGES;
constexpr u32 WARP = 32;
constexpr u32 CONSUMER_THREADS = 3 * WARP;
constexpr u32 TILE_DOUBLED = 1;  // named barrier

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

// The consumer threads double the tile together; the last of them to arrive at the barrier lets
// `storing` write it, which alone releases the stage once it has been read.
__device__ __forceinline__ void consume(const Shared& shared, u8* stages, const TensorMap* copy,
                                        const TensorMap* sum, const Tiling& tiling, u32 thread,
                                        bool storing) {
    Ring<STAGES>::Cursor at;
    for (u32 tile = blockIdx.x; tile < tiling.count; tile += gridDim.x) {
        shared.ring.wait_full(at);
        float* values = reinterpret_cast<float*>(stages + at.stage * tiling.stage_bytes);
        for (u32 i = thread; i < tiling.tile_bytes / sizeof(float); i += CONSUMER_THREADS) {
            values[i] *= 2.0f;
        }
        fence_async_shared();
        named_sync(TILE_DOUBLED, CONSUMER_THREADS);
        if (storing) {
            const u32 from = shared.stages + at.stage * tiling.stage_bytes;
            store<RANK>(copy, from, coordinates<RANK>(tiling, tile));
            reduce_add<RANK>(sum, from, coordinates<RANK>(tiling, tile));
            store_commit();
            store_wait_read<0>();
            shared.ring.release(at);
        }
        at.advance();
    }
    if (storing) store_wait<0>();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(WARP + CONSUMER_THREADS)
    FA3_SYMBOL(const __grid_constant__ TensorMap map, const __grid_constant__ TensorMap copy,
               const __grid_constant__ TensorMap sum, const __grid_constant__ Tiling tiling) {
    extern __shared__ __align__(1024) u8 memory[];
    const Shared shared(shared_address(memory), tiling);
    const u32 warp = threadIdx.x / WARP;
    if (threadIdx.x == 0) {
        prefetch_tensor_map(&map);
        prefetch_tensor_map(&copy);
        prefetch_tensor_map(&sum);
        shared.ring.init(1);
        barrier_init_fence();
    }
    __syncthreads();

    const bool elected = elect_one();
    if (warp == 0) {
        if (elected) produce(shared, &map, tiling);
    } else {
        consume(shared, memory, &copy, &sum, tiling, threadIdx.x - WARP, warp == 1 && elected);
    }
}
