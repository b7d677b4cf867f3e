// Two sums over each column of a matrix at once, without atomics: partial sums of blocks of rows, added in
// the same order each time.
#pragma once

#include "device/cuda/kernels/sums_shape.hpp"
#include "device/cuda/kernels/vector.cuh"

namespace {

using jitterscope::cuda::ColumnSumShape;
using jitterscope::cuda::kSumThreads;

/// Writes the block's sums at row `row block` of first and second. Terms gives, for V columns of one row,
/// what is added to both: terms.add(row, column, first, second).
template <int V, class C, class Terms>
__device__ __forceinline__ void sum_columns(const ColumnSumShape& shape, const Terms& terms, C* first,
                                            C* second) {
  const std::int32_t row_block = static_cast<std::int32_t>(blockIdx.x) / shape.column_blocks;
  const std::int32_t column_block = static_cast<std::int32_t>(blockIdx.x) % shape.column_blocks;
  const std::int32_t x = static_cast<std::int32_t>(threadIdx.x) % shape.across;
  const std::int32_t y = static_cast<std::int32_t>(threadIdx.x) / shape.across;
  const std::int32_t group = column_block * shape.across + x;
  C sums[2 * V] = {};
  if (group < shape.groups) {
    const std::uint64_t step = static_cast<std::uint64_t>(shape.row_blocks) * shape.down;
#pragma unroll 4
    for (std::uint64_t row = static_cast<std::uint64_t>(row_block) * shape.down + y; row < shape.rows;
         row += step) {
      terms.add(row, group * V, sums);
    }
  }
  __shared__ C kept[kSumThreads];
#pragma unroll
  for (int j = 0; j < 2 * V; ++j) {
    kept[threadIdx.x] = sums[j];
    __syncthreads();
    if (y == 0 && group < shape.groups) {
      C sum = 0;
      for (std::int32_t i = 0; i < shape.down; ++i) sum += kept[i * shape.across + x];
      C* to = j < V ? first : second;
      to[static_cast<std::uint64_t>(row_block) * shape.columns + group * V + j % V] = sum;
    }
    __syncthreads();
  }
}

/// Adds `parts` rows of partial sums for 32 columns, by a block of 32x32 threads. The threads of the first
/// warp get their column's two sums; the others nothing that counts.
template <class C>
__device__ __forceinline__ void add_parts(const C* first, const C* second, std::uint32_t parts,
                                          std::uint32_t columns, C& first_sum, C& second_sum) {
  __shared__ C kept[2][32][33];
  const std::uint32_t x = threadIdx.x % 32, y = threadIdx.x / 32;
  const std::uint32_t column = blockIdx.x * 32 + x;
  C a = 0, b = 0;
  if (column < columns) {
#pragma unroll 8
    for (std::uint32_t part = y; part < parts; part += 32) {
      a += first[static_cast<std::uint64_t>(part) * columns + column];
      b += second[static_cast<std::uint64_t>(part) * columns + column];
    }
  }
  kept[0][y][x] = a;
  kept[1][y][x] = b;
  __syncthreads();
  if (y != 0) return;
  first_sum = second_sum = 0;
  for (int i = 0; i < 32; ++i) {
    first_sum += kept[0][i][x];
    second_sum += kept[1][i][x];
  }
}

}  // namespace
