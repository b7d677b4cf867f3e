// Batch and layer normalization, and softmax.
#include "import/native_conversions.hpp"
#include "import/tensor_layout.hpp"
#include "operation/statistics_type.hpp"

namespace jitterscope {
namespace {

BatchNorm batch_norm_of(const Arguments& arguments) {
  AtenArgument input = arguments.tensor("input");
  // cuDNN gets tensors of three dimensions with a fourth of one element (cudnn/BatchNorm.cpp).
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

// A dense matrix whose columns are the last dimensions, as many as `inner`.
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
  // In inference its gradient is another operation: the statistics are constants there.
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

}  // namespace jitterscope
