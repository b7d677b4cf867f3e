#include "import/operator_conversion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "import/native_conversions.hpp"
#include "import/operator_schema.hpp"
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

// Nothing where no native operation stands for the operator. A shape that no native operation can have is
// none for the operator itself either, so that error is passed on.
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
      // What the record lacks for PyTorch's own operator, the native operation does without.
    }
  }
  return native;
}

}  // namespace jitterscope
