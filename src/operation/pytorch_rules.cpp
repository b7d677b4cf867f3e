#include "operation/pytorch_rules.hpp"

#include <limits>

namespace jitterscope {
namespace {

bool is_depthwise(const Conv2d& conv) {
  return conv.groups > 1 && conv.groups == conv.c && conv.k % conv.c == 0;
}

// check_cudnn_depthwise_workload_with_filter.
bool is_measured_faster(const Conv2d& conv) {
  if (conv.h == 1 && conv.stride_w == 1) return true;
  const bool known_filter = conv.r == conv.s && (conv.s == 1 || conv.s == 3 || conv.s == 5);
  if (!known_filter || conv.w < 7) return false;
  if (conv.stride_w == 1) return true;
  if (conv.stride_w != 2) return false;
  if (conv.n == 1) return conv.s != 1 || conv.w <= 28;
  if (conv.s == 1) return conv.n <= 16 && conv.c >= 128 && conv.w <= 7;
  return conv.c >= 512 || (conv.c >= 256 && conv.w >= 28);
}

}  // namespace

bool pytorch_runs_in_tf32(const Operation& operation) {
  const auto* conv = std::get_if<Conv2d>(&operation.parameters());
  return conv != nullptr && conv->dtype == DataType::f32 && pytorch_uses_cudnn(*conv);
}

bool pytorch_uses_cudnn(const Conv2d& conv) {
  if (!is_depthwise(conv) || conv.layout == Layout::nhwc) return true;
  const bool may_be = conv.dtype == DataType::f16 && conv.dilation_h == 1 && conv.dilation_w == 1 &&
                      (conv.stride_h == conv.stride_w || conv.h == 1) && conv.c >= 32;
  return may_be && is_measured_faster(conv);
}

bool pytorch_uses_cudnn(const BatchNorm& norm) {
  constexpr std::int64_t kLargestTrainingBatch = 880801, kLargestInferenceBatch = 65535;
  const bool training = norm.pass != Pass::inference;
  const bool half_weights = norm.dtype == DataType::f16 && norm.weights != DataType::f32;
  return norm.dtype != DataType::bf16 && !half_weights &&
         norm.n <= (training ? kLargestTrainingBatch : kLargestInferenceBatch) &&
         norm.n * norm.c * norm.h * norm.w < std::numeric_limits<std::int32_t>::max();
}

bool pytorch_uses_persistent_mode(const BatchNorm& norm) {
  return norm.pass != Pass::inference && norm.layout == Layout::nhwc;
}

bool pytorch_uses_bias_epilogue(const Matmul& matmul) {
  return matmul.bias && matmul.batch == 1 && matmul.n > 1 && matmul.k > 1;
}

}  // namespace jitterscope
