// Element by element: sums, products, activations, fills and copies.
#include <algorithm>

#include "import/native_conversions.hpp"
#include "import/tensor_layout.hpp"

namespace jitterscope {
namespace {

ConvertedOperation elementwise(ElementwiseKind kind, const AtenArgument& tensor) {
  require_native(is_dense(tensor));
  Elementwise result;
  result.kind = kind;
  result.count = element_count(tensor);
  result.dtype = native_type(tensor);
  return as_operation(result);
}

bool are_alike(const AtenArgument& a, const AtenArgument& b) {
  return a.text == b.text && have_equal_strides(a, b);
}

// x + bias.reshape(1, c, 1, 1), as PyTorch adds a convolution's bias.
ConvertedOperation bias_add(const AtenArgument& x, const AtenArgument& bias) {
  require_native(x.shape.size() == 4 && x.text == bias.text && is_dense_row_major(bias));
  const std::vector<std::int64_t> whole = {1, x.shape[1], 1, 1}, part = {x.shape[1], 1, 1};
  const std::optional<Layout> layout = dense_layout(x);
  require_native((bias.shape == whole || bias.shape == part) && layout.has_value());
  BiasAdd add;
  add.n = x.shape[0], add.c = x.shape[1], add.h = x.shape[2], add.w = x.shape[3];
  add.dtype = native_type(x);
  add.layout = *layout;
  return as_operation(add);
}

std::string_view without_namespace_and_place(std::string_view name) {
  name.remove_prefix(std::min(name.size(), std::string_view("aten::").size()));
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

bool clamps(const Arguments& arguments, std::string_view low, std::string_view high) {
  return arguments.number(low) == 0.0 && arguments.number(high) == 6.0;
}

ElementwiseKind activation(std::string_view word, const Arguments& arguments) {
  using enum ElementwiseKind;
  if (word == "relu") return relu;
  if (word == "sigmoid") return sigmoid;
  if (word == "tanh") return tanh;
  if (word == "silu") return silu;
  if (word == "clamp_min" && arguments.number("min") == 0.0) return relu;
  if (word == "clamp" && clamps(arguments, "min", "max")) return relu6;
  if (word == "hardtanh" && clamps(arguments, "min_val", "max_val")) return relu6;
  throw NotNative();
}

ElementwiseKind activation_backward(std::string_view word, const Arguments& arguments) {
  using enum ElementwiseKind;
  if (word == "sigmoid_backward") return sigmoid_backward;
  if (word == "tanh_backward") return tanh_backward;
  if (word == "silu_backward") return silu_backward;
  if (word == "threshold_backward" && arguments.number("threshold") == 0.0) return relu_backward;
  if (word == "hardtanh_backward" && clamps(arguments, "min_val", "max_val")) return relu6_backward;
  throw NotNative();
}

// A profiler trace leaves strings out; the exact one is what torch.nn.GELU computes unless told otherwise.
void require_exact_gelu(const Arguments& arguments, ConversionContext& context) {
  const RecordedArgument* approximate = arguments.find("approximate");
  if (approximate != nullptr && approximate->value.kind == AtenArgument::Kind::text) {
    require_native(approximate->value.text == "none");
  } else {
    context.note("The record does not say which GELU ran; the exact one (by erf) is taken.");
  }
}

}  // namespace

Converted convert_sum_or_product(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &a = arguments.tensor("self"), &b = arguments.tensor("other");
  const bool sum = without_namespace_and_place(recorded.name) == "add";
  const auto self = arguments.identity("self"), other = arguments.identity("other");
  const auto y = arguments.output_identity(0);
  if (are_alike(a, b)) {
    ConvertedOperation result = elementwise(sum ? ElementwiseKind::add : ElementwiseKind::mul, a);
    result.tensors = {{"a", self}, {"b", other}, {"y", y}};
    return {result};
  }
  require_native(sum);
  ConvertedOperation result = bias_add(a, b);
  result.tensors = {{"x", self}, {"bias", other}, {"y", y}};
  return {result};
}

Converted convert_activation(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  const std::string_view word = without_namespace_and_place(recorded.name);
  if (word == "gelu") require_exact_gelu(arguments, context);
  const ElementwiseKind kind = word == "gelu" ? ElementwiseKind::gelu : activation(word, arguments);
  ConvertedOperation result = elementwise(kind, arguments.tensor("self"));
  result.tensors = {{"x", arguments.identity("self")}, {"y", arguments.output_identity(0)}};
  return {result};
}

Converted convert_activation_backward(const RecordedOperator& recorded, ConversionContext& context) {
  const Arguments arguments(recorded);
  const std::string_view word = without_namespace_and_place(recorded.name);
  if (word == "gelu_backward") require_exact_gelu(arguments, context);
  const ElementwiseKind kind =
      word == "gelu_backward" ? ElementwiseKind::gelu_backward : activation_backward(word, arguments);
  const std::string_view kept = arguments.has_tensor("output") ? "output" : "self";
  require_native(are_alike(arguments.tensor("grad_output"), arguments.tensor(kept)));
  ConvertedOperation result = elementwise(kind, arguments.tensor("grad_output"));
  const auto forward = arguments.identity(kept);
  result.tensors = {{"dy", arguments.identity("grad_output")},
                    {"x", forward},
                    {"y", forward},
                    {"dx", arguments.output_identity(0)}};
  return {result};
}

Converted convert_fill(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  ConvertedOperation result = elementwise(ElementwiseKind::fill, arguments.tensor("self"));
  result.tensors = {{"y", arguments.output_identity(0)}};
  return {result};
}

// Between tensors that lie alike PyTorch copies the bytes by the driver.
Converted convert_copy(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &to = arguments.tensor("self"), &from = arguments.tensor("src");
  require_native(are_alike(to, from) && is_dense(to));
  const RecordedArgument *target = arguments.find("self"), *source = arguments.find("src");
  // Where the record does not say between which devices, it may be a copy from or to the host.
  require_native(!target->device.empty() && target->device == source->device);
  const Copy copy{element_count(to) * element_size(native_type(to)).value()};
  require_native(copy.bytes % element_size(DataType::f32).value() == 0);  // what a copy is checked as
  return {as_operation(copy, {{"x", arguments.identity("src")}, {"y", arguments.output_identity(0)}})};
}

}  // namespace jitterscope
