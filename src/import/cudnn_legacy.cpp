#include "import/cudnn_legacy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/cudnn_execution.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::library_log {
namespace {

std::optional<Direction> direction_of_function(std::string_view function) {
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

std::optional<LoggedConvolution> read_function_convolution(const ApiFields& call, Direction direction) {
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

std::optional<Pass> normalization_pass(std::string_view function) {
  if (!consume(function, "cudnnBatchNormalization")) return std::nullopt;
  if (function.starts_with("ForwardTraining")) return Pass::forward;
  if (function.starts_with("Backward")) return Pass::backward;
  return Pass::inference;
}

// Nothing where the record is damaged. Throws UsageError that says why batch_norm cannot be it.
std::optional<BatchNorm> read_normalization(const ApiFields& call, Pass pass) {
  const std::optional<ApiFields> descriptor = call.find("xDesc");
  if (!descriptor) return std::nullopt;
  const LoggedTensor x = read_tensor(*descriptor);
  if (x.dimensions.size() != x.strides.size() || x.dimensions.empty()) return std::nullopt;
  const std::string mode = value_of(call, "mode", "CUDNN_BATCHNORM_");
  if (mode.empty()) return std::nullopt;
  if (!mode.starts_with("SPATIAL")) throw UsageError("it normalizes each activation, not each channel");
  const std::string fused = value_of(call, "bnOps", "CUDNN_BATCHNORM_OPS_");
  if (!fused.empty() && fused != "BN") throw UsageError("it is fused with an activation, which is not timed");
  if (x.dimensions.size() != 4) {
    throw UsageError(fmt::format("its x has {} dimensions, and that of batch_norm 4", x.dimensions.size()));
  }
  const std::optional<DataType> dtype = data_type_of(x.type, false);
  if (!dtype) throw UsageError(fmt::format("its x is of {}, which batch_norm is not", x.type));
  BatchNorm norm{.n = x.dimensions[0],
                 .c = x.dimensions[1],
                 .h = x.dimensions[2],
                 .w = x.dimensions[3],
                 .dtype = *dtype,
                 .layout = Layout::nchw,
                 .pass = pass};
  const Operation checked(norm);  // before its strides are computed
  const std::optional<Layout> layout = layout_of({&x});
  if (!layout) throw UsageError("the strides of its x are those of neither nchw nor nhwc");
  norm.layout = *layout;
  return norm;
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
  const std::optional<Direction> direction = direction_of_function(record.function);
  const std::optional<Pass> pass = normalization_pass(record.function);
  try {
    if (pass) {
      const std::optional<BatchNorm> norm = read_normalization(record.arguments(), *pass);
      if (!norm) return std::nullopt;
      result.operation = Operation(*norm);
      return result;
    }
    if (!direction)
      throw UsageError("of cuDNN's functions only convolution and batch normalization are timed");
    const std::optional<LoggedConvolution> convolution =
        read_function_convolution(record.arguments(), *direction);
    if (!convolution) return std::nullopt;
    result.operation = Operation(conv2d_of(*convolution, may_use_tf32(record.arguments())));
    result.lacks_engine = true;
  } catch (const UsageError& why) {
    result.reason = why.what();
  }
  return result;
}

}  // namespace jitterscope::library_log
