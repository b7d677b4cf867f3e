#include <algorithm>

#include "import/operator_conversion.hpp"
#include "operation/pytorch.hpp"

// Converts elementwise operators, fills and copies, normalization, softmax, embeddings and optimizer steps.

namespace jitterscope {
namespace {

Elementwise elementwise(ElementwiseKind kind, const AtenArgument& tensor) {
  require_native(is_dense(tensor));
  return {.kind = kind, .count = element_count(tensor), .dtype = native_type(tensor)};
}

bool are_alike(const AtenArgument& a, const AtenArgument& b) {
  return a.text == b.text && have_equal_strides(a, b);
}

// Recognises x + bias.reshape(1, c, 1, 1), as PyTorch adds a convolution's bias.
BiasAdd bias_add(const AtenArgument& x, const AtenArgument& bias) {
  require_native(x.shape.size() == 4 && x.text == bias.text && is_dense_row_major(bias));
  const std::vector<std::int64_t> whole = {1, x.shape[1], 1, 1}, part = {x.shape[1], 1, 1};
  const std::optional<Layout> layout = dense_layout(x);
  require_native((bias.shape == whole || bias.shape == part) && layout.has_value());
  BiasAdd add;
  add.n = x.shape[0], add.c = x.shape[1], add.h = x.shape[2], add.w = x.shape[3];
  add.dtype = native_type(x);
  add.layout = *layout;
  return add;
}

// Returns the operator's name without aten:: and the _ of operators in place.
std::string_view operator_word(const Arguments& arguments) {
  std::string_view name = arguments.recorded().name;
  name.remove_prefix(std::min(name.size(), std::string_view("aten::").size()));
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

bool clamps(const Arguments& arguments, std::string_view low, std::string_view high) {
  return arguments.number(low) == 0.0 && arguments.number(high) == 6.0;
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

ElementwiseKind activation(const Arguments& arguments, ConversionContext& context) {
  using enum ElementwiseKind;
  const std::string_view word = operator_word(arguments);
  if (word == "gelu") require_exact_gelu(arguments, context);
  if (word == "gelu") return gelu;
  if (word == "relu") return relu;
  if (word == "sigmoid") return sigmoid;
  if (word == "tanh") return tanh;
  if (word == "silu") return silu;
  if (word == "clamp_min" && arguments.number("min") == 0.0) return relu;
  if (word == "clamp" && clamps(arguments, "min", "max")) return relu6;
  if (word == "hardtanh" && clamps(arguments, "min_val", "max_val")) return relu6;
  throw NotNative();
}

ElementwiseKind activation_backward(const Arguments& arguments, ConversionContext& context) {
  using enum ElementwiseKind;
  const std::string_view word = operator_word(arguments);
  if (word == "gelu_backward") require_exact_gelu(arguments, context);
  if (word == "gelu_backward") return gelu_backward;
  if (word == "sigmoid_backward") return sigmoid_backward;
  if (word == "tanh_backward") return tanh_backward;
  if (word == "silu_backward") return silu_backward;
  if (word == "threshold_backward" && arguments.number("threshold") == 0.0) return relu_backward;
  if (word == "hardtanh_backward" && clamps(arguments, "min_val", "max_val")) return relu6_backward;
  throw NotNative();
}

}  // namespace

Converted convert_sum_or_product(const Arguments& arguments, ConversionContext&) {
  const AtenArgument &a = arguments.tensor("self"), &b = arguments.tensor("other");
  const bool sum = operator_word(arguments) == "add";
  if (are_alike(a, b)) {
    return {as_operation(elementwise(sum ? ElementwiseKind::add : ElementwiseKind::mul, a), arguments,
                         {{"a", "self"}, {"b", "other"}, {"y", 0}})};
  }
  require_native(sum);
  return {as_operation(bias_add(a, b), arguments, {{"x", "self"}, {"bias", "other"}, {"y", 0}})};
}

Converted convert_activation(const Arguments& arguments, ConversionContext& context) {
  const ElementwiseKind kind = activation(arguments, context);
  return {as_operation(elementwise(kind, arguments.tensor("self")), arguments, {{"x", "self"}, {"y", 0}})};
}

Converted convert_activation_backward(const Arguments& arguments, ConversionContext& context) {
  const ElementwiseKind kind = activation_backward(arguments, context);
  const std::string_view kept = arguments.has_tensor("output") ? "output" : "self";
  const AtenArgument& gradient = arguments.tensor("grad_output");
  require_native(are_alike(gradient, arguments.tensor(kept)));
  return {as_operation(elementwise(kind, gradient), arguments,
                       {{"dy", "grad_output"}, {"x", kept}, {"y", kept}, {"dx", 0}})};
}

Converted convert_fill(const Arguments& arguments, ConversionContext&) {
  return {as_operation(elementwise(ElementwiseKind::fill, arguments.tensor("self")), arguments, {{"y", 0}})};
}

// Between tensors with equal strides PyTorch copies the bytes by the driver.
Converted convert_copy(const Arguments& arguments, ConversionContext&) {
  const AtenArgument &to = arguments.tensor("self"), &from = arguments.tensor("src");
  require_native(are_alike(to, from) && is_dense(to));
  const RecordedArgument *target = arguments.find("self"), *source = arguments.find("src");
  // If the record does not name the devices, the copy may be from or to the host.
  require_native(!target->device.empty() && target->device == source->device);
  const Copy copy{element_count(to) * element_size(native_type(to)).value()};
  require_native(copy.bytes % element_size(DataType::f32).value() == 0);  // copies are checked as f32
  return {as_operation(copy, arguments, {{"x", "src"}, {"y", 0}})};
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

Softmax softmax_of(const AtenArgument& tensor, const Arguments& arguments) {
  const auto rank = static_cast<std::int64_t>(tensor.shape.size());
  const std::int64_t dimension = arguments.integer("dim");
  require_native(rank > 0 && (dimension == rank - 1 || dimension == -1));
  const Rows rows = rows_of(tensor, 1);
  Softmax softmax;
  softmax.logarithm = arguments.recorded().name.find("_log_softmax") != std::string::npos;
  softmax.rows = rows.rows, softmax.columns = rows.columns, softmax.dtype = native_type(tensor);
  return softmax;
}

}  // namespace

Converted convert_batch_norm(const Arguments& arguments, ConversionContext&) {
  BatchNorm norm = batch_norm_of(arguments);
  require_native(arguments.has_tensor("bias"));
  norm.pass = arguments.boolean("training") ? Pass::forward : Pass::inference;
  return {as_operation(norm, arguments,
                       {{"x", "input"},
                        {"weight", "weight"},
                        {"bias", "bias"},
                        {"mean", norm.pass == Pass::forward ? TensorPlace(1) : "running_mean"},
                        {"variance", "running_var"},
                        {"y", 0},
                        {"deviation", 2}})};
}

Converted convert_batch_norm_backward(const Arguments& arguments, ConversionContext&) {
  BatchNorm norm = batch_norm_of(arguments);
  // In inference the gradient is another operation, because the statistics are constants.
  require_native(arguments.boolean_or("train", true));
  norm.pass = Pass::backward;
  const bool cudnn = arguments.find("save_var") != nullptr;
  return {as_operation(norm, arguments,
                       {{"x", "input"},
                        {"dy", cudnn ? "grad_output" : "grad_out"},
                        {"weight", "weight"},
                        {"mean", "save_mean"},
                        {"deviation", cudnn ? "save_var" : "save_invstd"},
                        {"dx", 0},
                        {"dweight", 1},
                        {"dbias", 2}})};
}

Converted convert_layer_norm(const Arguments& arguments, ConversionContext&) {
  return {as_operation(
      layer_norm_of(arguments), arguments,
      {{"x", "input"}, {"weight", "weight"}, {"bias", "bias"}, {"y", 0}, {"mean", 1}, {"deviation", 2}})};
}

Converted convert_layer_norm_backward(const Arguments& arguments, ConversionContext&) {
  LayerNorm norm = layer_norm_of(arguments);
  require_native(arguments.booleans("output_mask") == std::vector<bool>(3, true));
  norm.pass = Pass::backward;
  return {as_operation(norm, arguments,
                       {{"dy", "grad_out"},
                        {"x", "input"},
                        {"mean", "mean"},
                        {"deviation", "rstd"},
                        {"weight", "weight"},
                        {"dx", 0},
                        {"dweight", 1},
                        {"dbias", 2}})};
}

Converted convert_softmax(const Arguments& arguments, ConversionContext&) {
  require_native(!arguments.boolean("half_to_float"));
  return {
      as_operation(softmax_of(arguments.tensor("self"), arguments), arguments, {{"x", "self"}, {"y", 0}})};
}

Converted convert_softmax_backward(const Arguments& arguments, ConversionContext&) {
  const AtenArgument &dy = arguments.tensor("grad_output"), &y = arguments.tensor("output");
  require_native(dy.shape == y.shape && dy.text == y.text && is_dense_row_major(dy));
  Softmax softmax = softmax_of(y, arguments);
  softmax.pass = Pass::backward;
  return {as_operation(softmax, arguments, {{"dy", "grad_output"}, {"y", "output"}, {"dx", 0}})};
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

OptimizerKind optimizer_kind(const Arguments& arguments) {
  const std::string& name = arguments.recorded().name;
  if (name == "aten::_fused_adam_") return OptimizerKind::adam;
  if (name == "aten::_fused_adamw_") return OptimizerKind::adamw;
  if (name == "aten::_fused_sgd_") {
    const bool momentum = !list(arguments, "momentum_buffer_list").elements.empty();
    return momentum ? OptimizerKind::momentum : OptimizerKind::sgd;
  }
  // The operator is p += -lr·g for all parameters: torch.optim.SGD without momentum.
  require_native(list(arguments, "other").elements.size() == list(arguments, "self").elements.size());
  require_native(arguments.number_or("alpha", 1.0) < 0.0);
  return OptimizerKind::sgd;
}

}  // namespace

Converted convert_embedding(const Arguments& arguments, ConversionContext&) {
  const AtenArgument &weight = arguments.tensor("weight"), &indices = arguments.tensor("indices");
  require_native(weight.shape.size() == 2 && is_dense_row_major(weight) && indices.text == "i64");
  Embedding embedding;
  embedding.count = element_count(indices);
  embedding.rows = weight.shape[0], embedding.columns = weight.shape[1];
  embedding.dtype = native_type(weight);
  return {as_operation(embedding, arguments, {{"indices", "indices"}, {"table", "weight"}, {"y", 0}})};
}

Converted convert_embedding_backward(const Arguments& arguments, ConversionContext&) {
  const AtenArgument &gradient = arguments.tensor("grad_output"), &indices = arguments.tensor("indices");
  require_native(!gradient.shape.empty() && indices.text == "i64");
  require_native(!arguments.boolean("scale_grad_by_freq"));
  Embedding embedding;
  embedding.count = element_count(indices);
  embedding.rows = arguments.integer("num_weights"), embedding.columns = gradient.shape.back();
  embedding.dtype = native_type(gradient);
  embedding.pass = Pass::backward;
  return {as_operation(embedding, arguments, {{"dy", "grad_output"}, {"indices", "indices"}, {"dtable", 0}})};
}

Converted convert_optimizer(const Arguments& arguments, ConversionContext&) {
  return {as_operation(step_over(list(arguments, "self"), optimizer_kind(arguments)), arguments, {})};
}

}  // namespace jitterscope
