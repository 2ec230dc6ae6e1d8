// Calls every function of the headers once, so that compiling this file assembles each of them:
// a function that nobody calls is parsed and never reaches the assembler. It is not run. What the
// README and the guide show is assembled with it.
#include "fa3/tma/tma.cuh"
#include "ring.cu"

// Behind the kernel, whose constants they use.
#include "lanes.cu"
#include "store.cu"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <typename Operand, int N>
__device__ __forceinline__ void multiply(u32 tile, uint4 words) {
    const u64 a = Descriptor<128>::at(Descriptor<128>::low(tile, 0), 32);
    const u64 b = Descriptor<64>::at(Descriptor<64>::low(tile, 512), 0);
    float d[N / 2];
    wgmma_fence();
    Wgmma<Operand, N>::from_shared(d, a, b, 0);
    Wgmma<Operand, N>::template from_registers<Major::K>(d, words.x, words.y, words.z, words.w, b,
                                                         1);
    Wgmma<Operand, N>::template from_registers<Major::MN>(d, words.x, words.y, words.z, words.w, b,
                                                          1);
    wgmma_commit();
    wgmma_wait<0>();
    settle(d);
    store_matrices(tile, pack<Operand>(d[0], d[1]), pack<Operand>(d[2], d[3]), 0, 0);
}

template <typename Operand>
__device__ __forceinline__ void multiply(u32 tile, uint4 words) {
    multiply<Operand, 64>(tile, words);
    multiply<Operand, 80>(tile, words);
    multiply<Operand, 96>(tile, words);
    multiply<Operand, 112>(tile, words);
    multiply<Operand, 128>(tile, words);
    multiply<Operand, 144>(tile, words);
    multiply<Operand, 160>(tile, words);
    multiply<Operand, 176>(tile, words);
    multiply<Operand, 192>(tile, words);
    multiply<Operand, 256>(tile, words);
}
#endif

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
    load_rows(Ring<STAGES>(bar), {}, tile, out, n, 16);

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
    store_turn(tile, c, out, n == 0, 256, [&](u32 to) { store_shared(to, uint4{n, n, n, n}); });
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

    uint4 words = load_shared(tile);
    words.w += load_matrices(tile).x + load_matrices_transposed(tile).x +
               static_cast<u32>(load_shared_f32x2(tile).y);
    store_shared(tile, words);
    float low, high, other_low, other_high;
    unpack<Bf16>(words.x, low, high);
    unpack<F16>(words.y, other_low, other_high);
    store_matrices(tile + Panels<96>::offset(n, n, 64), pack<Bf16>(low, high),
                   pack<F16>(other_low, other_high), words.z, words.w);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    multiply<Bf16>(tile, words);
    multiply<F16>(tile, words);
#endif

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
