constexpr u32 GROUP = 1;  // a named barrier; 0 is that of __syncthreads

// `threads` threads write a tile to one of two places and go on while it is stored. `speaker` is
// true in one of them, in the same one at every turn.
template <typename Write>
__device__ void store_turn(u32 outputs, int turn, void* to, bool speaker, u32 threads,
                           Write write) {
    const u32 tile = outputs + turn % 2 * TILE_BYTES;
    if (speaker) store_wait_read<1>();  // the store of two turns ago has read this place …
    named_sync(GROUP, threads);         // … and all know
    write(tile);
    fence_async_shared();        // what this thread wrote …
    named_sync(GROUP, threads);  // … and what all did
    if (speaker) {
        store_bulk(to, tile, TILE_BYTES);
        store_commit();
    }
}
