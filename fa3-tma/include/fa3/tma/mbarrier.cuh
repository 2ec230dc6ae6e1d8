// The mbarrier object: 8 bytes of shared memory, 8-byte aligned, that count the arrivals and the
// bytes of one phase after another. PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier". Addresses are .shared::cta addresses unless a name says otherwise.
#pragma once

#include "fa3/tma/cluster.cuh"
#include "fa3/tma/types.cuh"

namespace fa3::tma {

// Makes a barrier whose every phase completes after `arrivals` arrivals (1 … 2^20 − 1) and the
// expected bytes. One thread does it. PTX ISA, "mbarrier.init".
__device__ __forceinline__ void barrier_init(u32 bar, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}

// Makes this thread's earlier barrier_init visible to the async proxy and to the cluster; then a
// block or cluster barrier lets the others in. PTX ISA, "membar / fence: fence.mbarrier_init".
__device__ __forceinline__ void barrier_init_fence() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Ends the barrier's life, so that its memory may be used for anything else.
// PTX ISA, "mbarrier.inval".
__device__ __forceinline__ void barrier_invalidate(u32 bar) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}

// One arrival, with release. PTX ISA, "mbarrier.arrive".
__device__ __forceinline__ void arrive(u32 bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

// `count` arrivals at once, with release. PTX ISA, "mbarrier.arrive".
__device__ __forceinline__ void arrive(u32 bar, u32 count) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

// Expects `bytes` more in this phase, then arrives once. PTX ISA, "mbarrier.arrive", .expect_tx.
__device__ __forceinline__ void arrive_expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

// Expects `bytes` more in this phase, without an arrival. PTX ISA, "mbarrier.expect_tx".
__device__ __forceinline__ void expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
}

// One arrival at a barrier named by its .shared::cluster address, with release to the cluster.
// PTX ISA, "mbarrier.arrive".
__device__ __forceinline__ void arrive_cluster(u32 cluster_bar) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_bar)
                 : "memory");
}

// One arrival at the same barrier of CTA `cta` of the cluster, this one included, with release to
// the cluster: what this thread wrote before is visible to who waits with wait_cluster. That takes
// a memory barrier of device scope in the machine code.
__device__ __forceinline__ void arrive_remote(u32 bar, u32 cta) {
    arrive_cluster(map_shared(bar, cta));
}

// The same for a thread that has only read: its reads are done before the arrival, and there is
// nothing to make visible, so release to its own CTA is enough and costs no memory barrier.
// PTX ISA, "mbarrier.arrive".
__device__ __forceinline__ void arrive_remote_after_read(u32 bar, u32 cta) {
    asm volatile(
        "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(map_shared(bar, cta))
        : "memory");
}

// Whether the phase of parity `parity` has completed, with acquire; it may suspend the thread for
// a while first. A fresh barrier is in a phase of parity 0, and the one before it (parity 1)
// counts as completed. PTX ISA, "mbarrier.test_wait / mbarrier.try_wait".
__device__ __forceinline__ bool try_wait(u32 bar, u32 parity) {
    u32 done;
    asm volatile(
        "{\n\t"
        ".reg .pred done;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, done;\n\t"
        "}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
    return done != 0;
}

// try_wait that also acquires what other CTAs of the cluster released with arrive_remote.
// PTX ISA, "mbarrier.test_wait / mbarrier.try_wait", .acquire.cluster.
__device__ __forceinline__ bool try_wait_cluster(u32 bar, u32 parity) {
    u32 done;
    asm volatile(
        "{\n\t"
        ".reg .pred done;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, done;\n\t"
        "}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
    return done != 0;
}

// Waits until the phase of parity `parity` has completed.
__device__ __forceinline__ void wait(u32 bar, u32 parity) {
    while (!try_wait(bar, parity)) {
    }
}

// Waits until the phase of parity `parity` has completed, with acquire from the whole cluster.
__device__ __forceinline__ void wait_cluster(u32 bar, u32 parity) {
    while (!try_wait_cluster(bar, parity)) {
    }
}

}  // namespace fa3::tma
