// stream.cu in clusters of two CTAs. A stage holds two tiles; each CTA loads one of them, by
// multicast into both CTAs, and each writes the images of both: CTA r writes tile i at
// out + (r · count + i) · tile_bytes. The number of tiles is even.
//
// FA3_RANK    dimensions of the tensor, 1 to 5
// FA3_STAGES  stages of the ring
#include "tiling.cuh"

using namespace fa3::tma;
using fa3::Tiling;

namespace {

constexpr int RANK = FA3_RANK;
constexpr int STAGES = FA3_STAGES;
constexpr u32 CTAS = 2;
constexpr u16 EVERY_CTA = (1 << CTAS) - 1;
constexpr u32 CONSUMERS = 3;  // warps, each with a third of every stage
constexpr u32 WARP = 32;

// Shared memory: STAGES stages of CTAS · tiling.stage_bytes, then the ring's barriers.
struct Shared {
    u32 stages;
    u32 stage_bytes;
    Ring<STAGES> ring;

    __device__ __forceinline__ Shared(u32 base, const Tiling& tiling)
        : stages(base),
          stage_bytes(CTAS * tiling.stage_bytes),
          ring(base + STAGES * CTAS * tiling.stage_bytes) {}
};

// The groups of CTAS tiles that this cluster takes. Every role's loop is made of these.
__device__ __forceinline__ u32 first_group() { return blockIdx.x / CTAS; }
__device__ __forceinline__ u32 group_step() { return gridDim.x / CTAS; }
__device__ __forceinline__ u32 groups(const Tiling& tiling) { return tiling.count / CTAS; }

__device__ __forceinline__ void produce(const Shared& shared, const TensorMap* map,
                                        const Tiling& tiling, u32 rank) {
    Ring<STAGES>::Cursor at;
    for (u32 group = first_group(); group < groups(tiling); group += group_step()) {
        // The stage is empty in both CTAs, since this load writes into both.
        shared.ring.acquire(at);
        shared.ring.expect(at, CTAS * tiling.tile_bytes);
        const u32 dst = shared.stages + at.stage * shared.stage_bytes + rank * tiling.stage_bytes;
        load_multicast<RANK>(dst, map, shared.ring.full_barrier(at), EVERY_CTA,
                             coordinates<RANK>(tiling, group * CTAS + rank));
        at.advance();
    }
}

__device__ __forceinline__ void consume(const Shared& shared, const u8* stages,
                                        const Tiling& tiling, u8* out, u32 consumer) {
    Ring<STAGES>::Cursor at;
    const u32 lane = threadIdx.x % WARP;
    for (u32 group = first_group(); group < groups(tiling); group += group_step()) {
        shared.ring.wait_full(at);
        for (u32 cta = 0; cta < CTAS; cta++) {
            const u8* from = stages + at.stage * shared.stage_bytes + cta * tiling.stage_bytes;
            u8* to = out + static_cast<u64>(group * CTAS + cta) * tiling.tile_bytes;
            for (u32 byte = 16 * (consumer * WARP + lane); byte < tiling.tile_bytes;
                 byte += 16 * CONSUMERS * WARP) {
                *reinterpret_cast<uint4*>(to + byte) = *reinterpret_cast<const uint4*>(from + byte);
            }
        }
        __syncwarp();
        if (lane < CTAS) shared.ring.release_remote(at, lane);
        at.advance();
    }
}

}  // namespace

extern "C" __global__ void __cluster_dims__(CTAS, 1, 1) __launch_bounds__((1 + CONSUMERS) * WARP)
    FA3_SYMBOL(const __grid_constant__ TensorMap map, const __grid_constant__ Tiling tiling,
               u8* out) {
    extern __shared__ __align__(1024) u8 memory[];
    const Shared shared(shared_address(memory), tiling);
    const u32 warp = threadIdx.x / WARP;
    const u32 rank = cluster_rank();
    if (threadIdx.x == 0) {
        prefetch_tensor_map(&map);
        shared.ring.init(CTAS * CONSUMERS);
        barrier_init_fence();
    }
    cluster_sync();

    if (warp == 0) {
        if (elect_one()) produce(shared, &map, tiling, rank);
    } else {
        u8* copy = out + static_cast<u64>(rank) * tiling.count * tiling.tile_bytes;
        consume(shared, memory, tiling, copy, warp - 1);
    }
    // Neither CTA exits while the other may still signal its barriers or write into its stages.
    __syncwarp();
    cluster_sync();
}
