// Warpgroup matrix multiply-accumulate of SM90, one instruction a function (PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions"). Accumulators are f32, operands 16 bits wide.
#pragma once

#include "fa3/tma/convert.cuh"
#include "fa3/tma/types.cuh"

namespace fa3::tma {

// Orders register accesses of this warpgroup before the wgmma that follow (wgmma.fence).
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group of the wgmma issued so far (wgmma.commit_group).
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most `Pending` groups are unfinished (wgmma.wait_group).
template <int Pending>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// Makes the compiler see the registers as written here, after a wait: the instructions that
// wrote them are asynchronous, and it would else move reads above the wait.
template <int N>
__device__ __forceinline__ void settle(float (&registers)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// Matrix descriptors for tiles whose rows are as long as their swizzle, 128 or 64 bytes (PTX ISA,
// "Matrix Descriptor Format"): rows in groups of eight. What changes from one wgmma to the next is
// all in the low word, so that stepping through a tile is one 32-bit addition.
template <i32 RowBytes>
struct Descriptor {
    static_assert(RowBytes == 128 || RowBytes == 64);

    // The low word: the tile's address, and the leading offset, which is from one panel of columns
    // to the next in an MN-major tile (the contraction runs down the rows) and has no meaning in a
    // K-major one (it runs along a row of the panel).
    static __device__ __forceinline__ u32 low(u32 address, u32 leading_bytes) {
        return (address & 0x3FFFF) >> 4 | leading_bytes >> 4 << 16;
    }

    // The descriptor `bytes` further on than the one whose low word is `low`.
    static __device__ __forceinline__ u64 at(u32 low, u32 bytes) {
        constexpr u32 swizzle = RowBytes == 128 ? 1 : 2;
        constexpr u32 high = 8 * RowBytes >> 4 | swizzle << 30;
        return static_cast<u64>(high) << 32 | (low + (bytes >> 4));
    }
};

// `Wgmma<Operand, N>` multiplies 64×16 by 16×N into this warpgroup's 64×N accumulator. In a K-major
// operand the contraction runs along rows of shared memory, in an MN-major one down its columns.
//   from_shared(d, a, b, keep): A and B from shared memory, both K-major.
//   from_registers<Major>(d, a0..a3, b, keep): A from registers, B of that major.
// `keep` zero starts the accumulator from zero. Thread t of the warpgroup holds, in element
// 4j + 2r + c, row 16·(t/32) + t%32/4 + 8r and column 8j + 2·(t%4) + c (PTX ISA, "Register
// Fragments for wgmma.mma_async.m64nNk16").
template <typename Operand, int N>
struct Wgmma;

enum class Major { K, MN };

// Operand lists, folded: accumulators come first, as outputs %0 to %(R-1).
#define FA3_D2(d, i) "+f"(d[i]), "+f"(d[i + 1])
#define FA3_D8(d, i) FA3_D2(d, i), FA3_D2(d, i + 2), FA3_D2(d, i + 4), FA3_D2(d, i + 6)
#define FA3_D32(d, i) FA3_D8(d, i), FA3_D8(d, i + 8), FA3_D8(d, i + 16), FA3_D8(d, i + 24)
#define FA3_D40(d, i) FA3_D32(d, i), FA3_D8(d, i + 32)
#define FA3_D48(d, i) FA3_D40(d, i), FA3_D8(d, i + 40)
#define FA3_D56(d, i) FA3_D48(d, i), FA3_D8(d, i + 48)
#define FA3_D64(d, i) FA3_D32(d, i), FA3_D32(d, i + 32)
#define FA3_D72(d, i) FA3_D64(d, i), FA3_D8(d, i + 64)
#define FA3_D80(d, i) FA3_D64(d, i), FA3_D8(d, i + 64), FA3_D8(d, i + 72)
#define FA3_D88(d, i) FA3_D80(d, i), FA3_D8(d, i + 80)
#define FA3_D96(d, i) FA3_D64(d, i), FA3_D32(d, i + 64)
#define FA3_D128(d, i) FA3_D64(d, i), FA3_D64(d, i + 64)
#define FA3_TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9"
#define FA3_R30 FA3_TEN("") "," FA3_TEN("1") "," FA3_TEN("2")
#define FA3_R60 FA3_R30 "," FA3_TEN("3") "," FA3_TEN("4") "," FA3_TEN("5")
#define FA3_R80 FA3_R60 "," FA3_TEN("6") "," FA3_TEN("7")
#define FA3_R32 FA3_R30 ",%30,%31"
#define FA3_R40 FA3_R30 "," FA3_TEN("3")
#define FA3_R48 FA3_R40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define FA3_R56 FA3_R40 "," FA3_TEN("4") ",%50,%51,%52,%53,%54,%55"
#define FA3_R64 FA3_R60 ",%60,%61,%62,%63"
#define FA3_R72 FA3_R60 "," FA3_TEN("6") ",%70,%71"
#define FA3_R88 FA3_R80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define FA3_R96 FA3_R80 "," FA3_TEN("8") ",%90,%91,%92,%93,%94,%95"
#define FA3_R120 FA3_R80 "," FA3_TEN("8") "," FA3_TEN("9") "," FA3_TEN("10") "," FA3_TEN("11")
#define FA3_R128 FA3_R120 ",%120,%121,%122,%123,%124,%125,%126,%127"

// R accumulator registers; i0 to i6 are the operand numbers R to R + 6.
#define FA3_WGMMA(OPERAND, TYPE, N, R, i0, i1, i2, i3, i4, i5, i6)                                \
    template <>                                                                                   \
    struct Wgmma<OPERAND, N> {                                                                    \
        static __device__ __forceinline__ void from_shared(float (&d)[R], u64 a, u64 b,           \
                                                           i32 keep) {                            \
            asm volatile("{.reg .pred p; setp.ne.b32 p, %" #i2                                    \
                         ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE     \
                         " {" FA3_R##R "}, %" #i0 ", %" #i1 ", p, 1, 1, 0, 0;}"                   \
                         : FA3_D##R(d, 0)                                                         \
                         : "l"(a), "l"(b), "r"(keep));                                            \
        }                                                                                         \
        template <Major B>                                                                        \
        static __device__ __forceinline__ void from_registers(float (&d)[R], u32 a0, u32 a1,      \
                                                              u32 a2, u32 a3, u64 b, i32 keep) {  \
            asm volatile(                                                                         \
                "{.reg .pred p; setp.ne.b32 p, %" #i5 ", 0; wgmma.mma_async.sync.aligned.m64n" #N \
                "k16.f32." TYPE "." TYPE " {" FA3_R##R "}, {%" #i0 ",%" #i1 ",%" #i2 ",%" #i3     \
                                                       "}, %" #i4 ", p, 1, 1, %" #i6 ";}"         \
                : FA3_D##R(d, 0)                                                                  \
                : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"(keep), "n"(B == Major::MN));    \
        }                                                                                         \
    };
#define FA3_WGMMA_BOTH(N, R, i0, i1, i2, i3, i4, i5, i6)    \
    FA3_WGMMA(F16, "f16", N, R, i0, i1, i2, i3, i4, i5, i6) \
    FA3_WGMMA(Bf16, "bf16", N, R, i0, i1, i2, i3, i4, i5, i6)

FA3_WGMMA_BOTH(64, 32, 32, 33, 34, 35, 36, 37, 38)
FA3_WGMMA_BOTH(80, 40, 40, 41, 42, 43, 44, 45, 46)
FA3_WGMMA_BOTH(96, 48, 48, 49, 50, 51, 52, 53, 54)
FA3_WGMMA_BOTH(112, 56, 56, 57, 58, 59, 60, 61, 62)
FA3_WGMMA_BOTH(128, 64, 64, 65, 66, 67, 68, 69, 70)
FA3_WGMMA_BOTH(144, 72, 72, 73, 74, 75, 76, 77, 78)
FA3_WGMMA_BOTH(160, 80, 80, 81, 82, 83, 84, 85, 86)
FA3_WGMMA_BOTH(176, 88, 88, 89, 90, 91, 92, 93, 94)
FA3_WGMMA_BOTH(192, 96, 96, 97, 98, 99, 100, 101, 102)
FA3_WGMMA_BOTH(256, 128, 128, 129, 130, 131, 132, 133, 134)

#undef FA3_WGMMA_BOTH
#undef FA3_WGMMA

}  // namespace fa3::tma
