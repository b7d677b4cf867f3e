// Eight numbers of a row in registers, and those beside them.
#pragma once

#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/pool_rows.hpp"
#include "device/cuda/kernels/vector.cuh"

namespace {

/// Count numbers with Left before and Right after them.
template <class T, int Left, int Count, int Right>
struct RowPart {
  Numbers<T, Count> middle;
  T left[Left > 0 ? Left : 1], right[Right > 0 ? Right : 1];

  __device__ __forceinline__ const T& part(int i) const {
    if (i < Left) return left[i];
    if (i >= Left + Count) return right[i - Left - Count];
    return middle.part(i - Left);
  }
  __device__ Compute<T> get(int i) const { return Number<T>::load(part(i)); }
};

}  // namespace
