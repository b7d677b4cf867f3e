// What both passes of layer normalization use.
#pragma once

#include "device/cuda/kernels/row_group.cuh"

namespace {

constexpr double kEpsilon = 1e-5;

__device__ __forceinline__ float inverse_root(float x) { return rsqrtf(x); }
__device__ __forceinline__ double inverse_root(double x) { return 1.0 / sqrt(x); }

/// Whether a slot's element is one of the row; all are where slot and column are within and no row begins
/// inside a vector.
template <class T>
__device__ __forceinline__ bool own_column(const RowSlots& row, std::uint32_t slot, int part,
                                           std::uint64_t columns) {
  const std::int64_t column = row.column(slot, kPerVector<T>, part);
  return column >= 0 && column < static_cast<std::int64_t>(columns);
}

}  // namespace
