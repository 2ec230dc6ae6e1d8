// Loads and stores of shared memory by address.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// 16 bytes. PTX ISA, "ld" and "st".
__device__ __forceinline__ uint4 load_shared(u32 address) {
    uint4 value;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(address)
                 : "memory");
    return value;
}
__device__ __forceinline__ void store_shared(u32 address, uint4 value) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

// Two floats. PTX ISA, "ld".
__device__ __forceinline__ float2 load_shared_f32x2(u32 address) {
    float2 value;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(value.x), "=f"(value.y)
                 : "r"(address)
                 : "memory");
    return value;
}

}  // namespace fa3::tma
