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
