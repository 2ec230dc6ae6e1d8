// Conversions of pairs of 16-bit elements, the first in the lower half.
#pragma once
#include "wgmma.cuh"

namespace fa3 {

// Two elements in f32, exactly.
template <typename Operand>
__device__ __forceinline__ void unpack(u32 pair, float& low, float& high);
// The upper half of an f32 is a bf16.
template <>
__device__ __forceinline__ void unpack<Bf16>(u32 pair, float& low, float& high) {
    low = __uint_as_float(pair << 16);
    high = __uint_as_float(pair & 0xFFFF0000);
}
// PTX ISA, cvt.
template <>
__device__ __forceinline__ void unpack<F16>(u32 pair, float& low, float& high) {
    asm("{\n"
        ".reg .b16 first, second;\n"
        "mov.b32 {first, second}, %2;\n"
        "cvt.f32.f16 %0, first;\n"
        "cvt.f32.f16 %1, second;\n"
        "}\n"
        : "=f"(low), "=f"(high)
        : "r"(pair));
}

}  // namespace fa3
