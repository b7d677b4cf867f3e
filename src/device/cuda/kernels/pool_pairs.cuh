// Maxima of two numbers of 16 bits at once, each with its place beside it in 16 bits: a comparison, which one
// by one takes about five instructions, takes five for two. The SM's instructions, not memory, are what
// maxima of 3x3 windows in 16 bits otherwise wait for.
#pragma once

#include <type_traits>

#include "device/cuda/kernels/pack.cuh"

namespace {

template <class T>
union Halves {
  std::uint32_t whole;
  T part[2];
  std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162> pair;
  __device__ explicit Halves(std::uint32_t from) : whole(from) {}
};

/// All bits of each half where the candidate is larger, or no number. As PyTorch: the first of equal ones
/// wins, and a NaN wins over numbers.
template <class T>
__device__ __forceinline__ std::uint32_t better_halves(std::uint32_t candidate, std::uint32_t best) {
  const Halves<T> a(candidate), b(best);
#ifdef __CUDA_ARCH__
  return __hgt2_mask(a.pair, b.pair) | __hneu2_mask(a.pair, a.pair);
#else
  std::uint32_t mask = 0;
  for (int i = 0; i < 2; ++i) {
    const Compute<T> one = Number<T>::load(a.part[i]), other = Number<T>::load(b.part[i]);
    if (one > other || one != one) mask |= 0xffffu << (16 * i);
  }
  return mask;
#endif
}

/// In both halves.
__device__ __forceinline__ std::uint32_t twice(std::int32_t number) {
  return static_cast<std::uint32_t>(number) * 0x10001u;
}

/// The largest so far of V numbers side by side, and where each was.
template <class T, int V>
struct PairMaxima {
  std::uint32_t value[V / 2], place[V / 2];

  __device__ __forceinline__ void load(const T* from) {
    Numbers<std::uint32_t, V / 2> words;
    words.load(reinterpret_cast<const std::uint32_t*>(from));
#pragma unroll
    for (int i = 0; i < V / 2; ++i) value[i] = words.part(i);
  }
  __device__ __forceinline__ void set_place(std::uint32_t at) {
#pragma unroll
    for (int i = 0; i < V / 2; ++i) place[i] = at;
  }
  __device__ __forceinline__ void take(const PairMaxima& candidate) {
#pragma unroll
    for (int i = 0; i < V / 2; ++i) {
      const std::uint32_t better = better_halves<T>(candidate.value[i], value[i]);
      value[i] = (candidate.value[i] & better) | (value[i] & ~better);
      place[i] = (candidate.place[i] & better) | (place[i] & ~better);
    }
  }
  __device__ __forceinline__ void store(T* to) const {
    Numbers<std::uint32_t, V / 2> words;
#pragma unroll
    for (int i = 0; i < V / 2; ++i) words.part(i) = value[i];
    words.store(reinterpret_cast<std::uint32_t*>(to));
  }
  /// Places count from `first`.
  __device__ __forceinline__ void places(std::int32_t first, std::int32_t (&to)[V]) const {
#pragma unroll
    for (int i = 0; i < V / 2; ++i) {
      to[2 * i] = first + static_cast<std::int32_t>(place[i] & 0xffffu);
      to[2 * i + 1] = first + static_cast<std::int32_t>(place[i] >> 16);
    }
  }
};

}  // namespace
