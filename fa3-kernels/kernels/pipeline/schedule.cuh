// The list of tiles of a ragged batch, which the schedule kernel writes and the forward kernels
// read: a header of 32 bytes, then a chunk for each row of tiles, the longest sequences first.
#pragma once
#include <fa3/tma/types.cuh>

namespace fa3 {

using tma::i32;
using tma::u32;
using tma::u64;

// A sequence, as each of its chunks repeats it: chunks `first` to `first + m_tiles - 1` are its
// rows of tiles, of every head. A chunk is one row of tiles in number only: which tile of the
// sequence an index stands for is decided as if all of its tiles were one launch.
struct alignas(16) Chunk {
    i32 q_start;
    i32 q_len;
    i32 k_start;
    i32 k_len;
    i32 batch;
    i32 first;
    i32 m_tiles;
    i32 section;  // heads that are worked on together
};
static_assert(sizeof(Chunk) == 32);

__device__ __forceinline__ Chunk* chunks(u64 list) { return reinterpret_cast<Chunk*>(list) + 1; }

__device__ __forceinline__ i32* chunk_count_of(u64 list) { return reinterpret_cast<i32*>(list); }

__device__ __forceinline__ i32 chunk_count(u64 list) { return *chunk_count_of(list); }

__device__ __forceinline__ Chunk chunk_at(u64 list, i32 index) { return chunks(list)[index]; }

}  // namespace fa3
