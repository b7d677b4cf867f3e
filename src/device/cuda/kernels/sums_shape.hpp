// How blocks share the sums over the columns of a matrix.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jitterscope::cuda {

/// Threads of a block stand so wide and so high.
inline constexpr std::uint32_t kSumColumns = 32, kSumRows = 8;
inline constexpr unsigned kSumThreads = kSumColumns * kSumRows;

inline std::int64_t sum_blocks_across(std::int64_t columns) {
  return (columns + kSumColumns - 1) / kSumColumns;
}
/// Rows are spread over so many blocks that a GPU has work, and 8 rows or more are left to each thread.
inline std::int64_t sum_parts_of(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kBlocks = 1024, kLeastRows = 8 * kSumRows;
  const std::int64_t wanted = std::max<std::int64_t>(kBlocks / sum_blocks_across(columns), 1);
  return std::min(wanted, (rows + kLeastRows - 1) / kLeastRows);
}

}  // namespace jitterscope::cuda
