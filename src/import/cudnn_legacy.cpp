#include "import/cudnn_legacy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/cudnn_execution.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::library_log {
namespace {

std::optional<Direction> direction_of(std::string_view function) {
  if (function == "cudnnConvolutionForward") return Direction::fprop;
  if (function == "cudnnConvolutionBackwardData") return Direction::dgrad;
  if (function == "cudnnConvolutionBackwardFilter") return Direction::wgrad;
  return std::nullopt;
}

std::string value_of(const ApiFields& fields, std::string_view name, std::string_view prefix = "") {
  const std::optional<ApiFields> found = fields.find(name);
  if (!found) return {};
  std::string_view value = found->value();
  consume(value, prefix);
  return quotable(value);
}

// Filters have a format in place of strides.
LoggedTensor filter_of(const ApiFields& descriptor) {
  LoggedTensor filter = read_tensor(descriptor);
  if (filter.dimensions.size() != 4) return filter;
  // Beyond 2^31 no dimension exists, and the product of three would overflow.
  const bool is_possible = std::all_of(filter.dimensions.begin(), filter.dimensions.end(),
                                       [](std::int64_t size) { return size > 0 && size < (1 << 20); });
  const std::string format = value_of(descriptor, "format", "CUDNN_TENSOR_");
  if (is_possible) {
    filter.strides = dense_strides(filter.dimensions, format == "NHWC" ? Layout::nhwc : Layout::nchw);
  }
  return filter;
}

std::optional<LoggedConvolution> read_convolution(const ApiFields& call, Direction direction) {
  const auto x = call.find(direction == Direction::dgrad ? "dxDesc" : "xDesc");
  const auto y = call.find(direction == Direction::fprop ? "yDesc" : "dyDesc");
  const auto w = call.find(direction == Direction::wgrad ? "dwDesc" : "wDesc");
  const auto numbers = call.find("convDesc");
  if (!x || !y || !w || !numbers) return std::nullopt;
  const auto list = [&](std::string_view name) {
    const std::optional<ApiFields> found = numbers->find(name);
    return found ? found->numbers() : std::vector<std::int64_t>();
  };
  return LoggedConvolution{.direction = direction,
                           .x = read_tensor(*x),
                           .y = read_tensor(*y),
                           .w = filter_of(*w),
                           .pad_before = list("padA"),
                           .pad_after = list("padA"),
                           .stride = list("strideA"),
                           .dilation = list("dilationA"),
                           .mode = value_of(*numbers, "mode", "CUDNN_"),
                           .alpha = real_number(value_of(call, "alpha")).value_or(1.0),
                           .beta = real_number(value_of(call, "beta")).value_or(0.0)};
}

// PyTorch sets CUDNN_FMA_MATH where fp32 may not become TF32.
bool may_use_tf32(const ApiFields& call) {
  const std::optional<ApiFields> numbers = call.find("convDesc");
  return numbers && value_of(*numbers, "mathType", "CUDNN_") != "FMA_MATH";
}

}  // namespace

bool is_legacy_call(const ApiRecord& record) {
  constexpr std::array<std::string_view, 30> kNames = {"cudnnConvolutionForward",
                                                       "cudnnConvolutionBackwardData",
                                                       "cudnnConvolutionBackwardFilter",
                                                       "cudnnConvolutionBackwardBias",
                                                       "cudnnConvolutionBiasActivationForward",
                                                       "cudnnBatchNormalizationForwardTraining",
                                                       "cudnnBatchNormalizationForwardTrainingEx",
                                                       "cudnnBatchNormalizationForwardInference",
                                                       "cudnnBatchNormalizationBackward",
                                                       "cudnnBatchNormalizationBackwardEx",
                                                       "cudnnActivationForward",
                                                       "cudnnActivationBackward",
                                                       "cudnnPoolingForward",
                                                       "cudnnPoolingBackward",
                                                       "cudnnSoftmaxForward",
                                                       "cudnnSoftmaxBackward",
                                                       "cudnnDropoutForward",
                                                       "cudnnDropoutBackward",
                                                       "cudnnLRNCrossChannelForward",
                                                       "cudnnLRNCrossChannelBackward",
                                                       "cudnnRNNForward",
                                                       "cudnnRNNBackwardData_v8",
                                                       "cudnnRNNBackwardWeights_v8",
                                                       "cudnnCTCLoss_v8",
                                                       "cudnnMultiHeadAttnForward",
                                                       "cudnnAddTensor",
                                                       "cudnnOpTensor",
                                                       "cudnnReduceTensor",
                                                       "cudnnTransformTensor",
                                                       "cudnnSetTensor"};
  // A second record of the same call has its status alone.
  return std::find(kNames.begin(), kNames.end(), record.function) != kNames.end() &&
         !record.arguments().find("status");
}

std::optional<LegacyCall> read_legacy_call(const ApiRecord& record) {
  LegacyCall result{.operation = {}, .reason = {}};
  const std::optional<Direction> direction = direction_of(record.function);
  if (!direction) {
    result.reason = "of cuDNN's functions only convolutions are timed";
    return result;
  }
  const std::optional<LoggedConvolution> convolution = read_convolution(record.arguments(), *direction);
  if (!convolution) return std::nullopt;
  try {
    result.operation = Operation(conv2d_of(*convolution, may_use_tf32(record.arguments())));
    result.lacks_engine = true;
  } catch (const UsageError& why) {
    result.reason = why.what();
  }
  return result;
}

}  // namespace jitterscope::library_log
