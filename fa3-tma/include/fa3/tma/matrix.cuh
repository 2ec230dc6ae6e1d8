// Matrices of 16-bit elements in shared memory, as TMA's swizzle writes them and wgmma reads them.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// A tile of `Width` columns lies in panels of 64 in the 128-byte swizzle, or of 32 in the 64-byte
// one where 64 does not divide the width, one panel after the other: each is a TMA box of its own.
template <i32 Width>
struct Panels {
    static constexpr i32 columns = Width % 64 == 0 ? 64 : 32;
    static constexpr i32 row_bytes = 2 * columns;
    static constexpr i32 count = Width / columns;
    static_assert(Width % columns == 0);

    // Where column `column` of row `row` of a tile of `rows` rows lies: the swizzle exchanges the
    // 16-byte pieces of a row by the row's number in each 1024 bytes (PTX ISA, "Swizzling Modes").
    static __device__ __forceinline__ u32 offset(u32 row, u32 column, u32 rows) {
        const u32 panel = column / columns * (rows * row_bytes);
        const u32 turned = columns == 64 ? row % 8 : row / 2 % 4;
        return panel + row * row_bytes + (column % columns * 2 ^ turned * 16);
    }
};

// Stores four 8×8 matrices of 16-bit elements; lane l gives the address of row l%8 of matrix l/8
// (PTX ISA, stmatrix).
__device__ __forceinline__ void store_matrices(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(m0), "r"(m1), "r"(m2), "r"(m3)
                 : "memory");
}

// Loads four 8×8 matrices of 16-bit elements; addresses as in store_matrices (PTX ISA, "ldmatrix").
__device__ __forceinline__ uint4 load_matrices(u32 address) {
    uint4 m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.x), "=r"(m.y), "=r"(m.z), "=r"(m.w)
                 : "r"(address)
                 : "memory");
    return m;
}

// Loads four 8×8 matrices of 16-bit elements, each transposed; addresses as in store_matrices
// (PTX ISA, "ldmatrix", .trans).
__device__ __forceinline__ uint4 load_matrices_transposed(u32 address) {
    uint4 m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.x), "=r"(m.y), "=r"(m.z), "=r"(m.w)
                 : "r"(address)
                 : "memory");
    return m;
}

}  // namespace fa3::tma
