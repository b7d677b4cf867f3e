// Maximum and sum of exponentials of elements that come one after the other.
#pragma once

#include "device/cuda/kernels/softmax.cuh"

namespace {

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
    C largest = seen.largest;
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= count) break;
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) largest = Maximum()(largest, x[k].get(j));
    }
    rise_to(largest);
    const C origin = Exponentials<C>::origin(seen.largest);
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= count) break;
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) seen.sum += exponential_around(x[k].get(j), origin);
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
