#include <algorithm>

#include "import/operator_conversion.hpp"
#include "operation/pytorch.hpp"

// Converts elementwise operators, fills and copies, normalization, softmax, embeddings and optimizer steps.

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

// Recognises x + bias.reshape(1, c, 1, 1), as PyTorch adds a convolution's bias.
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

// A profiler trace lacks strings. torch.nn.GELU computes the exact function unless told otherwise.
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

// Between tensors with equal strides PyTorch copies the bytes by the driver.
Converted convert_copy(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &to = arguments.tensor("self"), &from = arguments.tensor("src");
  require_native(are_alike(to, from) && is_dense(to));
  const RecordedArgument *target = arguments.find("self"), *source = arguments.find("src");
  // If the record does not name the devices, the copy may be from or to the host.
  require_native(!target->device.empty() && target->device == source->device);
  const Copy copy{element_count(to) * element_size(native_type(to)).value()};
  require_native(copy.bytes % element_size(DataType::f32).value() == 0);  // copies are checked as f32
  return {as_operation(copy, {{"x", arguments.identity("src")}, {"y", arguments.output_identity(0)}})};
}

// Batch and layer normalization, and softmax.

namespace {

BatchNorm batch_norm_of(const Arguments& arguments) {
  AtenArgument input = arguments.tensor("input");
  // PyTorch gives cuDNN 3D tensors with a fourth dimension of one element (cudnn/BatchNorm.cpp).
  if (input.shape.size() == 3 && is_dense_row_major(input)) {
    input.shape.push_back(1);
    input.strides.clear();
  }
  require_native(input.shape.size() == 4);
  const std::optional<Layout> layout = dense_layout(input);
  require_native(layout.has_value());
  BatchNorm norm;
  norm.n = input.shape[0], norm.c = input.shape[1], norm.h = input.shape[2], norm.w = input.shape[3];
  norm.dtype = native_type(input);
  norm.layout = *layout;
  require_native(arguments.has_tensor("weight"));
  if (native_type(arguments.tensor("weight")) == norm.dtype) {
    norm.weights = kinds::converted_weights_type(norm.dtype);
  }
  return norm;
}

// A dense tensor as a matrix: its last `inner` dimensions are the columns.
struct Rows {
  std::int64_t rows = 0, columns = 1;
};
Rows rows_of(const AtenArgument& tensor, std::size_t inner) {
  require_native(inner >= 1 && tensor.shape.size() >= inner && is_dense_row_major(tensor));
  Rows result;
  AtenArgument row = tensor;
  row.shape.assign(tensor.shape.end() - static_cast<std::ptrdiff_t>(inner), tensor.shape.end());
  result.columns = element_count(row);
  require_native(result.columns > 0);
  result.rows = element_count(tensor) / result.columns;
  return result;
}

LayerNorm layer_norm_of(const Arguments& arguments) {
  const AtenArgument& input = arguments.tensor("input");
  require_native(arguments.has_tensor("weight") && arguments.has_tensor("bias"));
  const Rows rows = rows_of(input, arguments.integers("normalized_shape").size());
  LayerNorm norm;
  norm.rows = rows.rows, norm.columns = rows.columns, norm.dtype = native_type(input);
  return norm;
}

Softmax softmax_of(const AtenArgument& tensor, const Arguments& arguments, std::string_view name) {
  const auto rank = static_cast<std::int64_t>(tensor.shape.size());
  const std::int64_t dimension = arguments.integer("dim");
  require_native(rank > 0 && (dimension == rank - 1 || dimension == -1));
  const Rows rows = rows_of(tensor, 1);
  Softmax softmax;
  softmax.logarithm = name.find("_log_softmax") != std::string_view::npos;
  softmax.rows = rows.rows, softmax.columns = rows.columns, softmax.dtype = native_type(tensor);
  return softmax;
}

}  // namespace

Converted convert_batch_norm(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  BatchNorm norm = batch_norm_of(arguments);
  require_native(arguments.has_tensor("bias"));
  norm.pass = arguments.boolean("training") ? Pass::forward : Pass::inference;
  return {as_operation(norm, {{"x", arguments.identity("input")},
                              {"weight", arguments.identity("weight")},
                              {"bias", arguments.identity("bias")},
                              {"mean", norm.pass == Pass::forward ? arguments.output_identity(1)
                                                                  : arguments.identity("running_mean")},
                              {"variance", arguments.identity("running_var")},
                              {"y", arguments.output_identity(0)},
                              {"deviation", arguments.output_identity(2)}})};
}

Converted convert_batch_norm_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  BatchNorm norm = batch_norm_of(arguments);
  // In inference the gradient is another operation, because the statistics are constants.
  require_native(arguments.boolean_or("train", true));
  norm.pass = Pass::backward;
  const bool cudnn = arguments.find("save_var") != nullptr;
  return {as_operation(norm, {{"x", arguments.identity("input")},
                              {"dy", arguments.identity(cudnn ? "grad_output" : "grad_out")},
                              {"weight", arguments.identity("weight")},
                              {"mean", arguments.identity("save_mean")},
                              {"deviation", arguments.identity(cudnn ? "save_var" : "save_invstd")},
                              {"dx", arguments.output_identity(0)},
                              {"dweight", arguments.output_identity(1)},
                              {"dbias", arguments.output_identity(2)}})};
}

Converted convert_layer_norm(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return {as_operation(layer_norm_of(arguments), {{"x", arguments.identity("input")},
                                                  {"weight", arguments.identity("weight")},
                                                  {"bias", arguments.identity("bias")},
                                                  {"y", arguments.output_identity(0)},
                                                  {"mean", arguments.output_identity(1)},
                                                  {"deviation", arguments.output_identity(2)}})};
}

Converted convert_layer_norm_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  LayerNorm norm = layer_norm_of(arguments);
  require_native(arguments.booleans("output_mask") == std::vector<bool>(3, true));
  norm.pass = Pass::backward;
  return {as_operation(norm, {{"dy", arguments.identity("grad_out")},
                              {"x", arguments.identity("input")},
                              {"mean", arguments.identity("mean")},
                              {"deviation", arguments.identity("rstd")},
                              {"weight", arguments.identity("weight")},
                              {"dx", arguments.output_identity(0)},
                              {"dweight", arguments.output_identity(1)},
                              {"dbias", arguments.output_identity(2)}})};
}

Converted convert_softmax(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  require_native(!arguments.boolean("half_to_float"));
  return {as_operation(softmax_of(arguments.tensor("self"), arguments, recorded.name),
                       {{"x", arguments.identity("self")}, {"y", arguments.output_identity(0)}})};
}

Converted convert_softmax_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &dy = arguments.tensor("grad_output"), &y = arguments.tensor("output");
  require_native(dy.shape == y.shape && dy.text == y.text && is_dense_row_major(dy));
  Softmax softmax = softmax_of(y, arguments, recorded.name);
  softmax.pass = Pass::backward;
  return {as_operation(softmax, {{"dy", arguments.identity("grad_output")},
                                 {"y", arguments.identity("output")},
                                 {"dx", arguments.output_identity(0)}})};
}

// Embedding tables and optimizer steps.

namespace {

// Returns one step over all parameters together.
OptimizerStep step_over(const AtenArgument& parameters, OptimizerKind kind) {
  require_native(parameters.kind == AtenArgument::Kind::list && !parameters.elements.empty());
  OptimizerStep step;
  step.kind = kind;
  step.count = 0;
  step.dtype = native_type(parameters.elements.front());
  for (const AtenArgument& parameter : parameters.elements) {
    require_native(parameter.kind == AtenArgument::Kind::tensor && native_type(parameter) == step.dtype);
    step.count += element_count(parameter);
    require_native(step.count < (std::int64_t{1} << 50));
  }
  return step;
}

const AtenArgument& list(const Arguments& arguments, std::string_view name) {
  const RecordedArgument* argument = arguments.find(name);
  require_native(argument != nullptr && argument->value.kind == AtenArgument::Kind::list);
  return argument->value;
}

OptimizerKind optimizer_kind(const RecordedOperator& recorded, const Arguments& arguments) {
  if (recorded.name == "aten::_fused_adam_") return OptimizerKind::adam;
  if (recorded.name == "aten::_fused_adamw_") return OptimizerKind::adamw;
  if (recorded.name == "aten::_fused_sgd_") {
    const bool momentum = !list(arguments, "momentum_buffer_list").elements.empty();
    return momentum ? OptimizerKind::momentum : OptimizerKind::sgd;
  }
  // The operator is p += -lr·g for all parameters: torch.optim.SGD without momentum.
  require_native(list(arguments, "other").elements.size() == list(arguments, "self").elements.size());
  require_native(arguments.number_or("alpha", 1.0) < 0.0);
  return OptimizerKind::sgd;
}

}  // namespace

Converted convert_embedding(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &weight = arguments.tensor("weight"), &indices = arguments.tensor("indices");
  require_native(weight.shape.size() == 2 && is_dense_row_major(weight) && indices.text == "i64");
  Embedding embedding;
  embedding.count = element_count(indices);
  embedding.rows = weight.shape[0], embedding.columns = weight.shape[1];
  embedding.dtype = native_type(weight);
  return {as_operation(embedding, {{"indices", arguments.identity("indices")},
                                   {"table", arguments.identity("weight")},
                                   {"y", arguments.output_identity(0)}})};
}

Converted convert_embedding_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &gradient = arguments.tensor("grad_output"), &indices = arguments.tensor("indices");
  require_native(!gradient.shape.empty() && indices.text == "i64");
  require_native(!arguments.boolean("scale_grad_by_freq"));
  Embedding embedding;
  embedding.count = element_count(indices);
  embedding.rows = arguments.integer("num_weights"), embedding.columns = gradient.shape.back();
  embedding.dtype = native_type(gradient);
  embedding.pass = Pass::backward;
  return {as_operation(embedding, {{"dy", arguments.identity("grad_output")},
                                   {"indices", arguments.identity("indices")},
                                   {"dtable", arguments.output_identity(0)}})};
}

Converted convert_optimizer(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return {as_operation(step_over(list(arguments, "self"), optimizer_kind(recorded, arguments)))};
}

}  // namespace jitterscope
