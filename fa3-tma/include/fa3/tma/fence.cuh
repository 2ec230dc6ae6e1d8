// Fences between the generic proxy (ordinary loads and stores) and the async proxy (TMA, wgmma).
// PTX ISA, "Memory Consistency Model: Proxies" and "membar / fence: fence.proxy".
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// Orders this thread's ordinary accesses to shared memory with later async-proxy ones: after
// writing a tile that TMA stores or wgmma reads, before the barrier that lets them start.
__device__ __forceinline__ void fence_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The same for global memory: after writing what a TMA load reads.
__device__ __forceinline__ void fence_async_global() {
    asm volatile("fence.proxy.async.global;" ::: "memory");
}

// After writing a tensor map in global memory: releases it to the device. The reader then
// calls fence_map_acquire.
__device__ __forceinline__ void fence_map_release() {
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

// Before the first use of a tensor map that a kernel wrote: acquires its 128 bytes.
__device__ __forceinline__ void fence_map_acquire(const TensorMap* map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace fa3::tma
