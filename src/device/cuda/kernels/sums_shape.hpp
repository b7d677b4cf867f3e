// Sums over the columns of a matrix: how blocks share the work, for kernels and the host.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

inline constexpr std::int32_t kSumThreads = 256;

/// A block takes `across` groups of neighbouring columns and every `step`-th row; its threads stand `across`
/// wide and `down` high.
struct ColumnSumShape {
  std::uint64_t rows = 0;
  std::int32_t columns = 0, groups = 0;  ///< a group is what one thread reads at once
  std::int32_t across = 1, down = 1;
  std::int32_t column_blocks = 1, row_blocks = 1;

  /// Rows are spread over as many blocks as keep `filling` of them busy, 8 rows for each thread at least.
  static ColumnSumShape make(std::int64_t rows, std::int64_t columns, int group, std::int64_t filling) {
    ColumnSumShape shape;
    shape.rows = static_cast<std::uint64_t>(rows);
    shape.columns = static_cast<std::int32_t>(columns);
    shape.groups = static_cast<std::int32_t>(columns / group);
    while (shape.across < 32 && shape.across < shape.groups) shape.across *= 2;
    shape.down = kSumThreads / shape.across;
    shape.column_blocks = (shape.groups + shape.across - 1) / shape.across;
    const std::int64_t least = std::int64_t{8} * shape.down;
    const std::int64_t useful = (rows + least - 1) / least;
    const std::int64_t wanted = (filling + shape.column_blocks - 1) / shape.column_blocks;
    shape.row_blocks = static_cast<std::int32_t>(useful < wanted ? useful : wanted);
    return shape;
  }
  std::int64_t blocks() const { return std::int64_t{column_blocks} * row_blocks; }
};

}  // namespace jitterscope::cuda
