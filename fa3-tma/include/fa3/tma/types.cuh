// Fixed-width types, the opaque tensor map, and shared-memory addresses.
// Nothing here needs a standard header, so NVRTC compiles it as it is.
#pragma once

namespace fa3::tma {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8);

// The 128-byte value that cuTensorMapEncode* writes. A kernel takes it by value as
// `const __grid_constant__ TensorMap`, which keeps it in parameter memory, where the TMA unit
// reads it. PTX ISA, "Tensor-map": opaque, 64-byte aligned.
struct alignas(64) TensorMap {
    u64 opaque[16];
};
static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == 64);

// The address of `pointer` in the shared state space. It is valid as a .shared::cta address and
// as the .shared::cluster address of the same byte. PTX ISA, "cvta".
__device__ __forceinline__ u32 shared_address(const void* pointer) {
    return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// The address of `pointer` in the global state space. PTX ISA, "cvta".
__device__ __forceinline__ u64 global_address(const void* pointer) {
    return static_cast<u64>(__cvta_generic_to_global(pointer));
}

}  // namespace fa3::tma
