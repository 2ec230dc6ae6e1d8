// The sixteen named barriers of a CTA; 0 is that of __syncthreads().
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// Arrives at barrier `id` and waits until `threads` threads (a multiple of 32) have arrived. The
// whole warp calls it together. PTX ISA, "bar / barrier: bar.sync".
__device__ __forceinline__ void named_sync(u32 id, u32 threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Arrives at barrier `id` and goes on. `threads` counts those that arrive and those that wait.
// The whole warp calls it together. PTX ISA, "bar / barrier: bar.arrive".
__device__ __forceinline__ void named_arrive(u32 id, u32 threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace fa3::tma
