// Sixteen bytes of a tensor at once.
#pragma once

#include "device/cuda/kernels/host_device.hpp"
#include "device/cuda/kernels/number.cuh"

namespace {

template <class T>
constexpr int kPerVector = jitterscope::cuda::elements_per_vector(sizeof(T));

template <class T>
union Vector {
  uint4 whole;
  T part[kPerVector<T>];
  __device__ Vector() : whole{} {}
  __device__ explicit Vector(const T* from) : whole(*reinterpret_cast<const uint4*>(from)) {}
  __device__ void store(T* to) const { *reinterpret_cast<uint4*>(to) = whole; }
  __device__ Compute<T> get(int j) const { return Number<T>::load(part[j]); }
  __device__ void set(int j, Compute<T> value) { part[j] = Number<T>::store(value); }
};

/// Reads N numbers, in 16-byte accesses where they fill any. `from` is aligned to all of them.
template <int N, class T>
__device__ __forceinline__ void load_numbers(const T* from, Compute<T> (&to)[N]) {
  if constexpr (N % kPerVector<T> == 0) {
#pragma unroll
    for (int i = 0; i < N; i += kPerVector<T>) {
      const Vector<T> v(from + i);
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) to[i + j] = v.get(j);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = Number<T>::load(from[i]);
  }
}
template <int N, class T>
__device__ __forceinline__ void store_numbers(T* to, const Compute<T> (&from)[N]) {
  if constexpr (N % kPerVector<T> == 0) {
#pragma unroll
    for (int i = 0; i < N; i += kPerVector<T>) {
      Vector<T> v;
#pragma unroll
      for (int j = 0; j < kPerVector<T>; ++j) v.set(j, from[i + j]);
      v.store(to + i);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = Number<T>::store(from[i]);
  }
}

}  // namespace
