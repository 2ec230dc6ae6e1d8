// Thread-block clusters: rank, barrier, addresses in another CTA's shared memory.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// This CTA's rank in its cluster, read anew each time rather than kept in a register. PTX ISA,
// "Special Registers: %cluster_ctarank".
__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The number of CTAs in the cluster. PTX ISA, "Special Registers: %cluster_nctarank".
__device__ __forceinline__ u32 cluster_size() {
    u32 size;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

// The .shared::cluster address of the byte at `address` in CTA `cta` of the cluster.
// PTX ISA, "mapa".
__device__ __forceinline__ u32 map_shared(u32 address, u32 cta) {
    u32 mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(cta));
    return mapped;
}

// Arrives at the cluster barrier, with release. Every thread of the warp calls it together.
// PTX ISA, "barrier.cluster".
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// Waits for the cluster barrier that cluster_arrive arrived at, with acquire. Every thread of the
// warp calls it together. PTX ISA, "barrier.cluster".
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// All threads of the cluster meet. A CTA must not exit while another may still reach into its
// shared memory: end with this where barriers are signalled or tiles multicast across CTAs.
__device__ __forceinline__ void cluster_sync() {
    cluster_arrive();
    cluster_wait();
}

}  // namespace fa3::tma
