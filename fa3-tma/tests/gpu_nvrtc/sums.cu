// The sum of each of 32 columns of floats: one thread streams tiles of 64 rows through a ring, a
// warp adds them up.
#include <fa3/tma/tma.cuh>

using namespace fa3::tma;

constexpr int kStages = 3;
constexpr u32 kRows = 64;
constexpr u32 kColumns = 32;
constexpr u32 kTileBytes = kRows * kColumns * sizeof(float);

extern "C" __global__ void __launch_bounds__(64)
    column_sums(const __grid_constant__ TensorMap map, float* sums, int tiles) {
    extern __shared__ __align__(128) u8 memory[];
    const u32 stages = shared_address(memory);
    const Ring<kStages> ring(stages + kStages * kTileBytes);
    if (threadIdx.x == 0) {
        ring.init(1);
        barrier_init_fence();
    }
    __syncthreads();

    Ring<kStages>::Cursor at;
    if (threadIdx.x < 32) {
        const bool elected = elect_one();
        for (int tile = 0; elected && tile < tiles; tile++, at.advance()) {
            ring.acquire(at);
            ring.expect(at, kTileBytes);
            load_tile(stages + at.stage * kTileBytes, &map, ring.full_barrier(at), 0, kRows * tile);
        }
    } else {
        const u32 column = threadIdx.x % 32;
        float sum = 0;
        for (int tile = 0; tile < tiles; tile++, at.advance()) {
            ring.wait_full(at);
            const float* values =
                reinterpret_cast<const float*>(memory + at.stage * kTileBytes) + column;
            for (u32 row = 0; row < kRows; row++) sum += values[row * kColumns];
            __syncwarp();
            if (column == 0) ring.release(at);
        }
        sums[column] = sum;
    }
}
