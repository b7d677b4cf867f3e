// Maximum and sum of exponentials of elements that come one after the other.
#pragma once

#include "device/cuda/kernels/softmax.cuh"

namespace {

// One instruction where a comparison and a choice are two. NaN is passed over, and comes into the sum.
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double larger(double a, double b) { return fmax(a, b); }

#ifdef JITTERSCOPE_PAIRS
template <class T>
struct PairMaximum;
template <>
struct PairMaximum<__half> {
  static constexpr std::uint32_t kLowest = 0xfc00fc00;  // -inf twice
  __device__ __forceinline__ static void raise(std::uint32_t& to, std::uint32_t x) {
    asm("max.f16x2 %0, %0, %1;" : "+r"(to) : "r"(x));
  }
};
template <>
struct PairMaximum<__nv_bfloat16> {
  static constexpr std::uint32_t kLowest = 0xff80ff80;
  __device__ __forceinline__ static void raise(std::uint32_t& to, std::uint32_t x) {
    asm("max.bf16x2 %0, %0, %1;" : "+r"(to) : "r"(x));
  }
};

/// Of numbers of 16 bits, two at a time.
template <class T, int Unroll>
__device__ __forceinline__ float largest_of_pairs(const Vector<T> (&x)[Unroll], int count) {
  using Pair = PairMaximum<T>;
  Vector<T> all;
  all.whole = uint4{Pair::kLowest, Pair::kLowest, 0, 0};
#pragma unroll
  for (int k = 0; k < Unroll; ++k) {
    if (k >= count) break;
    Pair::raise(all.whole.x, x[k].whole.x);
    Pair::raise(all.whole.y, x[k].whole.y);
    Pair::raise(all.whole.x, x[k].whole.z);
    Pair::raise(all.whole.y, x[k].whole.w);
  }
  Pair::raise(all.whole.x, all.whole.y);
  return larger(all.get(0), all.get(1));
}
#endif

/// The largest element of `count` vectors.
template <class T, int Unroll>
__device__ __forceinline__ Compute<T> largest_of(const Vector<T> (&x)[Unroll], int count) {
#ifdef JITTERSCOPE_PAIRS
  if constexpr (Number<T>::kShort) {
    return largest_of_pairs(x, count);
  } else
#endif
  {
    Compute<T> largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= count) break;
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) largest = larger(largest, x[k].get(j));
    }
    return largest;
  }
}

/// The part of a row that a thread has seen: the sum is scaled down whenever a larger element comes.
template <class T, int Unroll>
struct RunningExponentials {
  using C = Compute<T>;
  Exponentials<C> seen{-INFINITY, 0};

  __device__ __forceinline__ void rise_to(C largest) {
    if (!(largest > seen.largest)) return;
    seen.sum *= exponential(seen.largest - largest);
    seen.largest = largest;
  }
  __device__ __forceinline__ void add(C x) {
    rise_to(x);
    seen.sum += exponential(x - Exponentials<C>::origin(seen.largest));
  }
  __device__ __forceinline__ void add(const Vector<T> (&x)[Unroll], int count) {
    rise_to(largest_of(x, count));
    const C origin = Exponentials<C>::origin(seen.largest);
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= count) break;
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) seen.sum += exponential_around(element_of(x[k], j), origin);
    }
  }
  template <int Threads>
  __device__ __forceinline__ Exponentials<C> join() const {
    Exponentials<C> all{reduce_lanes<32, Maximum>(seen.largest), 0};
    const C origin = Exponentials<C>::origin(all.largest);
    all.sum = reduce_lanes<32, Sum>(seen.sum * exponential(seen.largest - origin));
    all.template join_warps<Threads / 32>();
    return all;
  }
};

}  // namespace
