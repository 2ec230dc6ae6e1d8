// One thread of a warp.
#pragma once

#include "fa3/tma/types.cuh"

namespace fa3::tma {

// True in exactly one thread of the warp, the same one each time; the whole warp calls it
// together. The compiler knows that what follows runs in one thread, as it doesn't for
// `threadIdx.x == 0`. PTX ISA, "elect.sync".
__device__ __forceinline__ bool elect_one() {
    u32 elected;
    asm volatile(
        "{\n\t"
        ".reg .pred elected;\n\t"
        "elect.sync _|elected, 0xffffffff;\n\t"
        "selp.u32 %0, 1, 0, elected;\n\t"
        "}"
        : "=r"(elected));
    return elected != 0;
}

}  // namespace fa3::tma
