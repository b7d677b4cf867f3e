// The indices of an embedding by the row that they name: sorted, or in bins of one size.
#pragma once

#include "device/cuda/kernels/embedding_shape.hpp"
#include "device/cuda/kernels/number.cuh"

namespace {

/// Which of the sorted indices name a row.
struct IndexSpan {
  std::uint32_t begin, count;
};
/// Those of them from `first` on, which have threads of their own.
struct IndexPart {
  std::uint32_t row, first;
};

/// Zero before the first launch. Each launch leaves `counts` and `totals` as it needs to find them the next
/// time, which saves the clearing.
struct EmbeddingBins {
  std::uint32_t* counts;  ///< of each row
  std::uint32_t* ranks;   ///< of each index among those of its row
  IndexSpan* spans;       ///< of each row
  std::uint32_t* order;   ///< where in the list each of the sorted indices stands
  IndexPart* parts;
  std::uint32_t* totals;  ///< places taken in `order`, parts
};

/// An index whose bin is full. Zero where there is none.
struct LeftOver {
  std::uint32_t row_and_one, position;
};

/// Zero before the first launch. Who adds up leaves the counts, `left_over` and `totals` at zero.
struct RowBins {
  std::uint32_t* bins;  ///< of each row: the count of its indices, the positions of the first kBin of them
  LeftOver* left_over;
  std::uint32_t* places;  ///< of each full row among the full ones
  std::uint32_t* totals;  ///< left over, full rows

  __device__ std::uint32_t& count(std::uint64_t row) const { return bins[row * jitterscope::cuda::kLanes]; }
};

}  // namespace
