// TMA loads to several CTAs of a cluster at once: bit i of `cta_mask` names CTA i. The tile lands
// at the same offset of each one's shared memory, and its bytes are counted on the barrier at the
// same offset of each. PTX ISA, "cp.async.bulk.tensor", .multicast::cluster.
#pragma once

#include "fa3/tma/load.cuh"
#include "fa3/tma/types.cuh"

namespace fa3::tma {

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%4}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "r"(c0)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "r"(c0), "r"(c1)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1, i32 c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1, i32 c2, i32 c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1, i32 c2, i32 c3,
                                                    i32 c4) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
        : "memory");
}

// The same with an L2 cache hint.

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%5}], [%2], %3, %4;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "l"(policy.bits), "r"(c0)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1,
                                                    CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6}], [%2], %3, %4;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "l"(policy.bits), "r"(c0), "r"(c1)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1, i32 c2,
                                                    CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6, %7}], [%2], %3, %4;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "l"(policy.bits), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1, i32 c2, i32 c3,
                                                    CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6, %7, %8}], [%2], %3, %4;" ::"r"(dst),
        "l"(map), "r"(bar), "h"(cta_mask), "l"(policy.bits), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void load_tile_multicast(u32 dst, const TensorMap* map, u32 bar,
                                                    u16 cta_mask, i32 c0, i32 c1, i32 c2, i32 c3,
                                                    i32 c4, CachePolicy policy) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%5, %6, %7, %8, %9}], [%2], %3, %4;" ::"r"(
            dst),
        "l"(map), "r"(bar), "h"(cta_mask), "l"(policy.bits), "r"(c0), "r"(c1), "r"(c2), "r"(c3),
        "r"(c4)
        : "memory");
}

}  // namespace fa3::tma
