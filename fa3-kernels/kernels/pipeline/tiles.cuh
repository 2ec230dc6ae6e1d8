// Which tiles a CTA works on and which keys each of them visits. Every role of a kernel asks here,
// so that their loops cannot disagree.
#pragma once
#include "../params.cuh"

namespace fa3 {

using tma::i32;
using tma::u32;

__device__ __forceinline__ i32 ceil_div(i32 a, i32 b) { return (a + b - 1) / b; }

// One tile: TileM rows of one query head.
struct Tile {
    i32 first_row;
    i32 head_q;
    i32 head_k;
    i32 batch;
    i32 batch_head;
};

// How many tiles the launch has. CTA i works on tiles i, i + grid, and so on while they are fewer:
// unsigned, for the last tile's index and the grid may add up to more than 2³¹.
__device__ __forceinline__ u32 tile_count(const ForwardParams& p) {
    return static_cast<u32>(p.tiles);
}

// Tile `number` of the launch. Heads are taken in sections; in a section the last rows come first,
// which under a causal mask are the longest, and the section's heads take turns.
template <int TileM>
__device__ __forceinline__ Tile tile_at(const ForwardParams& p, u32 number) {
    const i32 index = static_cast<i32>(number);
    const i32 section = index / (p.section * p.m_tiles);
    const i32 first_head = section * p.section;
    const i32 heads = min(p.section, p.batch_heads - first_head);
    const i32 within = index - first_head * p.m_tiles;
    const i32 batch_head = first_head + within % heads;
    Tile tile;
    tile.first_row = (p.m_tiles - 1 - within / heads) * TileM;
    tile.batch_head = batch_head;
    tile.batch = batch_head / p.heads_q;
    tile.head_q = batch_head % p.heads_q;
    tile.head_k = tile.head_q / p.group;
    return tile;
}

// One past the last key that query `row` sees; zero or less where it sees none. The lengths are
// subtracted first, for their sum may not fit.
__device__ __forceinline__ i32 key_limit(const ForwardParams& p, i32 row) {
    return p.causal ? min(p.sk, row + 1 + (p.sk - p.sq)) : p.sk;
}

// How many key tiles a tile of rows visits, from the first on. At least one, wholly masked where
// no row sees any key: every path through the pipeline then has the same shape.
template <int TileM, int TileN>
__device__ __forceinline__ i32 key_tiles(const ForwardParams& p, const Tile& tile) {
    const i32 last_row = min(tile.first_row + TileM, p.sq) - 1;
    return max(1, ceil_div(key_limit(p, last_row), TileN));
}

// How many of them need no mask for the rows from `first_row` on.
template <int TileN>
__device__ __forceinline__ i32 open_key_tiles(const ForwardParams& p, i32 first_row) {
    return max(0, key_limit(p, first_row)) / TileN;
}

}  // namespace fa3
