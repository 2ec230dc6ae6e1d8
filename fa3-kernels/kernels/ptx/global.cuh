// Global-memory instructions, one a function.
#pragma once
#include <fa3/tma/types.cuh>

namespace fa3 {

// 16 bytes at `address` if `wanted`, else zeros; where they are not wanted the address may be any
// (PTX ISA, ld).
__device__ __forceinline__ uint4 load_global_if(bool wanted, tma::u64 address) {
    uint4 value = make_uint4(0, 0, 0, 0);
    asm volatile(
        "{\n"
        ".reg .pred wanted;\n"
        "setp.ne.u32 wanted, %5, 0;\n"
        "@wanted ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n"
        "}\n"
        : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w)
        : "l"(address), "r"(static_cast<tma::u32>(wanted)));
    return value;
}

// 16 bytes (PTX ISA, st).
__device__ __forceinline__ void store_global(tma::u64 address, uint4 value) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

// Four bytes, `otherwise` where they are not wanted (PTX ISA, ld).
__device__ __forceinline__ float load_global_if(bool wanted, tma::u64 address, float otherwise) {
    float value = otherwise;
    asm volatile(
        "{\n"
        ".reg .pred wanted;\n"
        "setp.ne.u32 wanted, %2, 0;\n"
        "@wanted ld.global.f32 %0, [%1];\n"
        "}\n"
        : "+f"(value)
        : "l"(address), "r"(static_cast<tma::u32>(wanted)));
    return value;
}

// Four bytes (PTX ISA, st).
__device__ __forceinline__ void store_global(tma::u64 address, float value) {
    asm volatile("st.global.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}

}  // namespace fa3
