// The circular ring of shared-memory stages between a producer that fills them (by TMA) and
// consumers that read them. Each stage has two mbarriers: `full` completes when the producer has
// arrived and all expected bytes have landed, `empty` when every consumer has let go of it.
//
//     producer                                   each consumer
//     ring.acquire(at);                          ring.wait_full(at);
//     ring.expect(at, bytes);                    … read stage at.stage …
//     load_tile(…, ring.full_barrier(at), …);    if (elected) ring.release(at);
//     at.advance();                              at.advance();
#pragma once

#include "fa3/tma/mbarrier.cuh"
#include "fa3/tma/types.cuh"

namespace fa3::tma {

template <int Stages>
struct Ring {
    static_assert(Stages >= 1);

    // What the barriers take of shared memory, 8-byte aligned: full[Stages], then empty[Stages].
    static constexpr u32 bytes = 16 * Stages;

    u32 full;
    u32 empty;

    // Where one role stands: the stage of its next tile, and the parity of that stage's current
    // phase. Every role starts at {0, 0} and advances once a tile.
    struct Cursor {
        u32 stage = 0;
        u32 phase = 0;

        __device__ __forceinline__ void advance() {
            if (++stage == Stages) {
                stage = 0;
                phase ^= 1;
            }
        }
    };

    // The ring whose barriers start at the shared address `barriers`.
    __device__ __forceinline__ explicit Ring(u32 barriers)
        : full(barriers), empty(barriers + 8 * Stages) {}

    // Makes the barriers, for `consumers` calls of release a stage. One thread calls it, then
    // barrier_init_fence(), and the block (with multicast, the cluster) meets before any use.
    __device__ __forceinline__ void init(u32 consumers) const {
#pragma unroll
        for (u32 stage = 0; stage < Stages; stage++) {
            barrier_init(full + 8 * stage, 1);
            barrier_init(empty + 8 * stage, consumers);
        }
    }

    __device__ __forceinline__ u32 full_barrier(Cursor at) const { return full + 8 * at.stage; }

    __device__ __forceinline__ u32 empty_barrier(Cursor at) const { return empty + 8 * at.stage; }

    // Producer: waits until the stage may be overwritten. The phase before the first counts as
    // completed, so the first turn of the ring doesn't wait.
    __device__ __forceinline__ void acquire(Cursor at) const {
        wait(empty_barrier(at), at.phase ^ 1);
    }

    // Producer, once a tile: its arrival, and the number of bytes that are to land in the stage.
    __device__ __forceinline__ void expect(Cursor at, u32 bytes) const {
        arrive_expect(full_barrier(at), bytes);
    }

    // Consumer: waits until the tile is there.
    __device__ __forceinline__ void wait_full(Cursor at) const { wait(full_barrier(at), at.phase); }

    // Consumer: lets go of the stage. One elected thread a consumer calls it, when all of the
    // consumer's threads have finished reading.
    __device__ __forceinline__ void release(Cursor at) const { arrive(empty_barrier(at)); }

    // release of the same stage in CTA `cta` of the cluster, whose producer waits for it because
    // its loads land here too.
    __device__ __forceinline__ void release_remote(Cursor at, u32 cta) const {
        arrive_remote_after_read(empty_barrier(at), cta);
    }
};

}  // namespace fa3::tma
