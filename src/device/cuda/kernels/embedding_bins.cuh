// The indices of an embedding sorted by the row that they name.
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

}  // namespace
