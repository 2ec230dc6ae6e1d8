// TMA reductions, shared to global memory: each element of the tile is combined with the one in
// global memory, atomically element by element; the order of several reductions is not defined.
// Elements are of the map's type, as far as the instruction takes it for that operation. Commit
// and wait as for stores. PTX ISA, "cp.reduce.async.bulk.tensor" and "cp.reduce.async.bulk".
#pragma once

#include "fa3/tma/store.cuh"
#include "fa3/tma/types.cuh"

namespace fa3::tma {

// reduce_<op>_tile for 1 to 5 dimensions. A macro, since the operation is part of the mnemonic.
#define FA3_TMA_REDUCE(op)                                                                      \
    __device__ __forceinline__ void reduce_##op##_tile(const TensorMap* map, u32 src, i32 c0) { \
        asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta." #op                   \
                     ".tile.bulk_group [%0, {%2}], [%1];" ::"l"(map),                           \
                     "r"(src), "r"(c0)                                                          \
                     : "memory");                                                               \
    }                                                                                           \
    __device__ __forceinline__ void reduce_##op##_tile(const TensorMap* map, u32 src, i32 c0,   \
                                                       i32 c1) {                                \
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." #op                   \
                     ".tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),                       \
                     "r"(src), "r"(c0), "r"(c1)                                                 \
                     : "memory");                                                               \
    }                                                                                           \
    __device__ __forceinline__ void reduce_##op##_tile(const TensorMap* map, u32 src, i32 c0,   \
                                                       i32 c1, i32 c2) {                        \
        asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta." #op                   \
                     ".tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),                   \
                     "r"(src), "r"(c0), "r"(c1), "r"(c2)                                        \
                     : "memory");                                                               \
    }                                                                                           \
    __device__ __forceinline__ void reduce_##op##_tile(const TensorMap* map, u32 src, i32 c0,   \
                                                       i32 c1, i32 c2, i32 c3) {                \
        asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta." #op                   \
                     ".tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),               \
                     "r"(src), "r"(c0), "r"(c1), "r"(c2), "r"(c3)                               \
                     : "memory");                                                               \
    }                                                                                           \
    __device__ __forceinline__ void reduce_##op##_tile(const TensorMap* map, u32 src, i32 c0,   \
                                                       i32 c1, i32 c2, i32 c3, i32 c4) {        \
        asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta." #op                   \
                     ".tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),           \
                     "r"(src), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)                      \
                     : "memory");                                                               \
    }

FA3_TMA_REDUCE(add)
FA3_TMA_REDUCE(min)
FA3_TMA_REDUCE(max)
FA3_TMA_REDUCE(and)
FA3_TMA_REDUCE(or)
FA3_TMA_REDUCE(xor)

#undef FA3_TMA_REDUCE

// Adds `bytes` contiguous bytes of f32 values, without a map: both addresses and the size are
// multiples of 16. PTX ISA, "cp.reduce.async.bulk".
__device__ __forceinline__ void reduce_add_bulk_f32(float* dst, u32 src, u32 bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                     global_address(dst)),
                 "r"(src), "r"(bytes)
                 : "memory");
}

}  // namespace fa3::tma
