// The tile arithmetic of the kernels, compiled for the host and counted row by row. Signed overflow
// and division by zero trap. Prints the case that fails, and what failed, and exits with 1.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// What the headers take of CUDA.
#define __device__
#define __forceinline__ inline
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline std::uintptr_t __cvta_generic_to_shared(const void*) { return 0; }
static inline std::uintptr_t __cvta_generic_to_global(const void*) { return 0; }

#include "pipeline/tiles.cuh"

using namespace fa3;
using std::int64_t;

struct Case {
    const char* failed;
    int tile_m, tile_n;
    ForwardParams p;
    u32 grid;
};
static Case current;

[[noreturn]] static void fail(int) {
    const ForwardParams& p = current.p;
    std::printf(
        "%s: tile %dx%d, sq %d, sk %d, pack %d, heads %d, group %d, window %d %d, batch_heads %d, "
        "m_tiles %d, tiles %d, section %d, paired %d, %s, grid %u\n",
        current.failed, current.tile_m, current.tile_n, p.sq, p.sk, p.pack, p.heads, p.group,
        p.window_left, p.window_right, p.batch_heads, p.m_tiles, p.tiles, p.section, p.paired,
        p.schedule ? "ragged" : "dense", current.grid);
    std::fflush(stdout);
    std::_Exit(1);
}

static void check(bool holds, const char* what) {
    if (holds) return;
    current.failed = what;
    fail(0);
}

static uint64_t state = 1;
static int draw(int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<uint64_t>(below));
}

// The keys that a query sees, by the definition of the window, in 64 bits.
struct Keys {
    int64_t begin, end;
};
static Keys visible_keys(const ForwardParams& p, const Tile& tile, int64_t query) {
    const int64_t at = query + tile.k_len - tile.q_len, unbounded = INT32_MAX, none = 0;
    const int64_t begin = p.window_left == unbounded ? 0 : at - p.window_left;
    const int64_t end = p.window_right == unbounded ? tile.k_len : at + p.window_right + 1;
    const Keys seen{std::max(begin, none), std::min(end, static_cast<int64_t>(tile.k_len))};
    return seen.begin < seen.end ? seen : Keys{0, 0};
}

// The key tiles of one tile of rows, as the consumer warpgroups walk over them.
template <int TileM, int TileN>
static void check_keys(const ForwardParams& p, const Tile& tile) {
    const KeyTiles all = key_tiles<TileM, TileN>(p, tile);
    check(0 <= all.begin && all.begin < all.end, "at least one key tile");
    check(all.end == all.begin + 1 || int64_t{all.end - 1} * TileN < tile.k_len,
          "no key tile beyond the last key");
    check((p.schedule == 0 && p.sk != 0) ||
              has_foreign_keys<TileN>(p, tile, all) == (int64_t{all.end} * TileN > tile.k_len),
          "keys of others are known");
    const u32 passed = passed_key_tiles<TileN, TileM / 64>(p, tile, all);
    for (i32 first = 0; first < TileM; first += 64) {
        const i32 above = passed >> first / 32 & 1, below = passed >> (first / 32 + 1) & 1;
        const KeyTiles own = {all.begin + below, all.end - above};
        check(own.begin < own.end, "at least one own key tile");
        const KeyTiles open = open_key_tiles<TileN>(p, tile, all, query_of(p, tile, first),
                                                    query_of(p, tile, first + 63));
        check(all.begin <= open.begin && open.end <= all.end && all.begin <= open.end,
              "open tiles are visited");
        for (i32 row = first; row < first + 64; ++row) {
            if (!is_row<TileM>(p, tile, row)) {
                check(!is_whole(p, tile, first) || p.schedule == 0,
                      "a whole store has no other rows");
                continue;
            }
            const i32 query = query_of(p, tile, row);
            const Keys keys = visible_keys(p, tile, query);
            if (keys.begin < keys.end) {
                check(int64_t{all.begin} * TileN <= keys.begin &&
                          keys.end <= int64_t{all.end} * TileN,
                      "every visible key is in a tile");
                check(int64_t{own.begin} * TileN <= keys.begin &&
                          keys.end <= int64_t{own.end} * TileN,
                      "every visible key is in an own tile");
            }
            if (open.begin < open.end) {
                check(keys.begin <= int64_t{open.begin} * TileN &&
                          int64_t{open.end} * TileN <= keys.end,
                      "open tiles need no mask");
            }
            // Where a tile is masked at one side only, the other side must not need it.
            const int64_t begin = key_begin(p, tile, query), end = max(key_end(p, tile, query), 0);
            const Keys shown = begin < end ? Keys{begin, end} : Keys{0, 0};
            check(shown.begin == keys.begin && shown.end == keys.end,
                  "masked tiles show the visible keys");
            if (keys.begin < keys.end) {
                check(int64_t{open.end} * TileN <= keys.end,
                      "tiles below open.end are not cut above");
                check(int64_t{open.begin} * TileN >= keys.begin,
                      "tiles from open.begin on are not cut below");
            }
        }
    }
}

// The tile with this index, checked.
template <int TileM, int TileN>
static Tile checked_tile(const ForwardParams& p, u32 index) {
    const Tile tile = tile_at<TileM>(p, index);
    check(tile.first_query >= 0 && tile.first_query < tile.q_len &&
              tile.first_query % tile_queries<TileM>(p) == 0,
          "first query");
    check(tile.head >= 0 && tile.head < p.heads, "head");
    for (i32 row = 0; row < TileM; ++row) {
        if (is_row<TileM>(p, tile, row)) {
            const i32 head = head_of(p, tile, row);
            check(head >= 0 && head < p.heads * p.pack, "query head");
            check(tile.head_k == head / p.group, "key head");
        }
    }
    check_keys<TileM, TileN>(p, tile);
    return tile;
}

static ForwardParams params(int sq, int sk, int heads, int batch, int section, int queries) {
    ForwardParams p{};
    p.sq = sq;
    p.sk = sk;
    p.heads = heads;
    p.pack = p.group = 1;
    p.pack_reciprocal = 1 << 16;
    p.window_left = p.window_right = INT32_MAX;
    p.batch_heads = heads * batch;
    p.m_tiles = static_cast<int>((static_cast<int64_t>(sq) + queries - 1) / queries);
    p.tiles = p.m_tiles * p.batch_heads;
    p.section = section;
    return p;
}

static void draw_window(ForwardParams& p, int longest) {
    const auto side = [&] { return draw(2) ? INT32_MAX : draw(3) ? draw(longest) : draw(3); };
    p.window_left = side();
    p.window_right = draw(2) ? 0 : side();
}

// The list of a ragged batch, as the schedule kernel writes it, in any order of the sequences.
struct List {
    std::vector<Chunk> chunks;
    explicit List(const std::vector<Chunk>& sequences, int queries) : chunks(1, Chunk{}) {
        i32 first = 0;
        for (Chunk sequence : sequences) {
            sequence.first = first;
            sequence.m_tiles = (sequence.q_len + queries - 1) / queries;
            for (i32 m = 0; m < sequence.m_tiles; ++m) chunks.push_back(sequence);
            first += sequence.m_tiles;
        }
        chunks[0].q_start = first;
    }
    u64 address() const { return reinterpret_cast<u64>(chunks.data()); }
};

// Of two tiles that are a pair one is as far from its head's first as the other is from its last,
// but where a section has an odd number of tiles.
template <int TileM>
static void check_pair(const ForwardParams& p, u32 number, const Tile& tile, Tile& first) {
    if (number % 2 == 0) first = tile;
    const bool even = p.m_tiles % 2 == 0 || (p.section % 2 == 0 && p.batch_heads % 2 == 0);
    if (!p.paired || number % 2 == 0 || !even) return;
    const i32 rows = first.first_query + tile.first_query;
    check(rows == (p.m_tiles - 1) * tile_queries<TileM>(p), "a pair is as long as any other");
}

// Every row of every head is in one tile of one CTA. `sequence_of` says which sequence a tile is
// of.
template <int TileM, int TileN, typename SequenceOf>
static void check_visits(const ForwardParams& p, u32 grid, const std::vector<Chunk>& sequences,
                         const SequenceOf& sequence_of) {
    current = {"arithmetic", TileM, TileN, p, grid};
    const int heads_q = p.heads * p.pack;
    std::vector<std::vector<int>> visits;
    for (const Chunk& sequence : sequences) visits.emplace_back(sequence.q_len * heads_q);
    for (u32 cta = 0; cta < grid; ++cta) {
        Tile first{};
        for (TileWalk walk(p, cta, grid); walk.number < tile_count(p); walk.number = walk.next()) {
            const Tile tile = checked_tile<TileM, TileN>(p, walk.number);
            check_pair<TileM>(p, walk.number, tile, first);
            const size_t n = sequence_of(tile);
            check(n < sequences.size() && sequences[n].q_len == tile.q_len &&
                      sequences[n].k_start == tile.k_start && sequences[n].k_len == tile.k_len,
                  "sequence");
            for (i32 row = 0; row < TileM; ++row) {
                if (!is_row<TileM>(p, tile, row)) continue;
                ++visits[n][query_of(p, tile, row) * heads_q + head_of(p, tile, row)];
            }
        }
    }
    for (const auto& rows : visits) {
        for (const int count : rows) check(count == 1, "every row once");
    }
}

// Random small problems, as the CTAs of random grids take them.
template <int TileM, int TileN>
static void check_small() {
    for (int n = 0; n < 300; ++n) {
        const int group = 1 + draw(5), batch = 1 + draw(3), heads_k = 1 + draw(3);
        const bool packed = draw(2);
        const int pack = packed ? group : 1, heads = packed ? heads_k : heads_k * group;
        const int queries = TileM / pack;
        const int sq = draw(2) ? 1 + draw(300) : 1 + queries * draw(4);
        const int sk = draw(2) ? draw(700) : max(0, TileN * draw(5) + draw(3) - 1);
        ForwardParams p = params(sq, sk, heads, batch, 1 + draw(batch * heads), queries);
        p.pack = pack;
        p.pack_reciprocal = ((1 << 16) + pack - 1) / pack;
        p.group = group;
        draw_window(p, 400);
        std::vector<Chunk> sequences;
        if (n % 2) {
            for (int b = 0; b < batch; ++b) sequences.push_back({0, sq, 0, sk, b, 0, 0, 0});
            p.paired = draw(2);
            check_visits<TileM, TileN>(p, 1 + draw(p.tiles + 3), sequences,
                                       [](const Tile& tile) { return size_t(tile.batch); });
            continue;
        }
        int q_start = 0, k_start = 0;
        for (int s = draw(6); s >= 0; --s) {
            const int q_len = draw(3) ? draw(200) : 0, k_len = draw(3) ? draw(500) : 0;
            sequences.push_back({q_start, q_len, k_start, k_len, 0, 0, 0, 1 + draw(heads)});
            q_start += q_len;
            k_start += k_len;
        }
        const List list(sequences, queries);
        p.sq = q_start;
        p.sk = k_start;
        p.schedule = list.address();
        check_visits<TileM, TileN>(p, 1 + draw(50), sequences, [&](const Tile& tile) {
            size_t found = 0;
            while (sequences[found].q_start != tile.q_start || sequences[found].q_len == 0) ++found;
            return found;
        });
    }
}

// The first, the last and some other tiles of problems up to the largest that planning lets
// through.
template <int TileM, int TileN>
static void check_large(int longest) {
    const int lengths[] = {1, 64, 1 << 20, 1 << 30, longest - 1, longest};
    for (const int sq : lengths) {
        for (const int sk : lengths) {
            for (int n = 0; n < 8; ++n) {
                const int most_heads = INT32_MAX / (sq / TileM + 1);
                const int heads = n < 4 ? most_heads : 1 + draw(most_heads);
                ForwardParams p = params(sq, sk, heads, 1, n % 4 < 2 ? 1 : 1 + draw(heads), TileM);
                if (n % 2) draw_window(p, longest);
                const u32 last = tile_count(p) - 1;
                p.paired = draw(2);
                const u32 grid = draw(2) ? 1 + draw(1000) : tile_count(p) / (1 + p.paired);
                current = {"arithmetic", TileM, TileN, p, grid};
                TileWalk walk(p, 0, grid);
                for (walk.number = last - last % 2; walk.number <= last;
                     walk.number = walk.next()) {
                    check(walk.next() > walk.number, "the number past the last ends the walk");
                }
                checked_tile<TileM, TileN>(p, 0);
                checked_tile<TileM, TileN>(p, last);
                for (int m = 0; m < 20; ++m) checked_tile<TileM, TileN>(p, draw(p.tiles));
            }
        }
    }
}

template <int TileM, int TileN>
static void check_all(int longest) {
    check_small<TileM, TileN>();
    check_large<TileM, TileN>(longest);
}

int main(int, char** arguments) {
    std::signal(SIGILL, fail);
    std::signal(SIGFPE, fail);
    const int longest = std::atoi(arguments[1]);
    check_all<128, 128>(longest);
    check_all<192, 128>(longest);
    check_all<128, 96>(longest);
    check_all<128, 80>(longest);
}
