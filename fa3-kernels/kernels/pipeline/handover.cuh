// The tile at hand, worked out by the producer alone and handed to the consumers in shared memory:
// they cannot disagree, and its divisions run under the products of the tile before.
//
// There are two slots for each stage of Q, for alternate phases. One is written when the stage has
// been acquired, before the arrival at its full barrier, and read from the wait for that barrier on
// until the consumers have met at the tile's end. The producer comes back to it when it has
// acquired the stage twice: the second time shows that the consumers have met.
#pragma once
#include <fa3/tma/shared.cuh>

#include "tiles.cuh"

namespace fa3 {

using tma::load_shared;
using tma::store_shared;

// A tile and the key tiles that it visits.
struct Work {
    Tile tile;
    KeyTiles keys;
    bool more;   // whether another tile comes after it
    u32 passed;  // of passed_key_tiles()

    static constexpr u32 bytes = 48;

    // Whether a warpgroup passes by the last key tile, and the first.
    __device__ __forceinline__ i32 passes_last(i32 warpgroup) const {
        return passed >> 2 * warpgroup & 1;
    }
    __device__ __forceinline__ i32 passes_first(i32 warpgroup) const {
        return passed >> (2 * warpgroup + 1) & 1;
    }
};

__device__ __forceinline__ void hand_over(u32 slot, const Work& work) {
    const Tile& t = work.tile;
    const auto word = [](i32 value) { return static_cast<u32>(value); };
    store_shared(slot, {word(t.first_query), word(t.head), word(t.head_k), word(t.batch)});
    store_shared(slot + 16, {word(t.q_start), word(t.q_len), word(t.k_start), word(t.k_len)});
    store_shared(slot + 32, {word(work.keys.begin), word(work.keys.end), work.more, work.passed});
}

__device__ __forceinline__ Work take_over(u32 slot) {
    const uint4 a = load_shared(slot), b = load_shared(slot + 16), c = load_shared(slot + 32);
    const auto number = [](u32 word) { return static_cast<i32>(word); };
    return {{number(a.x), number(a.y), number(a.z), number(a.w), number(b.x), number(b.y),
             number(b.z), number(b.w)},
            {number(c.x), number(c.y)},
            c.z != 0,
            c.w};
}

}  // namespace fa3
