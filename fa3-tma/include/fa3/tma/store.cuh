// TMA stores, shared to global memory. The tile is clipped at the tensor's extents. One thread
// issues, commits a group and waits for it; the tile was made visible to the async proxy before
// with fence_async_shared and a barrier. PTX ISA, "cp.async.bulk.tensor" and "cp.async.bulk".
//
// Coordinates are not negative, and in the contiguous dimension a multiple of 16 bytes. Observed:
// an H200 takes others for an illegal instruction; and it clips the contiguous dimension at the
// next multiple of 16 bytes, so that a tensor whose rows are no such multiple has its padding
// written.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

__device__ __forceinline__ void store_tile(const TensorMap* map, u32 src, i32 c0) {
    asm volatile(
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group"
        " [%0, {%2}], [%1];" ::"l"(map),
        "r"(src), "r"(c0)
        : "memory");
}

__device__ __forceinline__ void store_tile(const TensorMap* map, u32 src, i32 c0, i32 c1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
        " [%0, {%2, %3}], [%1];" ::"l"(map),
        "r"(src), "r"(c0), "r"(c1)
        : "memory");
}

__device__ __forceinline__ void store_tile(const TensorMap* map, u32 src, i32 c0, i32 c1, i32 c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group"
        " [%0, {%2, %3, %4}], [%1];" ::"l"(map),
        "r"(src), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

__device__ __forceinline__ void store_tile(const TensorMap* map, u32 src, i32 c0, i32 c1, i32 c2,
                                           i32 c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group"
        " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
        "r"(src), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

__device__ __forceinline__ void store_tile(const TensorMap* map, u32 src, i32 c0, i32 c1, i32 c2,
                                           i32 c3, i32 c4) {
    asm volatile(
        "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group"
        " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
        "r"(src), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
        : "memory");
}

// `bytes` contiguous bytes, without a map: both addresses and the size are multiples of 16.
// PTX ISA, "cp.async.bulk".
__device__ __forceinline__ void store_bulk(void* dst, u32 src, u32 bytes) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global_address(dst)),
        "r"(src), "r"(bytes)
        : "memory");
}

// Closes the group of this thread's stores and reductions since the last one.
// PTX ISA, "cp.async.bulk.commit_group".
__device__ __forceinline__ void store_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most Pending of this thread's groups still read shared memory: the tiles of the
// others may be overwritten. PTX ISA, "cp.async.bulk.wait_group", .read.
template <int Pending>
__device__ __forceinline__ void store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

// Waits until at most Pending of this thread's groups are unfinished: the writes of the others
// are visible to this thread. PTX ISA, "cp.async.bulk.wait_group".
template <int Pending>
__device__ __forceinline__ void store_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace fa3::tma
