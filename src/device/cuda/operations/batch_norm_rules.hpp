// When PyTorch gives batch normalization to cuDNN, and in which mode.
#pragma once

#include <limits>

#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

/// PyTorch 2.4's _select_batch_norm_backend, for a layer with weight and bias; otherwise it runs a kernel of
/// its own. Whether newer versions give bf16 to cuDNN was not checked.
inline bool is_cudnn_batch_norm(const BatchNorm& norm) {
  constexpr std::int64_t kLargestTrainingBatch = 880801, kLargestInferenceBatch = 65535;
  const bool training = norm.pass != Pass::inference;
  const bool half_weights = norm.dtype == DataType::f16 && norm.weights != DataType::f32;
  return norm.dtype != DataType::bf16 && !half_weights &&
         norm.n <= (training ? kLargestTrainingBatch : kLargestInferenceBatch) &&
         norm.n * norm.c * norm.h * norm.w < std::numeric_limits<std::int32_t>::max();
}

/// The persistent kernels, which read x once, are for training in channels-last alone.
inline bool is_persistent_batch_norm(const BatchNorm& norm) {
  return norm.pass != Pass::inference && norm.layout == Layout::nhwc;
}

}  // namespace jitterscope::cuda
