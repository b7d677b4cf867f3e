// Operators on rows: softmax, layer norm, embeddings.
#include "import/onnx_import.hpp"

namespace jitterscope::onnx_import {
namespace {

constexpr std::int64_t kOpsetOfLastAxis = 13;  // before it, softmax took all axes from `axis` on as one

template <bool logarithm>
std::string softmax(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return kUnknownShape;
  const bool old = import.file().opset > 0 && import.file().opset < kOpsetOfLastAxis;
  const auto axis = axis_of(node.integer("axis", old ? 1 : -1), x->size());
  if (!axis) return "it has no such axis";
  if (!old && *axis + 1 != x->size()) return "it is over another axis than the last";
  const auto middle = x->begin() + static_cast<std::ptrdiff_t>(*axis);
  const Softmax shape{logarithm, count_of(Shape(x->begin(), middle)), count_of(Shape(middle, x->end())),
                      import.types().other};
  import.run(node, import.step_name(node), shape, {import.tensor(node.input(0))}, *x);
  return "";
}

std::string layer_normalization(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return kUnknownShape;
  const auto axis = axis_of(node.integer("axis", -1), x->size());
  if (!axis) return "it has no such axis";
  const auto middle = x->begin() + static_cast<std::ptrdiff_t>(*axis);
  const LayerNorm shape{count_of(Shape(x->begin(), middle)), count_of(Shape(middle, x->end())),
                        import.types().other};
  import.run(node, import.step_name(node), shape, {import.tensor(node.input(0))}, *x);
  return "";
}

// A Gather of rows of a weight is an embedding; one of a single place takes a part of its input.
std::string gather(Import& import, const OnnxNode& node) {
  const std::optional<Shape> table = import.shape(node.input(0)), indices = import.shape(node.input(1));
  if (!table || !indices) return kUnknownShape;
  const auto axis = axis_of(node.integer("axis", 0), table->size());
  if (!axis) return "it has no such axis";
  Shape output(table->begin(), table->begin() + static_cast<std::ptrdiff_t>(*axis));
  output.insert(output.end(), indices->begin(), indices->end());
  output.insert(output.end(), table->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, table->end());
  const std::string name = import.step_name(node);
  if (import.value(node.input(0)).is_weight && table->size() == 2 && *axis == 0) {
    const Embedding shape{count_of(*indices), (*table)[0], (*table)[1], import.types().other};
    const Tensor places = import.network().input(shape.count, DataType::i64);
    import.run(node, name, shape, {places, import.tensor(node.input(0))}, std::move(output));
    return "";
  }
  if (count_of(*indices) != 1) return "it picks from a tensor that is no weight";
  const Tensor part = import.network().select(name, import.tensor(node.input(0)), count_of(output));
  Shape strides = strides_of(import.value(node.input(0)));
  const auto place = strides.begin() + static_cast<std::ptrdiff_t>(*axis);
  strides.insert(strides.erase(place), indices->size(), 1);
  import.define(node.outputs.front(), std::move(output), part, strides);
  return "";
}

}  // namespace

const Importers& row_importers() {
  static const Importers importers = {{"Softmax", softmax<false>},
                                      {"LogSoftmax", softmax<true>},
                                      {"LayerNormalization", layer_normalization},
                                      {"Gather", gather}};
  return importers;
}

}  // namespace jitterscope::onnx_import
