// Copies to shared memory that a thread starts and goes on (compute capability 8.0); elsewhere it waits for
// each. A thread reads back what it copied itself, so that no barrier is needed.
#pragma once

#include "device/cuda/kernels/vector.cuh"

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// 16 bytes, both addresses aligned to them.
__device__ __forceinline__ void start_copy(uint4* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
}
/// Ends a group of copies, which may be empty.
__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until all but the last `Pending` groups of the thread have arrived.
template <int Pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
#else
__device__ __forceinline__ void start_copy(uint4* to, const void* from) {
  *to = *static_cast<const uint4*>(from);
}
__device__ __forceinline__ void end_copies() {}
template <int>
__device__ __forceinline__ void wait_for_copies() {}
#endif

/// Brings whole vectors into the L2, which nobody waits for (compute capability 9.0); elsewhere does nothing.
__device__ __forceinline__ void fetch_ahead([[maybe_unused]] const void* from,
                                            [[maybe_unused]] std::uint32_t vectors) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(from)), "r"(vectors * 16)
               : "memory");
#endif
}

template <class T>
__device__ __forceinline__ Vector<T> vector_at(const uint4* shared) {
  Vector<T> v;
  v.whole = *shared;
  return v;
}

}  // namespace
