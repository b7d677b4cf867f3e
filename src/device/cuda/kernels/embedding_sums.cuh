// Sums that several threads add to, for rows that many indices name.
#pragma once

#include "device/cuda/kernels/number.cuh"

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kAddsFour = true;  // at once, which older GPUs cannot
__device__ __forceinline__ void add_four(float* to, const float* values) {
  atomicAdd(reinterpret_cast<float4*>(to), make_float4(values[0], values[1], values[2], values[3]));
}
#else
constexpr bool kAddsFour = false;
template <class C>
__device__ __forceinline__ void add_four(C*, const C*) {}
#endif

template <int V, class C>
__device__ __forceinline__ void add_atomically(C* to, const C (&values)[V]) {
  if constexpr (kAddsFour && V % 4 == 0 && sizeof(C) == 4) {
#pragma unroll
    for (int i = 0; i < V; i += 4) add_four(to + i, values + i);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) atomicAdd(to + i, values[i]);
  }
}

/// Sums of groups of columns, and how much of each has arrived: zero between launches.
template <class T>
struct SharedSums {
  Compute<T>* sums;
  std::uint32_t* arrived;

  /// Adds a share of the whole to the sums of a group; whoever completes it gets them all and clears them.
  template <int V>
  __device__ bool join(std::uint64_t group, std::uint32_t share, std::uint32_t whole,
                       Compute<T> (&values)[V]) const {
    Compute<T>* const own = sums + group * V;
    add_atomically<V>(own, values);
    __threadfence();
    if (atomicAdd(arrived + group, share) + share < whole) return false;
    __threadfence();
#pragma unroll
    for (int i = 0; i < V; ++i) {
      volatile Compute<T>* const sum = own + i;  // past the L1, which may hold what it was
      values[i] = *sum;
      *sum = 0;
    }
    arrived[group] = 0;
    return true;
  }
};

}  // namespace
