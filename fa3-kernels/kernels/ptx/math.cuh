// Arithmetic, one instruction a function.
#pragma once
#include <fa3/tma/types.cuh>

namespace fa3 {

using namespace tma;  // its types and its instructions, one a function

// 2^x to 2 ulp, subnormal results flushed (PTX ISA, ex2).
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The larger, NaN where one is NaN (PTX ISA, max).
__device__ __forceinline__ float max_nan(float a, float b) {
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

// The smaller, NaN where one is NaN (PTX ISA, min).
__device__ __forceinline__ float min_nan(float a, float b) {
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

// log2(x), subnormal inputs flushed (PTX ISA, lg2).
__device__ __forceinline__ float log2_approx(float x) {
    float y;
    asm volatile("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1/x to 1 ulp, subnormals flushed (PTX ISA, rcp).
__device__ __forceinline__ float reciprocal_approx(float x) {
    float y;
    asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace fa3
