// Calls every function of the headers once, so that compiling this file assembles each of them:
// a function that nobody calls is parsed and never reaches the assembler. It is not run. The
// README's kernel is assembled with it.
#include "fa3/tma/tma.cuh"
#include "ring.cu"

// Compiled for as many registers as setmaxnreg takes, see registers.cuh.
extern "C" __global__ void __launch_bounds__(256, 1)
    instructions(const __grid_constant__ TensorMap map, float* out, u32 n) {
    extern __shared__ __align__(1024) u8 shared[];
    const TensorMap* m = &map;
    const u32 tile = shared_address(shared);
    const u32 bar = tile + 4096;
    const i32 c = static_cast<i32>(n);
    const u16 mask = static_cast<u16>(n);

    barrier_init(bar, n);
    barrier_init_fence();
    arrive(bar);
    arrive(bar, n);
    arrive_expect(bar, n);
    expect(bar, n);
    arrive_remote(bar, n);
    arrive_remote_after_read(bar, n);
    wait(bar, 0);
    wait_cluster(bar, 0);

    const CachePolicy last = cache_policy_evict_last();
    const CachePolicy first = cache_policy_evict_first();
    const CachePolicy normal = cache_policy_normal();
    prefetch_tensor_map(m);
    load_tile(tile, m, bar, c);
    load_tile(tile, m, bar, c, c);
    load_tile(tile, m, bar, c, c, c);
    load_tile(tile, m, bar, c, c, c, c);
    load_tile(tile, m, bar, c, c, c, c, c);
    load_tile(tile, m, bar, c, last);
    load_tile(tile, m, bar, c, c, last);
    load_tile(tile, m, bar, c, c, c, first);
    load_tile(tile, m, bar, c, c, c, c, first);
    load_tile(tile, m, bar, c, c, c, c, c, normal);
    load_bulk(tile, out, 16, bar);

    load_tile_multicast(tile, m, bar, mask, c);
    load_tile_multicast(tile, m, bar, mask, c, c);
    load_tile_multicast(tile, m, bar, mask, c, c, c);
    load_tile_multicast(tile, m, bar, mask, c, c, c, c);
    load_tile_multicast(tile, m, bar, mask, c, c, c, c, c);
    load_tile_multicast(tile, m, bar, mask, c, last);
    load_tile_multicast(tile, m, bar, mask, c, c, last);
    load_tile_multicast(tile, m, bar, mask, c, c, c, first);
    load_tile_multicast(tile, m, bar, mask, c, c, c, c, first);
    load_tile_multicast(tile, m, bar, mask, c, c, c, c, c, normal);

    fence_async_shared();
    fence_async_global();
    fence_map_release();
    fence_map_acquire(m);

    store_tile(m, tile, c);
    store_tile(m, tile, c, c);
    store_tile(m, tile, c, c, c);
    store_tile(m, tile, c, c, c, c);
    store_tile(m, tile, c, c, c, c, c);
    store_bulk(out, tile, 16);
    store_commit();
    store_wait_read<1>();
    store_wait<0>();

    reduce_add_tile(m, tile, c);
    reduce_add_tile(m, tile, c, c);
    reduce_add_tile(m, tile, c, c, c);
    reduce_add_tile(m, tile, c, c, c, c);
    reduce_add_tile(m, tile, c, c, c, c, c);
    reduce_min_tile(m, tile, c);
    reduce_min_tile(m, tile, c, c);
    reduce_min_tile(m, tile, c, c, c);
    reduce_min_tile(m, tile, c, c, c, c);
    reduce_min_tile(m, tile, c, c, c, c, c);
    reduce_max_tile(m, tile, c);
    reduce_max_tile(m, tile, c, c);
    reduce_max_tile(m, tile, c, c, c);
    reduce_max_tile(m, tile, c, c, c, c);
    reduce_max_tile(m, tile, c, c, c, c, c);
    reduce_and_tile(m, tile, c);
    reduce_and_tile(m, tile, c, c);
    reduce_and_tile(m, tile, c, c, c);
    reduce_and_tile(m, tile, c, c, c, c);
    reduce_and_tile(m, tile, c, c, c, c, c);
    reduce_or_tile(m, tile, c);
    reduce_or_tile(m, tile, c, c);
    reduce_or_tile(m, tile, c, c, c);
    reduce_or_tile(m, tile, c, c, c, c);
    reduce_or_tile(m, tile, c, c, c, c, c);
    reduce_xor_tile(m, tile, c);
    reduce_xor_tile(m, tile, c, c);
    reduce_xor_tile(m, tile, c, c, c);
    reduce_xor_tile(m, tile, c, c, c, c);
    reduce_xor_tile(m, tile, c, c, c, c, c);
    reduce_add_bulk_f32(out, tile, 16);

    const Ring<3> ring(bar + 64);
    Ring<3>::Cursor at;
    ring.init(2);
    for (u32 i = 0; i < n; i++) {
        ring.acquire(at);
        ring.expect(at, n);
        ring.wait_full(at);
        ring.release(at);
        ring.release_remote(at, n);
        at.advance();
    }

    dependency_wait();
    launch_dependents();
    cluster_sync();
    named_sync(1, 256);
    named_arrive(2, 256);
    out[0] = static_cast<float>(cluster_rank() + cluster_size() + elect_one());
    barrier_invalidate(bar);

    if (threadIdx.x / 128 == 0) {
        registers_lower<24>();
    } else {
        registers_raise<240>();
    }
}
