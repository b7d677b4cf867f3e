// Operators on maps of n·c·h·w, and those on each element.
#include <algorithm>

#include "import/onnx_import.hpp"
#include "operation/limits.hpp"
#include "operation/statistics_type.hpp"

namespace jitterscope::onnx_import {
namespace {

std::string batch_normalization(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return kUnknownShape;
  if (x->size() < 2 || x->size() > 4) return "its input has not two to four dimensions";
  BatchNorm norm{(*x)[0], (*x)[1]};
  // As PyTorch pads what it describes to cuDNN: sizes of one come last.
  norm.h = x->size() > 2 ? (*x)[2] : 1;
  norm.w = x->size() > 3 ? (*x)[3] : 1;
  norm.dtype = import.types().other;
  norm.weights = kinds::converted_weights_type(norm.dtype);
  norm.layout = import.layout();
  norm.pass = import.training() ? Pass::forward : Pass::inference;
  import.run(node, import.step_name(node), norm, {import.tensor(node.input(0))}, *x);
  return "";
}

// PyTorch takes each channel of each image as a channel of one image, and normalizes as in training.
std::string instance_normalization(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return kUnknownShape;
  if (x->size() < 3 || x->size() > 4) return "its input has not three or four dimensions";
  BatchNorm norm{1, limited_product({(*x)[0], (*x)[1]}), (*x)[2], x->size() > 3 ? (*x)[3] : 1};
  norm.dtype = import.types().other;
  norm.weights = kinds::converted_weights_type(norm.dtype);
  import.run(node, import.step_name(node), norm, {import.tensor(node.input(0))}, *x);
  return "";
}

std::string run_pool(Import& import, const OnnxNode& node, const Pool2d& pool) {
  const Operation checked(pool);  // before its outputs' size divides by the stride
  const Shape output = {pool.n, pool.c, pool.out_h(), pool.out_w()};
  // Rounding up gives one more output, whose window hangs over the edge.
  const bool rounds_up =
      node.integer("ceil_mode", 0) != 0 && ((pool.h + 2 * pool.pad_h - pool.window_h) % pool.stride_h != 0 ||
                                            (pool.w + 2 * pool.pad_w - pool.window_w) % pool.stride_w != 0);
  if (rounds_up) return "its windows hang over the edge (ceil_mode)";
  import.run(node, import.step_name(node), pool, {import.tensor(node.input(0))}, output);
  return "";
}

std::optional<Pool2d> pool_of(Import& import, const OnnxNode& node, PoolKind kind) {
  const std::optional<Shape>& x = import.shape(node.input(0));
  if (!x || x->size() != 4) return std::nullopt;
  Pool2d pool{kind, (*x)[0], (*x)[1], (*x)[2], (*x)[3]};
  pool.dtype = import.types().other;
  pool.layout = import.layout();
  return pool;
}

template <PoolKind kind>
std::string window_pool(Import& import, const OnnxNode& node) {
  std::optional<Pool2d> pool = pool_of(import, node, kind);
  if (!pool) return "its input is not known to have four dimensions";
  const auto window = node.integers("kernel_shape"), strides = node.integers("strides");
  const auto pads = node.integers("pads"), dilations = node.integers("dilations");
  const std::string automatic = node.text("auto_pad");
  if (window.size() != 2 || (!strides.empty() && strides.size() != 2) || (!pads.empty() && pads.size() != 4))
    return "its window has not two dimensions";
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t step) { return step != 1; }))
    return "its window is dilated";
  if (automatic.starts_with("SAME")) return "its padding is chosen by the runtime (auto_pad)";
  if (!pads.empty() && (pads[0] != pads[2] || pads[1] != pads[3])) return "its padding is uneven";
  const bool is_padded = !pads.empty() && (pads[0] != 0 || pads[1] != 0);
  if (kind == PoolKind::average && is_padded && node.integer("count_include_pad", 0) == 0)
    return "its averages leave the padding out (count_include_pad=0)";
  pool->window_h = window[0];
  pool->window_w = window[1];
  if (!strides.empty()) {
    pool->stride_h = strides[0];
    pool->stride_w = strides[1];
  }
  if (!pads.empty()) {
    pool->pad_h = pads[0];
    pool->pad_w = pads[1];
  }
  return run_pool(import, node, *pool);
}

// torch.nn.AdaptiveAvgPool2d(1) and AdaptiveMaxPool2d(1).
template <PoolKind kind>
std::string global_pool(Import& import, const OnnxNode& node) {
  std::optional<Pool2d> pool = pool_of(import, node, kind);
  if (!pool) return "its input is not known to have four dimensions";
  pool->window_h = pool->stride_h = pool->h;
  pool->window_w = pool->stride_w = pool->w;
  return run_pool(import, node, *pool);
}

// torch.nn.AdaptiveAvgPool2d(1) is written so.
std::string mean(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return kUnknownShape;
  if (is_layer_norm(import, node)) return "";
  std::optional<Shape> axes = whole_numbers(import.value(node.input(1)).numbers);
  if (!axes) axes = node.integers("axes");
  std::vector<std::size_t> places;
  for (const std::int64_t axis : *axes) {
    const auto place = axis_of(axis, x->size());
    if (!place) return "it has no such axis";
    places.push_back(*place);
  }
  std::sort(places.begin(), places.end());
  if (x->size() != 4 || places != std::vector<std::size_t>{2, 3})
    return "it is a sum over other axes than a map's";
  const bool keeps = node.integer("keepdims", 1) != 0;
  std::string problem = global_pool<PoolKind::average>(import, node);
  if (problem.empty() && !keeps) import.value(node.outputs.front()).shape = Shape{(*x)[0], (*x)[1]};
  return problem;
}

std::string run_elementwise(Import& import, const OnnxNode& node, ElementwiseKind kind,
                            const std::vector<std::string>& inputs) {
  const std::optional<Shape> x = import.shape(inputs.front());
  if (!x) return kUnknownShape;
  std::vector<Tensor> tensors;
  for (const std::string& input : inputs) tensors.push_back(import.tensor(input));
  import.run(node, import.step_name(node), Elementwise{kind, count_of(*x), import.types().other}, tensors,
             *x);
  return "";
}

template <ElementwiseKind kind>
std::string of_one(Import& import, const OnnxNode& node) {
  return run_elementwise(import, node, kind, {node.input(0)});
}

std::string gelu(Import& import, const OnnxNode& node) {
  if (node.text("approximate") == "tanh") return "only the exact one is timed, not that by tanh";
  return of_one<ElementwiseKind::gelu>(import, node);
}

// torch.nn.SiLU is written as x·sigmoid(x).
std::string sigmoid(Import& import, const OnnxNode& node) {
  if (import.shape(node.input(0))) {
    const auto& readers = import.readers(node.outputs.front());
    const auto reads = [&](const OnnxNode& reader, const std::string& name) {
      return reader.input(0) == name || reader.input(1) == name;
    };
    if (readers.size() == 1 && readers[0]->operator_name == "Mul" && reads(*readers[0], node.input(0)) &&
        reads(*readers[0], node.outputs.front())) {
      import.take_over(*readers[0]);
      return run_elementwise(import, *readers[0], ElementwiseKind::silu, {node.input(0)});
    }
  }
  return of_one<ElementwiseKind::sigmoid>(import, node);
}

std::string swish(Import& import, const OnnxNode& node) {
  if (node.real("alpha", 1.0) != 1.0) return "only alpha=1 is timed";
  return of_one<ElementwiseKind::silu>(import, node);
}

std::string clip(Import& import, const OnnxNode& node) {
  const auto limit = [&](std::size_t place, const char* attribute) -> std::optional<double> {
    const auto& numbers = import.value(node.input(place)).numbers;
    if (numbers && numbers->size() == 1) return numbers->front();
    const auto found = node.attributes.find(attribute);
    return found == node.attributes.end() ? std::nullopt : found->second.real;
  };
  const std::optional<double> low = limit(1, "min"), high = limit(2, "max");
  if (low == 0.0 && high == 6.0) return of_one<ElementwiseKind::relu6>(import, node);
  const bool has_high = !node.input(2).empty() || node.attributes.contains("max");
  if (low == 0.0 && !has_high) return of_one<ElementwiseKind::relu>(import, node);
  return "only limits of 0 and 6, and of 0 alone, are timed";
}

// One number for each channel of maps.
bool is_of_channels(const Shape& x, const Shape& bias) {
  return x.size() == 4 && bias.size() >= 3 && bias.size() <= 4 && count_of(bias) == x[1] &&
         bias[bias.size() - 3] == x[1];
}

// The same numbers in each row: the last axes of x.
bool is_of_rows(const Shape& x, const Shape& row) {
  const auto first = std::find_if(row.begin(), row.end(), [](std::int64_t size) { return size != 1; });
  const Shape tail(first, row.end());
  return !tail.empty() && tail.size() < x.size() && std::equal(tail.rbegin(), tail.rend(), x.rbegin());
}

// As PyTorch adds a tensor to one that is as large, or larger; nothing where it is neither equal nor a bias.
std::optional<Operation::Parameters> sum_with(const Import& import, const Shape& x, const Shape& added) {
  if (x == added) return Elementwise{ElementwiseKind::add, count_of(x), import.types().other};
  BiasAdd bias{.dtype = import.types().other};
  if (is_of_channels(x, added)) return BiasAdd{x[0], x[1], x[2], x[3], bias.dtype, import.layout()};
  if (!is_of_rows(x, added)) return std::nullopt;
  bias.c = count_of(added);
  bias.n = count_of(x) / bias.c;
  return bias;
}

std::string add(Import& import, const OnnxNode& node) {
  std::string x_name = node.input(0), other = node.input(1);
  if (!import.shape(x_name) || !import.shape(other)) return kUnknownShape;
  if (count_of(*import.shape(x_name)) < count_of(*import.shape(other))) std::swap(x_name, other);
  const Shape x = *import.shape(x_name);
  const auto operation = sum_with(import, x, *import.shape(other));
  if (!operation) return "it adds a tensor of another shape";
  import.run(node, import.step_name(node), *operation, {import.tensor(x_name), import.tensor(other)}, x);
  return "";
}

// Any number of tensors: one is passed on, and PyTorch adds more of them one after another.
std::string sum(Import& import, const OnnxNode& node) {
  if (node.inputs.size() < 2) return view_importers().at("Identity")(import, node);
  std::size_t largest = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!import.shape(node.inputs[i])) return kUnknownShape;
    if (count_of(*import.shape(node.inputs[i])) > count_of(*import.shape(node.inputs[largest]))) largest = i;
  }
  const Shape x = *import.shape(node.inputs[largest]);
  std::vector<std::string> added = node.inputs;
  std::swap(added.front(), added[largest]);
  for (std::size_t i = 1; i < added.size(); ++i) {
    if (!sum_with(import, x, *import.shape(added[i]))) return "it adds a tensor of another shape";
  }
  const std::string name = import.step_name(node);
  std::string before = added.front();
  for (std::size_t i = 1; i < added.size(); ++i) {
    OnnxNode step = node;
    const bool is_last = i + 1 == added.size();
    if (!is_last) step.outputs.front() += "#" + std::to_string(i);
    import.run(step, added.size() == 2 ? name : name + "." + std::to_string(i),
               *sum_with(import, x, *import.shape(added[i])),
               {import.tensor(before), import.tensor(added[i])}, x);
    before = step.outputs.front();
  }
  return "";
}

// The largest, least or mean of tensors; of one it is that one.
std::string choose(Import& import, const OnnxNode& node) {
  if (node.inputs.size() == 1) return view_importers().at("Identity")(import, node);
  return "the largest, least or mean of several tensors has no kind of operation";
}

std::string divide(Import& import, const OnnxNode& node) {
  return is_gelu(import, node) ? "" : "division has no kind of operation";
}

std::string multiply(Import& import, const OnnxNode& node) {
  if (!import.shape(node.input(0)) || !import.shape(node.input(1))) return kUnknownShape;
  if (import.shape(node.input(0)) != import.shape(node.input(1)))
    return "it multiplies by a tensor of another shape";
  return run_elementwise(import, node, ElementwiseKind::mul, {node.input(0), node.input(1)});
}

}  // namespace

const Importers& map_importers() {
  static const Importers importers = {{"BatchNormalization", batch_normalization},
                                      {"InstanceNormalization", instance_normalization},
                                      {"MaxPool", window_pool<PoolKind::max>},
                                      {"AveragePool", window_pool<PoolKind::average>},
                                      {"GlobalAveragePool", global_pool<PoolKind::average>},
                                      {"GlobalMaxPool", global_pool<PoolKind::max>},
                                      {"ReduceMean", mean},
                                      {"Relu", of_one<ElementwiseKind::relu>},
                                      {"Tanh", of_one<ElementwiseKind::tanh>},
                                      {"Gelu", gelu},
                                      {"Sigmoid", sigmoid},
                                      {"Clip", clip},
                                      {"Swish", swish},
                                      {"Add", add},
                                      {"Sum", sum},
                                      {"Max", choose},
                                      {"Min", choose},
                                      {"Mean", choose},
                                      {"Div", divide},
                                      {"Mul", multiply}};
  return importers;
}

}  // namespace jitterscope::onnx_import
