// Zeros in rows of a tile in shared memory that TMA does not fill as the products need them.
#pragma once
#include <fa3/tma/shared.cuh>

#include "../mma/products.cuh"

namespace fa3 {

// Clears rows `first` to Rows - 1 of a tile of Rows rows: thread `thread` of `threads` does its
// share. A fence_async_shared and a barrier have to follow before wgmma reads.
template <i32 Width, i32 Rows>
__device__ __forceinline__ void clear_rows(u32 tile, i32 first, i32 thread, i32 threads) {
    using Columns = Panels<Width>;
    constexpr i32 pieces = Columns::row_bytes / 16;
    for (i32 panel = 0; panel < Columns::count; ++panel) {
        const u32 rows = tile + panel * Rows * Columns::row_bytes;
        for (i32 i = first * pieces + thread; i < Rows * pieces; i += threads) {
            store_shared(rows + i * 16, uint4{0, 0, 0, 0});
        }
    }
}

}  // namespace fa3
