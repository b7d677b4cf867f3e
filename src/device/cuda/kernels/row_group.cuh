// The threads that share a row of a matrix, and the part of it that each of them holds.
#pragma once

#include "device/cuda/kernels/reduce.cuh"
#include "device/cuda/kernels/row_slots.hpp"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::RowSlots;

/// Group threads in line work on one row: part of a warp, a warp or the block.
template <int Group>
struct RowGroup {
  std::uint64_t row;
  std::uint32_t lane;
  std::uint64_t step;  ///< to the group's next row, where blocks stay for several

  __device__ RowGroup() {
    const std::uint32_t groups = blockDim.x / Group;
    row = static_cast<std::uint64_t>(blockIdx.x) * groups + threadIdx.x / Group;
    lane = threadIdx.x % Group;
    step = static_cast<std::uint64_t>(gridDim.x) * groups;
  }
};

/// A slot's elements; those of other rows become `filler`.
template <class T>
__device__ __forceinline__ Vector<T> load_slot(const T* matrix, const RowSlots& row, std::uint32_t slot,
                                               std::uint64_t columns, Compute<T> filler) {
  const T* from = matrix + (row.first_vector + slot) * kPerVector<T>;
  if (row.whole(slot, kPerVector<T>, columns)) return Vector<T>(from);
  Vector<T> v;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) {
    const std::int64_t column = row.column(slot, kPerVector<T>, j);
    const bool own = column >= 0 && column < static_cast<std::int64_t>(columns);
    v.set(j, own ? Number<T>::load(from[j]) : filler);
  }
  return v;
}

template <class T>
__device__ __forceinline__ void store_slot(T* matrix, const RowSlots& row, std::uint32_t slot,
                                           std::uint64_t columns, const Vector<T>& v) {
  T* to = matrix + (row.first_vector + slot) * kPerVector<T>;
  if (row.whole(slot, kPerVector<T>, columns)) {
    v.store(to);
    return;
  }
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) {
    const std::int64_t column = row.column(slot, kPerVector<T>, j);
    if (column >= 0 && column < static_cast<std::int64_t>(columns)) to[j] = v.part[j];
  }
}

/// A row in the registers of its group, each thread Slots vectors of it, as they are stored: numbers of 16
/// bits take half the registers that way, which leaves room for more warps. Vectors past the row hold nothing
/// that counts: whoever goes over a row asks `has` first.
template <class T, int Group, int Slots>
struct HeldRow {
  static constexpr std::int32_t V = kPerVector<T>;
  Vector<T> held[Slots];

  __device__ static bool has(const RowSlots& row, std::uint32_t lane, int k) {
    return lane + k * Group < row.slots;
  }
  /// Where a vector's first element is in the row; below 0 if it is in the row before.
  __device__ static std::int32_t begin(const RowSlots& row, std::uint32_t lane, int k) {
    return static_cast<std::int32_t>((lane + k * Group) * V) - row.lead;
  }
  __device__ static bool owns(const RowSlots& row, std::uint32_t lane, int k, int j, std::uint64_t columns) {
    const std::int32_t column = begin(row, lane, k) + j;
    return column >= 0 && column < static_cast<std::int32_t>(columns);
  }
  /// How many of a vector's elements are the row's.
  __device__ static int own(const RowSlots& row, std::uint32_t lane, int k, std::uint64_t columns) {
    const std::int32_t first = begin(row, lane, k), end = first + V,
                       last = static_cast<std::int32_t>(columns);
    return (end < last ? end : last) - (first < 0 ? 0 : first);
  }
  /// `matrix` has `rows` rows. Vectors that a row shares with its neighbours are read whole as well, and what
  /// is not the row's replaced by `filler` after all reads are under way; of elements one by one each would
  /// wait for the one before.
  __device__ void load(const T* matrix, std::uint64_t rows, const RowSlots& row, std::uint32_t lane,
                       std::uint64_t columns, Compute<T> filler) {
    const std::uint64_t whole =
        rows * columns / V - row.first_vector;  // all but the matrix's last few elements
    const T* from = matrix + row.first_vector * V;
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = lane + k * Group;
      if (slot < row.slots && slot < whole) held[k] = Vector<T>(from + slot * std::uint64_t{V});
    }
    if (columns % V == 0) return;
#pragma unroll
    for (int k = 0; k < Slots; ++k) {
      const std::uint32_t slot = lane + k * Group;
      if (slot >= row.slots || own(row, lane, k, columns) == V) continue;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (!owns(row, lane, k, j, columns)) {
          held[k].set(j, filler);
        } else if (slot >= whole) {
          held[k].part[j] = from[slot * std::uint64_t{V} + j];
        }
      }
    }
  }
  __device__ Compute<T> get(int k, int j) const { return held[k].get(j); }
};

/// Numbers of a vector over columns (weight, bias) at a slot of a row.
template <class T>
__device__ __forceinline__ Vector<T> load_columns(const T* values, const RowSlots& row, std::uint32_t slot,
                                                  std::uint64_t columns) {
  if (columns % kPerVector<T> == 0) return Vector<T>(values + slot * kPerVector<T>);
  Vector<T> v;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) {
    const std::int64_t column = row.column(slot, kPerVector<T>, j);
    if (column >= 0 && column < static_cast<std::int64_t>(columns)) v.part[j] = values[column];
  }
  return v;
}

}  // namespace
