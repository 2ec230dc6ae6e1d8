// The 16-bit types of operands, and conversions of pairs of them, the first in the lower half.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

struct F16 {};
struct Bf16 {};

// Two floats rounded to nearest, `low` in the lower half (PTX ISA, cvt.rn).
template <typename Operand>
__device__ __forceinline__ u32 pack(float low, float high);
template <>
__device__ __forceinline__ u32 pack<Bf16>(float low, float high) {
    u32 pair;
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
template <>
__device__ __forceinline__ u32 pack<F16>(float low, float high) {
    u32 pair;
    asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

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

}  // namespace fa3::tma
