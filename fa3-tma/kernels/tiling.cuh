// A tile's coordinates, and the TMA instruction of each rank.
#pragma once

#include "fa3/tma/tma.cuh"
#include "params.cuh"

namespace fa3::tma {

template <int Rank>
struct Coordinates {
    i32 at[Rank];
};

// Tile `index`, counted with the contiguous dimension fastest. Every role takes its tiles from
// here.
template <int Rank>
__device__ __forceinline__ Coordinates<Rank> coordinates(const Tiling& tiling, u32 index) {
    Coordinates<Rank> result;
#pragma unroll
    for (int d = 0; d < Rank; d++) {
        const u32 tile = index % tiling.tiles[d];
        index /= tiling.tiles[d];
        result.at[d] = tiling.first[d] + static_cast<i32>(tile) * tiling.extent[d];
    }
    return result;
}

template <int Rank>
__device__ __forceinline__ void load(u32 dst, const TensorMap* map, u32 bar, Coordinates<Rank> c) {
    if constexpr (Rank == 1) load_tile(dst, map, bar, c.at[0]);
    if constexpr (Rank == 2) load_tile(dst, map, bar, c.at[0], c.at[1]);
    if constexpr (Rank == 3) load_tile(dst, map, bar, c.at[0], c.at[1], c.at[2]);
    if constexpr (Rank == 4) load_tile(dst, map, bar, c.at[0], c.at[1], c.at[2], c.at[3]);
    if constexpr (Rank == 5) load_tile(dst, map, bar, c.at[0], c.at[1], c.at[2], c.at[3], c.at[4]);
}

template <int Rank>
__device__ __forceinline__ void load_multicast(u32 dst, const TensorMap* map, u32 bar, u16 ctas,
                                               Coordinates<Rank> c) {
    if constexpr (Rank == 1) load_tile_multicast(dst, map, bar, ctas, c.at[0]);
    if constexpr (Rank == 2) load_tile_multicast(dst, map, bar, ctas, c.at[0], c.at[1]);
    if constexpr (Rank == 3) load_tile_multicast(dst, map, bar, ctas, c.at[0], c.at[1], c.at[2]);
    if constexpr (Rank == 4) {
        load_tile_multicast(dst, map, bar, ctas, c.at[0], c.at[1], c.at[2], c.at[3]);
    }
    if constexpr (Rank == 5) {
        load_tile_multicast(dst, map, bar, ctas, c.at[0], c.at[1], c.at[2], c.at[3], c.at[4]);
    }
}

template <int Rank>
__device__ __forceinline__ void store(const TensorMap* map, u32 src, Coordinates<Rank> c) {
    if constexpr (Rank == 1) store_tile(map, src, c.at[0]);
    if constexpr (Rank == 2) store_tile(map, src, c.at[0], c.at[1]);
    if constexpr (Rank == 3) store_tile(map, src, c.at[0], c.at[1], c.at[2]);
    if constexpr (Rank == 4) store_tile(map, src, c.at[0], c.at[1], c.at[2], c.at[3]);
    if constexpr (Rank == 5) store_tile(map, src, c.at[0], c.at[1], c.at[2], c.at[3], c.at[4]);
}

template <int Rank>
__device__ __forceinline__ void reduce_add(const TensorMap* map, u32 src, Coordinates<Rank> c) {
    if constexpr (Rank == 1) reduce_add_tile(map, src, c.at[0]);
    if constexpr (Rank == 2) reduce_add_tile(map, src, c.at[0], c.at[1]);
    if constexpr (Rank == 3) reduce_add_tile(map, src, c.at[0], c.at[1], c.at[2]);
    if constexpr (Rank == 4) reduce_add_tile(map, src, c.at[0], c.at[1], c.at[2], c.at[3]);
    if constexpr (Rank == 5) {
        reduce_add_tile(map, src, c.at[0], c.at[1], c.at[2], c.at[3], c.at[4]);
    }
}

}  // namespace fa3::tma
