#include "import/operator_conversion.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "import/recorded_operator.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

struct NamedConversion {
  std::string_view name;
  NativeConversion convert;
};

constexpr NamedConversion kConversions[] = {
    {"aten::cudnn_convolution", convert_convolution},
    {"aten::mkldnn_convolution", convert_convolution},
    {"aten::cudnn_convolution_transpose", convert_transposed_convolution},
    {"aten::convolution_backward", convert_convolution_backward},
    {"aten::linear", convert_linear},
    {"aten::addmm", convert_addmm},
    {"aten::mm", convert_mm},
    {"aten::bmm", convert_bmm},
    {"aten::baddbmm", convert_baddbmm},
    {"aten::cudnn_batch_norm", convert_batch_norm},
    {"aten::cudnn_batch_norm_backward", convert_batch_norm_backward},
    {"aten::native_batch_norm", convert_batch_norm},
    {"aten::_native_batch_norm_legit", convert_batch_norm},
    {"aten::native_batch_norm_backward", convert_batch_norm_backward},
    {"aten::native_layer_norm", convert_layer_norm},
    {"aten::native_layer_norm_backward", convert_layer_norm_backward},
    {"aten::_softmax", convert_softmax},
    {"aten::_log_softmax", convert_softmax},
    {"aten::_softmax_backward_data", convert_softmax_backward},
    {"aten::_log_softmax_backward_data", convert_softmax_backward},
    {"aten::max_pool2d_with_indices", convert_max_pool},
    {"aten::max_pool2d_with_indices_backward", convert_max_pool_backward},
    {"aten::avg_pool2d", convert_average_pool},
    {"aten::avg_pool2d_backward", convert_average_pool_backward},
    {"aten::_adaptive_avg_pool2d", convert_adaptive_pool},
    {"aten::_adaptive_avg_pool2d_backward", convert_adaptive_pool_backward},
    {"aten::mean", convert_mean},
    {"aten::add", convert_sum_or_product},
    {"aten::add_", convert_sum_or_product},
    {"aten::mul", convert_sum_or_product},
    {"aten::mul_", convert_sum_or_product},
    {"aten::relu", convert_activation},
    {"aten::relu_", convert_activation},
    {"aten::clamp_min", convert_activation},
    {"aten::clamp_min_", convert_activation},
    {"aten::clamp", convert_activation},
    {"aten::clamp_", convert_activation},
    {"aten::hardtanh", convert_activation},
    {"aten::hardtanh_", convert_activation},
    {"aten::sigmoid", convert_activation},
    {"aten::sigmoid_", convert_activation},
    {"aten::tanh", convert_activation},
    {"aten::tanh_", convert_activation},
    {"aten::silu", convert_activation},
    {"aten::silu_", convert_activation},
    {"aten::gelu", convert_activation},
    {"aten::threshold_backward", convert_activation_backward},
    {"aten::hardtanh_backward", convert_activation_backward},
    {"aten::sigmoid_backward", convert_activation_backward},
    {"aten::tanh_backward", convert_activation_backward},
    {"aten::silu_backward", convert_activation_backward},
    {"aten::gelu_backward", convert_activation_backward},
    {"aten::fill_", convert_fill},
    {"aten::zero_", convert_fill},
    {"aten::copy_", convert_copy},
    {"aten::embedding", convert_embedding},
    {"aten::embedding_dense_backward", convert_embedding_backward},
    {"aten::_foreach_add_", convert_optimizer},
    {"aten::_fused_sgd_", convert_optimizer},
    {"aten::_fused_adam_", convert_optimizer},
    {"aten::_fused_adamw_", convert_optimizer},
    {"aten::_scaled_dot_product_flash_attention", convert_attention},
    {"aten::_scaled_dot_product_efficient_attention", convert_attention},
    {"aten::_scaled_dot_product_cudnn_attention", convert_attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", convert_attention},
    {"aten::_scaled_dot_product_flash_attention_backward", convert_attention_backward},
    {"aten::_scaled_dot_product_efficient_attention_backward", convert_attention_backward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", convert_attention_backward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", convert_attention_backward},
};

// Returns an empty list if no native operation does the work. An error about an impossible shape is passed
// on: the shape is impossible for the operator itself, too.
Converted convert_natively(const RecordedOperator& recorded, ConversionContext& context) {
  const auto* const found = std::find_if(std::begin(kConversions), std::end(kConversions),
                                         [&](const auto& known) { return known.name == recorded.name; });
  if (found == std::end(kConversions)) return {};
  try {
    return found->convert(recorded, context);
  } catch (const NotNative&) {
    return {};
  }
}

}  // namespace

void ConversionContext::note(std::string_view sentence) { add_once(notes, sentence); }

Aten aten_of(const RecordedOperator& recorded) {
  Aten aten;
  const std::string overload = recorded.overload ? *recorded.overload : known_overload(recorded);
  aten.name = overload.empty() ? recorded.name : recorded.name + "." + overload;
  for (const RecordedArgument& argument : recorded.arguments) {
    if (!argument.problem.empty()) throw UsageError(argument.problem);
    aten.arguments.push_back(argument.value);
  }
  aten.argument_names.resize(aten.arguments.size());
  return aten;
}

std::vector<ConvertedOperation> convert(const RecordedOperator& recorded, ConversionContext& context) {
  Converted native = convert_natively(recorded, context);
  if (native.empty()) return {{Operation(aten_of(recorded))}};
  for (ConvertedOperation& converted : native) {
    if (converted.aten) continue;
    try {
      converted.aten = Operation(aten_of(recorded));
    } catch (const UsageError&) {
      // The native operation does not need the arguments that the record lacks.
    }
  }
  return native;
}

namespace {

constexpr std::int64_t kTooLarge = std::int64_t{1} << 50;

// The product stays at kTooLarge, so that a damaged shape cannot overflow.
std::int64_t limited(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > kTooLarge / b ? kTooLarge : a * b;
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = limited(step, std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

std::vector<std::int64_t> strides_of(const AtenArgument& tensor) {
  return tensor.strides.size() == tensor.shape.size() ? tensor.strides : row_major_strides(tensor.shape);
}

}  // namespace

bool is_dense_in(const AtenArgument& tensor, std::span<const int> order) {
  require_native(order.size() == tensor.shape.size());
  const std::vector<std::int64_t> strides = strides_of(tensor);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto dimension = static_cast<std::size_t>(order[i]);
    const std::int64_t size = tensor.shape[dimension];
    if (size != 1 && strides[dimension] != step) return false;
    step = limited(step, size);
  }
  return true;
}

bool is_dense_row_major(const AtenArgument& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  return is_dense_in(tensor, order);
}

bool is_dense(const AtenArgument& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int64_t> strides = strides_of(tensor);
  const auto outer = [&](int a, int b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  };
  std::stable_sort(order.begin(), order.end(), outer);
  return is_dense_in(tensor, order);
}

bool have_equal_strides(const AtenArgument& a, const AtenArgument& b) {
  const std::vector<std::int64_t> left = strides_of(a), right = strides_of(b);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (a.shape[i] != 1 && left[i] != right[i]) return false;
  }
  return a.shape == b.shape;
}

std::optional<Layout> dense_layout(const AtenArgument& tensor) {
  constexpr int kRowMajor[] = {0, 1, 2, 3}, kChannelsLast[] = {0, 2, 3, 1};
  require_native(tensor.shape.size() == 4);
  const bool nhwc = is_dense_in(tensor, kChannelsLast);
  if (is_dense_in(tensor, kRowMajor) && !(nhwc && suggested_layout(tensor) == Layout::nhwc)) {
    return Layout::nchw;
  }
  return nhwc ? std::optional(Layout::nhwc) : std::nullopt;
}

Layout suggested_layout(const AtenArgument& tensor) {
  const std::vector<std::int64_t> strides = strides_of(tensor);
  if (tensor.shape.size() != 4 || strides[1] == 0) return Layout::nchw;
  std::int64_t smallest = 0;
  for (const std::size_t dimension : {1u, 3u, 2u, 0u}) {
    if (tensor.shape[dimension] == 0 || strides[dimension] < smallest) return Layout::nchw;
    // Equal strides do not tell the layouts apart: n·1·1·1 is taken as nchw.
    if (dimension == 0 && smallest == strides[1]) return Layout::nchw;
    smallest = limited(strides[dimension], std::max<std::int64_t>(tensor.shape[dimension], 1));
  }
  return Layout::nhwc;
}

std::int64_t element_count(const AtenArgument& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) count = limited(count, size);
  return count;
}

DataType native_type(const AtenArgument& tensor) {
  for (const DataType type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    if (tensor.text == to_string(type)) return type;
  }
  throw NotNative();
}

}  // namespace jitterscope
