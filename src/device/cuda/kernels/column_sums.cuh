// Two sums over each column of a matrix at once, without atomics: first partial sums of some rows each, then
// their sums, always added in the same order.
#pragma once

#include "device/cuda/kernels/number.cuh"
#include "device/cuda/kernels/shapes.hpp"

namespace {

using jitterscope::cuda::kSumColumns;
using jitterscope::cuda::kSumRows;

/// The rows and the column that a thread sums.
struct ColumnPlace {
  std::uint64_t first_row, row_step;
  std::uint32_t column, part;

  __device__ explicit ColumnPlace(std::uint32_t columns) {
    const std::uint32_t across = (columns + kSumColumns - 1) / kSumColumns;
    part = blockIdx.x / across;
    column = blockIdx.x % across * kSumColumns + threadIdx.x % kSumColumns;
    first_row = static_cast<std::uint64_t>(part) * kSumRows + threadIdx.x / kSumColumns;
    row_step = static_cast<std::uint64_t>(gridDim.x / across) * kSumRows;
  }
};

/// terms.add(row, column, a, b) adds an element's terms to both sums. Returns true for one thread of each
/// column, which then has the block's sums.
template <class C, class Terms>
__device__ __forceinline__ bool sum_columns(const ColumnPlace& place, const Terms& terms, std::uint64_t rows,
                                            std::uint32_t columns, C& a, C& b) {
  __shared__ C kept[2][kSumRows][kSumColumns];
  const std::uint32_t x = threadIdx.x % kSumColumns, y = threadIdx.x / kSumColumns;
  a = b = 0;
  if (place.column < columns) {
#pragma unroll 4
    for (std::uint64_t row = place.first_row; row < rows; row += place.row_step) {
      terms.add(row, place.column, a, b);
    }
  }
  kept[0][y][x] = a;
  kept[1][y][x] = b;
  __syncthreads();
  if (y != 0 || place.column >= columns) return false;
  for (std::uint32_t i = 1; i < kSumRows; ++i) {
    a += kept[0][i][x];
    b += kept[1][i][x];
  }
  return true;
}

/// Partial sums: each part has a row of first sums, then a row of second sums.
template <class C>
struct PartialSums {
  C* sums;
  std::uint32_t columns;
  __device__ C* first(std::uint64_t part) const { return sums + 2 * part * columns; }
  __device__ C* second(std::uint64_t part) const { return first(part) + columns; }
  __device__ void add(std::uint64_t part, std::uint32_t column, C& a, C& b) const {
    a += first(part)[column];
    b += second(part)[column];
  }
};

/// Writes the block's sums as those of its part.
template <class C, class Terms>
__device__ __forceinline__ void sum_part(const PartialSums<C>& to, const Terms& terms, std::uint64_t rows) {
  const ColumnPlace place(to.columns);
  C a, b;
  if (!sum_columns(place, terms, rows, to.columns, a, b)) return;
  to.first(place.part)[place.column] = a;
  to.second(place.part)[place.column] = b;
}

/// Sums the parts. Returns true for one thread of each column.
template <class C>
__device__ __forceinline__ bool sum_parts(const PartialSums<C>& from, std::uint32_t parts,
                                          std::uint32_t& column, C& a, C& b) {
  const ColumnPlace place(from.columns);
  column = place.column;
  return sum_columns(place, from, parts, from.columns, a, b);
}

}  // namespace
