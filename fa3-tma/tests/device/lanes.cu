// Each lane of the producer warp brings one of the stage's first `rows` rows, from its own address.
__device__ void load_rows(const Ring<STAGES>& ring, Ring<STAGES>::Cursor at, u32 stage,
                          const void* row, u32 rows, u32 row_bytes) {
    const u32 lane = threadIdx.x % 32;
    if (elect_one()) {
        ring.acquire(at);
        ring.expect(at, rows * row_bytes);
    }
    __syncwarp();  // no lane loads before that
    if (lane < rows) load_bulk(stage + lane * row_bytes, row, row_bytes, ring.full_barrier(at));
}
