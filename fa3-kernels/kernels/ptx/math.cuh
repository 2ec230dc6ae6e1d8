// Arithmetic and shared-memory instructions, one a function.
#pragma once
#include "wgmma.cuh"

namespace fa3 {

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

// Stores four 8×8 matrices of 16-bit elements; lane l gives the address of row l%8 of matrix l/8
// (PTX ISA, stmatrix).
__device__ __forceinline__ void store_matrices(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(m0), "r"(m1), "r"(m2), "r"(m3)
                 : "memory");
}

// 16 bytes from and to shared memory (PTX ISA, ld and st).
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

}  // namespace fa3
