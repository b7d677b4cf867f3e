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
  /// What nobody reads soon: the cache keeps other data before it.
  __device__ void store_once(T* to) const {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) * N == 16) {
      __stcs(reinterpret_cast<uint4*>(to), *reinterpret_cast<const uint4*>(this));
      return;
    }
#endif
    store(to);
  }
  __device__ Compute<T> get(int i) const { return Number<T>::load(part[i]); }
  __device__ void set(int i, Compute<T> value) { part[i] = Number<T>::store(value); }
};

/// `Count` numbers in as few accesses as they take; aligned to all of them, or to 16 bytes.
template <class T, int Count>
struct Numbers {
  static constexpr int kMost = 16 / sizeof(T);
  static constexpr int kEach = Count < kMost ? Count : kMost;
  Pack<T, kEach> packs[Count / kEach];

  __device__ __forceinline__ void load(const T* from) {
#pragma unroll
    for (int i = 0; i < Count / kEach; ++i) packs[i] = Pack<T, kEach>::load(from + i * kEach);
  }
  __device__ __forceinline__ void store(T* to) const {
#pragma unroll
    for (int i = 0; i < Count / kEach; ++i) packs[i].store(to + i * kEach);
  }
  __device__ Compute<T> get(int i) const { return Number<T>::load(part(i)); }
  __device__ void set(int i, Compute<T> value) { part(i) = Number<T>::store(value); }
  __device__ __forceinline__ T& part(int i) { return packs[i / kEach].part[i % kEach]; }
  __device__ __forceinline__ const T& part(int i) const { return packs[i / kEach].part[i % kEach]; }
};

}  // namespace
