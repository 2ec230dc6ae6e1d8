// Ping-pong: consumer warpgroups take turns at issuing their products, so that one's exponentials
// run under another's matrix multiplications.
#pragma once
#include <fa3/tma/named.cuh>

namespace fa3 {

// Warpgroup w waits on named barrier FirstBarrier + w, for its own 128 threads and those of the
// warpgroup before it.
template <int Consumers, int FirstBarrier>
struct Turns {
    tma::u32 self;

    // The first turn is warpgroup 0's: the last one passes it, as it will in every later round.
    __device__ __forceinline__ explicit Turns(tma::u32 warpgroup) : self(warpgroup) {
        if (self == Consumers - 1) pass();
    }

    __device__ __forceinline__ void take() const { tma::named_sync(FirstBarrier + self, 256); }

    __device__ __forceinline__ void pass() const {
        tma::named_arrive(FirstBarrier + (self + 1) % Consumers, 256);
    }

    // Takes the turn that the last round left over; a barrier must not be half full at exit.
    __device__ __forceinline__ void finish() const {
        if (self == 0) take();
    }
};

}  // namespace fa3
