// Which tiles a CTA works on, which rows they are, and which keys each row and each tile visits.
// Every role of a kernel asks here, so that their loops cannot disagree.
#pragma once
#include "../params.cuh"
#include "schedule.cuh"

namespace fa3 {

__device__ __forceinline__ i32 ceil_div(i32 a, i32 b) { return (a + b - 1) / b; }

// One tile: TileM rows of one sequence and one head of tiles. That is a query head, or the
// `p.pack` query heads of one K/V head, whose rows then lie side by side: row r is query
// r / pack of head r % pack.
struct Tile {
    i32 first_query;  // counted within the sequence, as keys are
    i32 head;
    i32 head_k;
    i32 batch;
    i32 q_start;
    i32 q_len;
    i32 k_start;
    i32 k_len;
};

// A tile's row, or their number, over `p.pack`.
__device__ __forceinline__ i32 over_pack(const ForwardParams& p, i32 rows) {
    return rows * p.pack_reciprocal >> 16;
}

template <int TileM>
__device__ __forceinline__ i32 tile_queries(const ForwardParams& p) {
    return over_pack(p, TileM);
}

// How many tiles the launch has; those of a cluster, which lie side by side, count as one.
__device__ __forceinline__ u32 tile_count(const ForwardParams& p) {
    return p.schedule == 0 ? static_cast<u32>(p.tiles)
                           : static_cast<u32>(chunk_count(p.schedule)) * p.heads;
}

// The tiles of a CTA, or cluster: one, or two neighbours where they are paired, in each stride of
// the grid. Unsigned, for the last tile's number and the grid may add up to more than 2³¹.
struct TileWalk {
    u32 number;
    u32 after_even;
    u32 after_odd;

    __device__ __forceinline__ TileWalk(const ForwardParams& p, u32 cta, u32 grid)
        : number(p.paired ? 2 * cta : cta),
          after_even(p.paired ? 1 : grid),
          after_odd(p.paired ? 2 * grid - 1 : grid) {}

    __device__ __forceinline__ u32 next() const {
        return number + (number % 2 == 0 ? after_even : after_odd);
    }
};

// Tile `index` of those of `sequence`, of which there are `heads` heads. Heads are taken in
// sections; in a section the last rows come first, which under a causal mask are the longest, and
// the section's heads take turns. Where tiles are paired, each of them is followed by the first of
// its head's rows that is still left, and a middle row by the next head's.
template <int TileM, int Cluster = 1>
__device__ __forceinline__ Tile tile_of(const ForwardParams& p, const Chunk& sequence, i32 heads,
                                        i32 index) {
    const i32 section = index / (sequence.section * sequence.m_tiles);
    const i32 first_head = section * sequence.section;
    const i32 together = min(sequence.section, heads - first_head);
    const i32 within = index - first_head * sequence.m_tiles;
    const i32 pairs = p.paired ? sequence.m_tiles / 2 * together : 0;
    const i32 turn = within < 2 * pairs ? within / 2 : within - pairs;
    const i32 head = first_head + turn % together;
    const bool short_one = within < 2 * pairs && within % 2 != 0;
    const i32 from_end = turn / together;
    Tile tile;
    tile.first_query =
        (short_one ? from_end : sequence.m_tiles - 1 - from_end) * Cluster * tile_queries<TileM>(p);
    tile.head = head % p.heads;
    tile.head_k = tile.head * p.pack / p.group;
    tile.batch = sequence.batch + head / p.heads;
    tile.q_start = sequence.q_start;
    tile.q_len = sequence.q_len;
    tile.k_start = sequence.k_start;
    tile.k_len = sequence.k_len;
    return tile;
}

// Tile `number` of the launch, the first one of a cluster's. A dense batch is scheduled as if it
// were one sequence with the heads of all.
template <int TileM, int Cluster = 1>
__device__ __forceinline__ Tile tile_at(const ForwardParams& p, u32 number) {
    const i32 index = static_cast<i32>(number);
    if (p.schedule == 0) {
        return tile_of<TileM, Cluster>(p, {0, p.sq, 0, p.sk, 0, 0, p.m_tiles, p.section},
                                       p.batch_heads, index);
    }
    const Chunk sequence = chunk_at(p.schedule, index / p.heads);
    return tile_of<TileM, Cluster>(p, sequence, p.heads, index - sequence.first * p.heads);
}

// The query of row `row` of a tile, and its head.
__device__ __forceinline__ i32 query_of(const ForwardParams& p, const Tile& tile, i32 row) {
    return tile.first_query + over_pack(p, row);
}
__device__ __forceinline__ i32 head_of(const ForwardParams& p, const Tile& tile, i32 row) {
    return tile.head * p.pack + (row - over_pack(p, row) * p.pack);
}

// Whether row `row` of a tile is a row of the output: the last tile of a sequence has more, and
// so has a tile whose rows the packed heads do not divide.
template <int TileM>
__device__ __forceinline__ bool is_row(const ForwardParams& p, const Tile& tile, i32 row) {
    return query_of(p, tile, row) < tile.q_len && row < tile_queries<TileM>(p) * p.pack;
}

// Whether the 64 rows from `row` on of a tile may leave by TMA: they are queries of one head, and
// beyond them the tensor ends, or the sequence does not.
__device__ __forceinline__ bool is_whole(const ForwardParams& p, const Tile& tile, i32 row) {
    return p.pack == 1 && (p.schedule == 0 || tile.first_query + row + 64 <= tile.q_len);
}

// Where query `query` stands among the keys. The lengths are subtracted first, for a sum may not
// fit.
__device__ __forceinline__ i32 position(const Tile& tile, i32 query) {
    return query + (tile.k_len - tile.q_len);
}

// The keys that a query sees are those from key_begin to before key_end; none where that is zero
// or less.
__device__ __forceinline__ i32 key_begin(const ForwardParams& p, const Tile& tile, i32 query) {
    const i32 at = position(tile, query);
    return at <= p.window_left ? 0 : at - p.window_left;
}
__device__ __forceinline__ i32 key_end(const ForwardParams& p, const Tile& tile, i32 query) {
    return p.window_right < tile.q_len - 1 - query ? position(tile, query) + 1 + p.window_right
                                                   : tile.k_len;
}

// A run of key tiles. They are visited from the last down to the first.
struct KeyTiles {
    i32 begin;
    i32 end;
};

// The key tiles that a cluster visits, whose first tile is `tile`. At least one, wholly masked
// where no row sees any key: every path through the pipeline then has the same shape.
template <int TileM, int TileN, int Cluster = 1>
__device__ __forceinline__ KeyTiles key_tiles(const ForwardParams& p, const Tile& tile) {
    const i32 queries = Cluster * tile_queries<TileM>(p);
    const i32 last_query = min(tile.first_query + queries, tile.q_len) - 1;
    const i32 begin = key_begin(p, tile, tile.first_query) / TileN;
    return {begin, max(begin + 1, ceil_div(key_end(p, tile, last_query), TileN))};
}

// Those of them of which the queries from `first` to `last` see any key, at least one; and all but
// one at either end, which is as far as a warpgroup passes key tiles by.
template <int TileN>
__device__ __forceinline__ KeyTiles own_key_tiles(const ForwardParams& p, const Tile& tile,
                                                  KeyTiles all, i32 first, i32 last) {
    const i32 seen = ceil_div(key_end(p, tile, last), TileN);
    const i32 end = min(all.end, max(max(all.begin + 1, all.end - 1), seen));
    const i32 begin = min(key_begin(p, tile, first) / TileN, all.begin + 1);
    return {max(all.begin, min(begin, end - 1)), end};
}

// Whether each warpgroup passes by the last key tile, and the first, in two bits of its own.
template <int TileN, int Warpgroups>
__device__ __forceinline__ u32 passed_key_tiles(const ForwardParams& p, const Tile& tile,
                                                KeyTiles all) {
    u32 passed = 0;
    for (i32 warpgroup = 0; warpgroup < Warpgroups; ++warpgroup) {
        const KeyTiles own = own_key_tiles<TileN>(p, tile, all, query_of(p, tile, 64 * warpgroup),
                                                  query_of(p, tile, 64 * warpgroup + 63));
        passed |= ((all.end - own.end) | (own.begin - all.begin) << 1) << 2 * warpgroup;
    }
    return passed;
}

// Those of them whose every key all of the queries from `first` to `last` see: below, the window's
// left edge crosses them, above, its right edge or the sequence's end.
template <int TileN>
__device__ __forceinline__ KeyTiles open_key_tiles(const ForwardParams& p, const Tile& tile,
                                                   KeyTiles all, i32 first, i32 last) {
    const i32 end = min(all.end, max(all.begin, key_end(p, tile, first) / TileN));
    return {max(all.begin, ceil_div(key_begin(p, tile, last), TileN)), end};
}

// Whether the last of these tiles reaches beyond the sequence's keys, into memory that may hold
// anything: where sequences are all of full length the tensor ends there, and TMA fills with zeros.
// For a tensor without keys, which no map describes, another one stands in.
template <int TileN>
__device__ __forceinline__ bool has_foreign_keys(const ForwardParams& p, const Tile& tile,
                                                 KeyTiles all) {
    return (p.schedule != 0 || p.sk == 0) && tile.k_len < all.end * TileN;
}

}  // namespace fa3
