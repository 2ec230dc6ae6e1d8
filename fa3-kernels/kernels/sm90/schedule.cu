// The list of tiles of a ragged batch, made on the device: lengths lie in its memory, and nobody
// waits for them.
//
// Sequences are sorted by how many keys they have, roughly: into classes an eighth of a power of
// two wide, the longest first, so that a launch that takes tiles in their order ends with the
// shortest. Within a class the order is whichever thread comes first; no result depends on it.
#include "../params.cuh"
#include "../pipeline/schedule.cuh"

namespace fa3 {

constexpr i32 kThreads = FA3_THREADS;
constexpr i32 kClasses = 256;
static_assert(kThreads == kClasses);

// Length arrays are taken as they come: what they say beyond the tensors is cut off.
__device__ __forceinline__ i32 within(i32 value, i32 limit) { return min(max(value, 0), limit); }

__device__ __forceinline__ const i32* lengths(u64 address) {
    return reinterpret_cast<const i32*>(address);
}

// Sequence `n`; `first` is left open.
__device__ __forceinline__ Chunk sequence(const ScheduleParams& p, i32 n) {
    Chunk chunk{0, p.sq, 0, p.sk, n, 0, 0, 1};
    if (p.cu_q != 0) {
        chunk.batch = 0;
        chunk.q_start = within(lengths(p.cu_q)[n], p.sq);
        chunk.q_len = within(lengths(p.cu_q)[n + 1], p.sq) - chunk.q_start;
        chunk.k_start = within(lengths(p.cu_k)[n], p.sk);
        chunk.k_len = max(0, within(lengths(p.cu_k)[n + 1], p.sk) - chunk.k_start);
    }
    if (p.used_k != 0) chunk.k_len = within(lengths(p.used_k)[n], chunk.k_len);
    chunk.q_len = within(chunk.q_len, p.max_q);
    chunk.m_tiles = (chunk.q_len + p.tile_queries - 1) / p.tile_queries;
    const i32 fitting = min(p.section_keys / max(chunk.k_len, 1), p.heads);
    chunk.section = fitting > 1 ? 1 << (31 - __clz(fitting)) : 1;
    return chunk;
}

// Class 0 has the most keys. The class of a length is its leading bit and the three after it.
__device__ __forceinline__ i32 class_of(i32 keys) {
    if (keys < 8) return kClasses - 1 - keys;
    const i32 leading = 31 - __clz(keys);
    return kClasses - 1 - (8 * (leading - 2) + (keys >> (leading - 3)) % 8);
}

}  // namespace fa3

extern "C" __global__ void __launch_bounds__(fa3::kThreads)
    FA3_SYMBOL(const __grid_constant__ fa3::ScheduleParams p) {
    using namespace fa3;
    // Chunks in each class, then where the next sequence of the class begins. In 64 bits, for
    // lengths that contradict each other may add up to any number.
    __shared__ u64 next[kClasses];
    __shared__ u64 warp_sums[kClasses / 32];
    const i32 thread = threadIdx.x;
    const i32 lane = thread % 32;
    next[thread] = 0;
    __syncthreads();
    for (i32 n = thread; n < p.sequences; n += kThreads) {
        const Chunk chunk = sequence(p, n);
        if (chunk.m_tiles > 0) atomicAdd(&next[class_of(chunk.k_len)], chunk.m_tiles);
    }
    __syncthreads();

    // The sum of the classes before each: in each warp, then over the warps.
    const u64 own = next[thread];
    u64 sum = own;
    for (i32 step = 1; step < 32; step *= 2) {
        const u64 before = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += before;
    }
    if (lane == 31) warp_sums[thread / 32] = sum;
    __syncthreads();
    for (i32 warp = 0; warp < thread / 32; ++warp) sum += warp_sums[warp];
    next[thread] = sum - own;
    const u64 capacity = p.capacity;
    if (thread == kClasses - 1) *chunk_count_of(p.list) = sum < capacity ? sum : capacity;
    __syncthreads();

    // A warp a sequence: its chunks, one after the other.
    for (i32 n = thread / 32; n < p.sequences; n += kThreads / 32) {
        Chunk chunk = sequence(p, n);
        if (chunk.m_tiles == 0) continue;
        u64 first = 0;
        if (lane == 0) first = atomicAdd(&next[class_of(chunk.k_len)], chunk.m_tiles);
        first = __shfl_sync(~0u, first, 0);
        chunk.first = first;
        for (i32 m = lane; m < chunk.m_tiles && first + m < capacity; m += 32) {
            chunks(p.list)[first + m] = chunk;
        }
    }
}
