// Programmatic dependent launch: a kernel that starts before the one ahead of it has finished.
// PTX ISA, "griddepcontrol".
#pragma once

namespace fa3::tma {

// Waits until the grids this one depends on have finished and their writes are visible. Nothing
// that they write may be read before.
__device__ __forceinline__ void dependency_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the dependent grid be scheduled once every CTA of this one has called it or exited.
__device__ __forceinline__ void launch_dependents() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace fa3::tma
