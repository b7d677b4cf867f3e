// In which types a normalization keeps its statistics and its weights.
#pragma once

#include "jitterscope/operation.hpp"

namespace jitterscope::kinds {

/// f32 where dtype has 16 bits, as PyTorch keeps them.
inline DataType statistics_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? DataType::f32 : dtype;
}

/// Of a batch normalization's weights that were converted with the rest of its model, as BatchNorm::weights
/// says it: dtype where that has 16 bits, else f32, which stands for dtype there.
inline DataType converted_weights_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? dtype : DataType::f32;
}

}  // namespace jitterscope::kinds
