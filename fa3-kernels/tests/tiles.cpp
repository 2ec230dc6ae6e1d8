// The tile arithmetic of the kernels, compiled for the host and counted row by row. Signed overflow
// traps. Prints the case that fails, and what failed, and exits with 1.
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
        "%s: tile %dx%d, sq %d, sk %d, heads_q %d, group %d, batch_heads %d, m_tiles %d, "
        "tiles %d, section %d, causal %d, grid %u\n",
        current.failed, current.tile_m, current.tile_n, p.sq, p.sk, p.heads_q, p.group,
        p.batch_heads, p.m_tiles, p.tiles, p.section, p.causal, current.grid);
    std::fflush(stdout);
    std::_Exit(1);
}

static void check(bool holds, const char* what) {
    if (holds) return;
    current.failed = what;
    fail(0);
}

// How many keys a row sees, by the definition of the causal mask, in 64 bits.
static int64_t visible_keys(const ForwardParams& p, int64_t row) {
    const int64_t limit = p.causal ? row + 1 + p.sk - p.sq : p.sk;
    return limit < 0 ? 0 : limit > p.sk ? p.sk : limit;
}

// The key tiles of one tile of rows, as the consumer warpgroups walk over them.
template <int TileM, int TileN>
static void check_keys(const ForwardParams& p, const Tile& tile) {
    const int64_t tiles = key_tiles<TileM, TileN>(p, tile);
    check(tiles >= 1, "at least one key tile");
    check(tiles == 1 || (tiles - 1) * TileN < p.sk, "no key tile beyond the last key");
    for (i32 first_row = tile.first_row; first_row < tile.first_row + TileM; first_row += 64) {
        const int64_t open = open_key_tiles<TileN>(p, first_row);
        for (i32 row = first_row; row < first_row + 64; ++row) {
            const i32 limit = key_limit(p, row);
            if (row >= p.sq) continue;  // The store clips it.
            const int64_t keys = visible_keys(p, row);
            check(keys <= tiles * TileN, "every visible key is in a tile");
            check(open * TileN <= keys, "open tiles need no mask");
            check(max(limit, 0) == keys, "masked tiles show the visible keys");
        }
    }
}

// The tile with this index, checked.
template <int TileM, int TileN>
static Tile checked_tile(const ForwardParams& p, u32 index) {
    const Tile tile = tile_at<TileM>(p, index);
    check(tile.first_row >= 0 && tile.first_row < p.sq && tile.first_row % TileM == 0, "first row");
    check(tile.batch_head >= 0 && tile.batch_head < p.batch_heads, "head of the batch");
    check(tile.batch == tile.batch_head / p.heads_q, "batch");
    check(tile.head_q == tile.batch_head % p.heads_q, "query head");
    check(tile.head_k == tile.head_q / p.group, "key head");
    check_keys<TileM, TileN>(p, tile);
    return tile;
}

static uint64_t state = 1;
static int draw(int below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<uint64_t>(below));
}

static ForwardParams params(int sq, int sk, int batch_heads, int section, int tile_m) {
    ForwardParams p{};
    p.sq = sq;
    p.sk = sk;
    p.heads_q = p.batch_heads = batch_heads;
    p.group = 1;
    p.m_tiles = static_cast<int>((static_cast<int64_t>(sq) + tile_m - 1) / tile_m);
    p.tiles = p.m_tiles * batch_heads;
    p.section = section;
    return p;
}

// Every tile of random small problems, as the CTAs of random grids take them.
template <int TileM, int TileN>
static void check_small() {
    for (int n = 0; n < 1000; ++n) {
        const int group = 1 + draw(3), batch = 1 + draw(3), heads_q = group * (1 + draw(3));
        const int sq = draw(2) ? 1 + draw(500) : 1 + TileM * draw(4);
        const int sk = draw(2) ? draw(700) : max(0, TileN * draw(5) + draw(3) - 1);
        ForwardParams p = params(sq, sk, batch * heads_q, 1 + draw(batch * heads_q), TileM);
        p.heads_q = heads_q;
        p.group = group;
        p.causal = draw(2);
        const u32 grid = 1 + draw(p.tiles + 3);
        current = {"overflow", TileM, TileN, p, grid};
        std::vector<int> visits(p.tiles);
        for (u32 cta = 0; cta < grid; ++cta) {
            for (u32 index = cta; index < tile_count(p); index += grid) {
                const Tile tile = checked_tile<TileM, TileN>(p, index);
                ++visits[tile.batch_head * p.m_tiles + tile.first_row / TileM];
            }
        }
        for (const int count : visits) check(count == 1, "every tile once");
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
                ForwardParams p = params(sq, sk, heads, n % 4 < 2 ? 1 : 1 + draw(heads), TileM);
                p.causal = n % 2;
                const u32 last = tile_count(p) - 1;
                const u32 grid = draw(2) ? 1 + draw(1000) : tile_count(p);
                current = {"overflow", TileM, TileN, p, grid};
                check(last + grid > last, "the index past the last ends the loop");
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
    const int longest = std::atoi(arguments[1]);
    check_all<128, 128>(longest);
    check_all<192, 128>(longest);
    check_all<128, 80>(longest);
}
