// O = softmax(scale·Q·Kᵀ, masked)·V and its log-sum-exp, on Hopper.
//
// One producer warpgroup feeds K and V through two rings of shared-memory stages by TMA; each
// consumer warpgroup owns 64 rows of Q and walks over the key tiles from the last it sees down to
// the first, the next tile's scores in flight while it takes this tile's exponentials
// (FlashAttention-3, sections 3.1 and 3.2). One kernel a row of `table.rs`.
#include <fa3/tma/cluster.cuh>
#include <fa3/tma/elect.cuh>
#include <fa3/tma/fence.cuh>
#include <fa3/tma/load.cuh>
#include <fa3/tma/multicast.cuh>
#include <fa3/tma/registers.cuh>

#include "../pipeline/clear.cuh"
#include "../pipeline/edit.cuh"
#include "../pipeline/epilogue.cuh"
#include "../pipeline/softmax.cuh"
#include "../pipeline/tiles.cuh"
#include "../pipeline/turns.cuh"
#include "layout.cuh"

namespace fa3 {

struct Maps {
    const tma::TensorMap& q;
    const tma::TensorMap& k;
    const tma::TensorMap& v;
    const tma::TensorMap& o;
};

// A cluster works on its tiles as one.
__device__ __forceinline__ TileWalk own_walk(const ForwardParams& p) {
    return TileWalk(p, blockIdx.x / kCluster, gridDim.x / kCluster);
}

// The producer: one thread keeps the rings full, in the order in which the consumers drain them.
__device__ __forceinline__ void produce(const Maps& maps, const ForwardParams& p, u32 shared,
                                        const Rings& rings) {
    QueryRing::Cursor query_at;
    KeyRing::Cursor key_at, value_at;
    const u32 query_rows = tile_queries<kTileM>(p) * p.pack;
    const u32 count = tile_count(p);
    for (TileWalk walk = own_walk(p); walk.number < count; walk.number = walk.next()) {
        Tile tile = tile_at<kTileM, kCluster>(p, walk.number);
        const KeyTiles keys = key_tiles<kTileM, kTileN, kCluster>(p, tile);
        if (kCluster > 1) tile.first_query += tma::cluster_rank() * tile_queries<kTileM>(p);
        const auto load_queries = [&] {
            rings.queries.acquire(query_at);
            const u32 slot = work_slot(shared, query_at);
            hand_over(slot, {tile, keys, walk.next() < count,
                             passed_key_tiles<kTileN, kConsumers>(p, tile, keys)});
            rings.queries.expect(query_at, query_rows * kHeadDim * 2);
            const u32 base = query_stage(shared, query_at);
#pragma unroll
            for (i32 panel = 0; panel < KeyPanels::count; ++panel) {
                tma::load_tile(base + panel * kTileM * KeyPanels::row_bytes, &maps.q,
                               rings.queries.full_barrier(query_at), panel * KeyPanels::columns, 0,
                               tile.q_start + tile.first_query, tile.head, tile.batch);
            }
            query_at.advance();
        };
        const auto load_stage = [&](auto panels, const KeyRing& ring, KeyRing::Cursor& at,
                                    const tma::TensorMap& map, u32 base, i32 j) {
            using Columns = decltype(panels);
            constexpr u32 panel_bytes = kTileN * Columns::row_bytes;
            ring.acquire(at);
            ring.expect(at, Columns::count * panel_bytes);
#pragma unroll
            for (i32 panel = 0; panel < Columns::count; ++panel) {
                const u32 to = base + (at.stage * Columns::count + panel) * panel_bytes;
                const i32 column = panel * Columns::columns, row = tile.k_start + j * kTileN;
                if (kCluster == 1) {
                    tma::load_tile(to, &map, ring.full_barrier(at), column, row, tile.head_k,
                                   tile.batch);
                } else {
                    // A share for all of the cluster; the others bring theirs.
                    const i32 share = tma::cluster_rank() * (kTileN / kCluster);
                    tma::load_tile_multicast(to + share * Columns::row_bytes, &map,
                                             ring.full_barrier(at), (1 << kCluster) - 1, column,
                                             row + share, tile.head_k, tile.batch);
                }
            }
            at.advance();
        };
        const auto load_keys = [&](i32 j) {
            load_stage(KeyPanels{}, rings.keys, key_at, maps.k, shared + kKeys, j);
        };
        const auto load_values = [&](i32 j) {
            load_stage(ValuePanels{}, rings.values, value_at, maps.v, shared + kValues, j);
        };

        i32 j = keys.end - 1;
        if (!kOutputOverQuery) load_queries();
        load_keys(j);
        if (kOutputOverQuery) load_queries();  // their stage is not free yet
        for (; j > keys.begin; --j) {
            load_keys(j - 1);
            load_values(j);
        }
        load_values(j);
    }
}

// A consumer warpgroup: 64 rows of each tile.
struct Consumer {
    const Maps& maps;
    const ForwardParams& p;
    const u32 shared;
    const Rings& rings;
    const i32 warpgroup;
    const bool elected;  // one thread of the warpgroup speaks for it
    const Turns<kConsumers, kTurnBarrier> turns;

    QueryRing::Cursor query_at;
    KeyRing::Cursor key_at, value_at;
    OnlineSoftmax softmax;
    float scores[kTileN / 2];
    u32 probabilities[kTileN / 4];
    float output[kValueDim / 2];
    u32 queries[kHeadDim / 4];  // if kQueryInRegisters

    // The tile at hand, from the wait for its queries to their release. Read where it is needed:
    // the main loop has no registers to keep it in.
    __device__ __forceinline__ Work work() const { return take_over(work_slot(shared, query_at)); }

    __device__ __forceinline__ u32 own_queries() const {
        return query_stage(shared, query_at) + warpgroup * 64 * KeyPanels::row_bytes;
    }

    __device__ __forceinline__ void scores_of_next_stage() {
        const u32 keys = shared + kKeys + key_at.stage * kKeyBytes;
        if (kQueryInRegisters) {
            issue_scores<Operand, kHeadDim, kTileN>(scores, queries, keys);
        } else {
            issue_scores<Operand, kHeadDim, kTileM, kTileN>(scores, own_queries(), keys);
        }
    }

    __device__ __forceinline__ void values_of_next_stage(i32 keep) {
        issue_values<Operand, kValueDim, kTileN>(
            output, probabilities, shared + kValues + value_at.stage * kValueBytes, keep);
    }

    // To the producers of all CTAs whose loads land here.
    __device__ __forceinline__ void release(const KeyRing& ring, KeyRing::Cursor& at) const {
        if (elected) {
            if (kCluster == 1) ring.release(at);
#pragma unroll
            for (i32 cta = 0; kCluster > 1 && cta < kCluster; ++cta) ring.release_remote(at, cta);
        }
        at.advance();
    }

    // Past the keys of a tile of which this warpgroup's rows see nothing, but others of the CTA do.
    // The turn shows that all warps have seen them come. It also shows that the others have let go
    // of the values before, so that these, too, can be let go of whenever it is their turn; unless
    // they come from two CTAs, whose turns are their own.
    __device__ __forceinline__ void pass_keys() {
        rings.keys.wait_full(key_at);
        turns.take();
        turns.pass();
        release(rings.keys, key_at);
    }

    // All that the scores of key tile j need besides the scale: what open tiles do without. `row`
    // is the first of this thread's two rows in the tile.
    __device__ __forceinline__ void edit(i32 j, KeyTiles open, i32 row) {
        const Tile tile = work().tile;
        const i32 first_key = j * kTileN;
        const i32 query[2] = {query_of(p, tile, row), query_of(p, tile, row + 8)};
        if (p.edit) edit_scores(scores, p, tile, row, first_key);
        if (j >= open.end) {
            softmax.mask_from(scores, {key_end(p, tile, query[0]) - first_key,
                                       key_end(p, tile, query[1]) - first_key});
        }
        if (j < open.begin) {
            softmax.mask_before(scores, {key_begin(p, tile, query[0]) - first_key,
                                         key_begin(p, tile, query[1]) - first_key});
        }
    }

    // The last key tile's scores.
    __device__ __forceinline__ void first_scores() {
        rings.queries.wait_full(query_at);
        if (kQueryInRegisters) load_queries<kHeadDim, kTileM>(queries, own_queries());
        if (work().passes_last(warpgroup)) {
            pass_keys();
            if (kCluster > 1) rings.values.wait_full(value_at);
        }
        rings.keys.wait_full(key_at);
        turns.take();
        scores_of_next_stage();
        if (kQueryLeavesEarly) {
            tma::named_sync(kWarpgroupBarrier + warpgroup, 128);
            if (elected) rings.queries.release(query_at);
        }
    }

    __device__ __forceinline__ void first_softmax(i32 j, KeyTiles open, i32 row) {
        wgmma_wait<0>();
        settle(scores);
        if (!kScoresAhead) turns.pass();
        release(rings.keys, key_at);
        edit(j, open, row);
        softmax.begin<Operand, kPolynomials>(probabilities, scores, p.scale_log2);
    }

    // Of the last tile of V, the rows from `own` on are beyond the sequence and may be NaN, which
    // probabilities of zero do not cancel.
    __device__ __forceinline__ void clear_foreign_values(i32 own) {
        rings.values.wait_full(value_at);
        clear_rows<kValueDim, kTileN>(shared + kValues + value_at.stage * kValueBytes, max(0, own),
                                      threadIdx.x - 128, 128 * kConsumers);
        tma::fence_async_shared();
        tma::named_sync(kConsumerBarrier, 128 * kConsumers);
    }

    // Tile j's scores, with tile j+1's P·V behind them in the tensor cores.
    template <bool Edited>
    __device__ __forceinline__ void overlapped_step(i32 j, KeyTiles open, i32 row, i32& keep) {
        rings.keys.wait_full(key_at);
        turns.take();
        scores_of_next_stage();
        rings.values.wait_full(value_at);
        values_of_next_stage(keep);
        keep = 1;
        turns.pass();
        wgmma_wait<kAfterScores>();
        settle(scores);
        release(rings.keys, key_at);
        if (Edited) edit(j, open, row);
        if (kAfterScores > 0) wgmma_wait<0>();
        settle(output);
        release(rings.values, value_at);
        softmax.add<Operand, kPolynomials>(probabilities, scores, p.scale_log2, output,
                                           Edited && j >= open.end);
    }

    __device__ __forceinline__ void last_values(const Tile& tile, i32 row, i32 keep) {
        rings.values.wait_full(value_at);
        values_of_next_stage(keep);
        if (kScoresAhead) turns.pass();
        softmax.finish();
        if (p.sinks != 0) {
#pragma unroll
            for (i32 r = 0; r < 2; ++r) {
                softmax.add_sink(r, sink_log2(of_head(p.sinks, p, tile, row + 8 * r)));
            }
        }
        wgmma_wait<0>();
        settle(output);
        release(rings.values, value_at);
    }

    __device__ __forceinline__ void release_queries() {
        if (elected && !kQueryLeavesEarly) rings.queries.release(query_at);
        query_at.advance();
    }

    __device__ __forceinline__ void write(const Tile& tile, i32 first_row, i32 row) {
        const u32 own = shared + kOutput + warpgroup * 64 * ValuePanels::row_bytes;
        const u32 barrier = kWarpgroupBarrier + warpgroup;
        // The store of the tile before, or this tile's reads of Q, must be over.
        if (elected) tma::store_wait_read<0>();
        tma::named_sync(barrier, 128);
        write_output<Operand, kValueDim, kTileM>(own, output, softmax.factor);
        tma::fence_async_shared();
        tma::named_sync(barrier, 128);
        if (is_whole(p, tile, first_row)) {
            if (elected) {
                store_output<kValueDim, kTileM>(maps.o, own, tile, tile.first_query + first_row);
                if (kOutputOverQuery) tma::store_wait_read<0>();
            }
        } else {
            store_rows<kValueDim, kTileM>(p, own, tile, first_row);
            if (kOutputOverQuery) tma::named_sync(barrier, 128);
        }
        if (kOutputOverQuery) release_queries();
        write_lse<kTileM>(p, tile, row, softmax);
    }

    // A tile's end: the last P·V, and O and the LSE on their way. The warps meet while they write.
    __device__ __forceinline__ void end_tile(const Tile& tile, i32 row, i32 keep,
                                             bool passes_first) {
        last_values(tile, row, keep);
        if (kCluster > 1 && passes_first) rings.values.wait_full(value_at);
        write(tile, warpgroup * 64, row);
        if (passes_first) release(rings.values, value_at);
    }

    __device__ __forceinline__ void consume() {
        const i32 first_row = warpgroup * 64;
        const i32 row = first_row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
        bool more = own_walk(p).number < tile_count(p);
        bool started = false, passes_first = false;
        Tile tile;
        i32 keep = 0;
        for (; more; started = true) {
            first_scores();
            if (kScoresAhead && started) {
                end_tile(tile, row, keep, passes_first);
            } else if (kScoresAhead) {
                wgmma_wait<0>();
                turns.pass();
            }
            const Work first = work();
            const KeyTiles keys = first.keys;
            const KeyTiles open =
                open_key_tiles<kTileN>(p, first.tile, keys, query_of(p, first.tile, first_row),
                                       query_of(p, first.tile, first_row + 63));
            const KeyTiles own = {keys.begin + first.passes_first(warpgroup),
                                  keys.end - first.passes_last(warpgroup)};
            i32 j = own.end - 1;
            keep = 0;
            first_softmax(j, open, row);
            if (has_foreign_keys<kTileN>(p, first.tile, keys)) {
                clear_foreign_values(first.tile.k_len - (keys.end - 1) * kTileN);
            }
            if (own.end < keys.end) release(rings.values, value_at);
            // From above: tiles that are cut, tiles that are not, tiles that are cut below.
            i32 edited = p.edit ? own.begin : open.end;
            for (--j; j >= own.begin; edited = own.begin) {
                for (; j >= edited; --j) overlapped_step<true>(j, open, row, keep);
                for (; j >= open.begin; --j) overlapped_step<false>(j, open, row, keep);
            }
            const Work last = work();
            tile = last.tile;
            more = last.more;
            passes_first = last.passes_first(warpgroup);
            if (passes_first) pass_keys();
            if (!kOutputOverQuery) release_queries();
            if (!kScoresAhead) end_tile(tile, row, keep, passes_first);
        }
        if (kScoresAhead && started) {
            turns.take();
            end_tile(tile, row, keep, passes_first);
        }
        turns.finish();
        if (elected) tma::store_wait<0>();
    }
};

}  // namespace fa3

extern "C" __global__ void __launch_bounds__(fa3::kThreads, 1)
    FA3_SYMBOL(const __grid_constant__ fa3::tma::TensorMap q,
               const __grid_constant__ fa3::tma::TensorMap k,
               const __grid_constant__ fa3::tma::TensorMap v,
               const __grid_constant__ fa3::tma::TensorMap o,
               const __grid_constant__ fa3::ForwardParams p) {
    using namespace fa3;
    extern __shared__ __align__(1024) tma::u8 shared_memory[];
    const u32 shared = tma::shared_address(shared_memory);
    const Maps maps{q, k, v, o};
    const Rings rings(shared + kBarriers);

    if (threadIdx.x == 0) {
        rings.queries.init(kConsumers);
        rings.keys.init(kConsumers * kCluster);
        rings.values.init(kConsumers * kCluster);
        tma::barrier_init_fence();
    }
    // Rows of Q that packed heads leave over.
    const i32 query_rows = tile_queries<kTileM>(p) * p.pack;
    if (query_rows < kTileM) {
#pragma unroll
        for (i32 stage = 0; stage < kQueryStages; ++stage) {
            clear_rows<kHeadDim, kTileM>(shared + stage * kQueryBytes, query_rows, threadIdx.x,
                                         kThreads);
        }
        tma::fence_async_shared();
    }
    if (kCluster == 1) {
        __syncthreads();
    } else {
        tma::cluster_sync();
    }

    if (threadIdx.x < 128) {
        tma::registers_lower<kProducerRegisters>();
        if (threadIdx.x == 0) produce(maps, p, shared, rings);
    } else {
        tma::registers_raise<kConsumerRegisters>();
        // The same in all lanes, and the compiler is to know it: addresses stay in uniform
        // registers.
        const i32 warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0) - 1;
        Consumer consumer{maps,
                          p,
                          shared,
                          rings,
                          warpgroup,
                          threadIdx.x % 128 == 0,
                          Turns<kConsumers, kTurnBarrier>(warpgroup)};
        consumer.consume();
    }
    if (kCluster > 1) {
        __syncwarp();
        tma::cluster_sync();
    }
}
