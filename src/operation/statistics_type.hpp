// In which type a normalization keeps its statistics.
#pragma once

#include "jitterscope/operation.hpp"

namespace jitterscope::kinds {

/// f32 where dtype has 16 bits, as PyTorch keeps them.
inline DataType statistics_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? DataType::f32 : dtype;
}

}  // namespace jitterscope::kinds
