// TMA loads, global to shared memory. One thread issues; the bytes that land, out-of-bounds zeros
// included, are counted on the mbarrier `bar`. Coordinates are in elements, the contiguous
// dimension first. PTX ISA, "cp.async.bulk.tensor" and "cp.async.bulk".
//
// Along the contiguous dimension a tile begins at a multiple of 16 bytes from the tensor's start,
// on either side of it; the same holds for multicast. Observed: an H200 takes any other coordinate
// for an illegal instruction.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// An L2 cache policy, a type of its own so that it's never taken for a coordinate.
struct CachePolicy {
    u64 bits;
};

// For what is read again soon. PTX ISA, "createpolicy".
__device__ __forceinline__ CachePolicy cache_policy_evict_last() {
    CachePolicy policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy.bits));
    return policy;
}

// For what is read once. PTX ISA, "createpolicy".
__device__ __forceinline__ CachePolicy cache_policy_evict_first() {
    CachePolicy policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy.bits));
    return policy;
}

// The default. PTX ISA, "createpolicy".
__device__ __forceinline__ CachePolicy cache_policy_normal() {
    CachePolicy policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy.bits));
    return policy;
}

// Brings the tensor map itself into the descriptor cache. PTX ISA, "prefetch.tensormap".
__device__ __forceinline__ void prefetch_tensor_map(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3}], [%2];" ::"r"(dst),
        "l"(map), "r"(bar), "r"(c0)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4}], [%2];" ::"r"(dst),
        "l"(map), "r"(bar), "r"(c0), "r"(c1)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          i32 c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(dst),
        "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          i32 c2, i32 c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(dst),
        "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          i32 c2, i32 c3, i32 c4) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(dst),
        "l"(map), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
        : "memory");
}

// The same with an L2 cache hint.

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0,
                                          CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%4}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "l"(policy.bits), "r"(c0)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%4, %5}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "l"(policy.bits), "r"(c0), "r"(c1)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          i32 c2, CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "l"(policy.bits), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          i32 c2, i32 c3, CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "l"(policy.bits), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void load_tile(u32 dst, const TensorMap* map, u32 bar, i32 c0, i32 c1,
                                          i32 c2, i32 c3, i32 c4, CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "l"(policy.bits), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
        : "memory");
}

// `bytes` contiguous bytes, without a map: both addresses and the size are multiples of 16.
// PTX ISA, "cp.async.bulk".
__device__ __forceinline__ void load_bulk(u32 dst, const void* src, u32 bytes, u32 bar) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(dst),
        "l"(global_address(src)), "r"(bytes), "r"(bar)
        : "memory");
}

}  // namespace fa3::tma
