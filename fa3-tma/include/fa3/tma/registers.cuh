// Moving registers between warpgroups. PTX ISA, "setmaxnreg": every warp of the warpgroup calls
// it, Registers is a multiple of 8 from 24 to 256, and the kernel has __launch_bounds__(threads,
// 1), without which the compiler ignores it.
#pragma once

namespace fa3::tma {

// Raises this warpgroup's registers a thread to Registers, once another has given them back.
template <int Registers>
__device__ __forceinline__ void registers_raise() {
    static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

// Lowers this warpgroup's registers a thread to Registers.
template <int Registers>
__device__ __forceinline__ void registers_lower() {
    static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace fa3::tma
