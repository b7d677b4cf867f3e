// A few numbers that lie side by side, in one access.
#pragma once

#include "device/cuda/kernels/number.cuh"

namespace {

/// N numbers, aligned to all of them, at most 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  static_assert(sizeof(T) * N <= 16);
  T part[N];

  __device__ static Pack load(const T* from) { return *reinterpret_cast<const Pack*>(from); }
  __device__ void store(T* to) const { *reinterpret_cast<Pack*>(to) = *this; }
  __device__ Compute<T> get(int i) const { return Number<T>::load(part[i]); }
  __device__ void set(int i, Compute<T> value) { part[i] = Number<T>::store(value); }
};

}  // namespace
