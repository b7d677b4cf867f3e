// Computes operators' output shapes as ONNX defines them, also of untimed ones: later operators need them.
#include <algorithm>
#include <set>
#include <tuple>

#include "import/onnx_products.hpp"
#include "operation/kinds.hpp"

namespace jitterscope::onnx_import {
namespace {

using MaybeShape = std::optional<Shape>;

// These give one result for each element of the first input.
const std::set<std::string> kOfOne = {"Abs",    "Acos",    "Acosh",       "Asin",      "Asinh",
                                      "Atan",   "Atanh",   "BitwiseNot",  "Cast",      "CastLike",
                                      "Ceil",   "Celu",    "Clip",        "Cos",       "Cosh",
                                      "CumSum", "Dropout", "Elu",         "Erf",       "Exp",
                                      "Floor",  "Gelu",    "HardSigmoid", "HardSwish", "Identity",
                                      "IsInf",  "IsNaN",   "LeakyRelu",   "Log",       "Mish",
                                      "Neg",    "Not",     "PRelu",       "Relu",      "Reciprocal",
                                      "Round",  "Selu",    "Shrink",      "Sigmoid",   "Sign",
                                      "Sin",    "Sinh",    "Softplus",    "Softsign",  "Sqrt",
                                      "Swish",  "Tan",     "Tanh",        "Trilu",     "ThresholdedRelu"};
const std::set<std::string> kOfRows = {
    "BatchNormalization", "GroupNormalization", "Hardmax", "InstanceNormalization",     "LayerNormalization",
    "LogSoftmax",         "LpNormalization",    "LRN",     "MeanVarianceNormalization", "RMSNormalization",
    "ScatterElements",    "ScatterND",          "Softmax", "RotaryEmbedding",           "QuantizeLinear",
    "DequantizeLinear"};
const std::set<std::string> kBroadcast = {
    "Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
    "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
    "Less",       "LessOrEqual", "Max",      "Mean",       "Min",
    "Mod",        "Mul",         "Or",       "Pow",        "Sub",
    "Sum",        "Where",       "Xor"};

// NumPy's broadcasting rule; nullopt if the shapes do not fit.
MaybeShape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    result[result.size() - 1 - i] = std::max(left, right);
  }
  return result;
}

MaybeShape of_all(Import& import, const OnnxNode& node) {
  MaybeShape result = Shape{};
  for (const std::string& input : node.inputs) {
    const MaybeShape shape = import.shape(input);
    if (!shape || !result) return std::nullopt;
    result = broadcast(*result, *shape);
  }
  return result;
}

MaybeShape of_matmul(Import& import, const OnnxNode& node) {
  const MaybeShape a = import.shape(node.input(0)), b = import.shape(node.input(1));
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const auto batch_of = [](const Shape& x) { return Shape(x.begin(), x.end() - (x.size() > 1 ? 2 : 1)); };
  MaybeShape result = broadcast(batch_of(*a), batch_of(*b));
  if (result && a->size() > 1) result->push_back((*a)[a->size() - 2]);
  if (result && b->size() > 1) result->push_back(b->back());
  return result;
}

// The output has the shape of the queries, with the values' size of each head.
MaybeShape of_attention(Import& import, const OnnxNode& node) {
  MaybeShape q = import.shape(node.input(0));
  const MaybeShape v = import.shape(node.input(2));
  if (!q || !v || q->size() != v->size() || q->empty()) return std::nullopt;
  if (q->size() == 4) {
    q->back() = v->back();
  } else {
    const std::int64_t heads = node.integer("q_num_heads", 0), key_heads = node.integer("kv_num_heads", 0);
    if (heads < 1 || key_heads < 1) return std::nullopt;
    q->back() = limited_product({v->back() / key_heads, heads});
  }
  return q;
}

MaybeShape of_gemm(Import& import, const OnnxNode& node) {
  const MaybeShape a = import.shape(node.input(0)), b = import.shape(node.input(1));
  if (!a || !b || a->size() != 2 || b->size() != 2) return std::nullopt;
  return Shape{(*a)[node.integer("transA", 0) != 0 ? 1 : 0], (*b)[node.integer("transB", 0) != 0 ? 0 : 1]};
}

MaybeShape of_windows(const OnnxNode& node, const Shape& x, const Shape& kernel, std::int64_t channels) {
  const auto windows = x.size() < 3 ? std::nullopt : windows_of(node, x, kernel);
  if (!windows) return std::nullopt;
  const bool rounds_up = node.integer("ceil_mode", 0) != 0 && !node.text("auto_pad").starts_with("SAME");
  Shape result = {x[0], channels};
  for (const Window& window : *windows) result.push_back(window.count(rounds_up));
  return result;
}

MaybeShape of_convolution(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0)), weight = import.shape(node.input(1));
  if (!x || !weight || weight->size() != x->size() || x->size() < 3) return std::nullopt;
  return of_windows(node, *x, Shape(weight->begin() + 2, weight->end()), weight->front());
}

MaybeShape of_pool(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0));
  if (!x || x->size() < 3) return std::nullopt;
  return of_windows(node, *x, node.integers("kernel_shape"), (*x)[1]);
}

MaybeShape of_global_pool(Import& import, const OnnxNode& node) {
  MaybeShape x = import.shape(node.input(0));
  if (!x || x->size() < 3) return std::nullopt;
  std::fill(x->begin() + 2, x->end(), 1);
  return x;
}

MaybeShape of_reduction(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0));
  if (!x) return std::nullopt;
  const bool is_arg = node.operator_name.starts_with("Arg");
  MaybeShape axes = is_arg ? Shape{node.integer("axis", 0)} : axes_of(import, node);
  if (!axes && !node.input(1).empty()) return std::nullopt;
  axes = axes.value_or(Shape{});
  std::set<std::size_t> reduced;
  for (const std::int64_t axis : *axes) {
    const auto place = axis_of(axis, x->size());
    if (!place) return std::nullopt;
    reduced.insert(*place);
  }
  Shape result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!axes->empty() && !reduced.contains(i)) {
      result.push_back((*x)[i]);
    } else if (node.integer("keepdims", 1) != 0) {
      result.push_back(1);
    }
  }
  return result;
}

MaybeShape of_expand(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0));
  MaybeShape asked = import.whole_numbers(node.input(1));
  if (!x || !asked) return std::nullopt;
  if (!asked->empty()) asked->front() = import.rebatched(asked->front());
  return broadcast(*x, *asked);
}

MaybeShape of_constant(Import& import, const OnnxNode& node) {
  MaybeShape shape = import.whole_numbers(node.input(0));
  if (shape && !shape->empty()) shape->front() = import.rebatched(shape->front());
  return shape;
}

// The operator gives sizes, or scales of the input's sizes.
MaybeShape of_resize(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0));
  MaybeShape sizes = import.whole_numbers(node.input(3));
  if (x && sizes && sizes->size() == x->size()) {
    sizes->front() = x->front();  // the file may give its own batch
    return sizes;
  }
  const std::size_t place = node.operator_name == "Upsample" ? 1 : 2;
  const auto& factors = import.value(node.input(place)).numbers;
  if (!x || !factors || factors->size() != x->size()) return std::nullopt;
  Shape result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double size = static_cast<double>((*x)[i]) * (*factors)[i];
    if (!(size >= 1.0 && size <= static_cast<double>(kLargestDimension))) return std::nullopt;
    result.push_back(static_cast<std::int64_t>(size));
  }
  return result;
}

MaybeShape of_pad(Import& import, const OnnxNode& node) {
  MaybeShape x = import.shape(node.input(0));
  MaybeShape pads = import.whole_numbers(node.input(1));
  if (!pads) pads = node.integers("pads");  // before opset 11
  if (!x || pads->size() != 2 * x->size() || !node.input(3).empty()) return std::nullopt;
  for (std::size_t i = 0; i < x->size(); ++i) (*x)[i] += (*pads)[i] + (*pads)[x->size() + i];
  return x;
}

// Moves blocks of a map's channels into space, or the other way round.
MaybeShape of_blocks(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0));
  const std::int64_t side = node.integer("blocksize", 0);
  if (!x || x->size() != 4 || side < 1 || side > kLargestDimension) return std::nullopt;
  const auto& [n, c, h, w] = std::tie((*x)[0], (*x)[1], (*x)[2], (*x)[3]);
  if (node.operator_name == "SpaceToDepth")
    return Shape{n, limited_product({c, side, side}), h / side, w / side};
  return Shape{n, c / limited_product({side, side}), limited_product({h, side}), limited_product({w, side})};
}

MaybeShape of_tile(Import& import, const OnnxNode& node) {
  MaybeShape x = import.shape(node.input(0));
  const MaybeShape times = import.whole_numbers(node.input(1));
  if (!x || !times || times->size() != x->size()) return std::nullopt;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if ((*times)[i] < 1) return std::nullopt;
    (*x)[i] = limited_product({(*x)[i], (*times)[i]});
  }
  return x;
}

MaybeShape of_gather(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0)), places = import.shape(node.input(1));
  const auto axis = x ? axis_of(node.integer("axis", 0), x->size()) : std::nullopt;
  if (!axis || !places) return std::nullopt;
  return gathered_shape(*x, *places, *axis);
}

// Returns the states of all steps: [steps, directions, batch, states], or the batch first (layout=1).
MaybeShape of_recurrence(Import& import, const OnnxNode& node) {
  const MaybeShape x = import.shape(node.input(0));
  const std::int64_t states = node.integer("hidden_size", 0);
  const std::int64_t directions = node.text("direction") == "bidirectional" ? 2 : 1;
  if (!x || x->size() != 3 || states < 1) return std::nullopt;
  if (node.integer("layout", 0) != 0) return Shape{(*x)[0], (*x)[1], directions, states};
  return Shape{(*x)[0], directions, (*x)[1], states};
}

}  // namespace

Shape gathered_shape(const Shape& table, const Shape& places, std::size_t axis) {
  Shape result = table;
  const auto place = result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(place, places.begin(), places.end());
  return result;
}

std::optional<Shape> axes_of(Import& import, const OnnxNode& node) {
  const Shape attribute = node.integers("axes");
  return attribute.empty() ? import.whole_numbers(node.input(1)) : attribute;
}

bool Window::is_sensible() const {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  const auto is_within = [](std::int64_t number) { return number >= 1 && number <= kLargest; };
  const auto numbers = {input, kernel, stride, dilation, before + 1, after + 1};
  return std::all_of(numbers.begin(), numbers.end(), is_within);
}

std::int64_t Window::count(bool rounds_up) const {
  const std::int64_t room = is_sensible() ? input + before + after - (kernel - 1) * dilation - 1 : -1;
  if (room < 0) return 0;
  if (!rounds_up) return room / stride + 1;
  const std::int64_t windows = (room + stride - 1) / stride + 1;
  return (windows - 1) * stride >= input + before ? windows - 1 : windows;
}

void Window::pad(std::int64_t total, bool upper) {
  before = upper ? total / 2 : total - total / 2;
  after = total - before;
}

std::optional<std::vector<Window>> windows_of(const OnnxNode& node, const Shape& x, const Shape& kernel) {
  if (kernel.size() + 2 != x.size()) return std::nullopt;
  const std::string automatic = node.text("auto_pad");
  const Shape pads = node.integers("pads");
  std::vector<Window> windows;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    Window window{x[2 + i],
                  kernel[i],
                  number_at(node.integers("strides"), i, 1),
                  number_at(node.integers("dilations"), i, 1),
                  number_at(pads, i, 0),
                  number_at(pads, kernel.size() + i, 0)};
    if (automatic.starts_with("SAME") && window.is_sensible()) {
      // There are input / stride outputs, rounded up.
      const std::int64_t last = (window.input - 1) / window.stride * window.stride;
      const std::int64_t span = last + (window.kernel - 1) * window.dilation + 1;
      window.pad(std::max<std::int64_t>(span - window.input, 0), automatic == "SAME_UPPER");
    }
    windows.push_back(window);
  }
  return windows;
}

std::optional<Shape> shape_given_by(Import& import, const OnnxNode& node) {
  using Rule = MaybeShape (*)(Import&, const OnnxNode&);
  static const std::map<std::string, Rule> rules = {
      {"MatMul", of_matmul},
      {"Attention", of_attention},
      {"Gemm", of_gemm},
      {"Einsum", einsum_shape},
      {"Conv", of_convolution},
      {"MaxPool", of_pool},
      {"AveragePool", of_pool},
      {"LpPool", of_pool},
      {"GlobalMaxPool", of_global_pool},
      {"GlobalAveragePool", of_global_pool},
      {"GlobalLpPool", of_global_pool},
      {"Expand", of_expand},
      {"ConstantOfShape", of_constant},
      {"Resize", of_resize},
      {"Upsample", of_resize},
      {"Pad", of_pad},
      {"Tile", of_tile},
      {"DepthToSpace", of_blocks},
      {"SpaceToDepth", of_blocks},
      {"Gather", of_gather},
      {"GatherElements", [](Import& from, const OnnxNode& each) { return from.shape(each.input(1)); }},
      {"LSTM", of_recurrence},
      {"GRU", of_recurrence},
      {"RNN", of_recurrence}};
  const std::string& name = node.operator_name;
  const auto rule = rules.find(name);
  MaybeShape shape;
  if (kOfOne.contains(name) || kOfRows.contains(name)) shape = import.shape(node.input(0));
  if (kBroadcast.contains(name)) shape = of_all(import, node);
  if (name.starts_with("Reduce") || name.starts_with("Arg")) shape = of_reduction(import, node);
  if (rule != rules.end()) shape = rule->second(import, node);
  const auto is_possible = [](std::int64_t size) { return size >= 1 && size <= kLargestDimension; };
  return shape && std::all_of(shape->begin(), shape->end(), is_possible) ? shape : std::nullopt;
}

void keep_order(Import& import, const OnnxNode& node) {
  if (!kOfOne.contains(node.operator_name) && !kBroadcast.contains(node.operator_name)) return;
  Value& output = import.value(node.outputs.front());
  if (!output.shape || output.strides) return;
  for (const std::string& input : node.inputs) {
    const Value& read = import.value(input);
    if (read.shape != output.shape) continue;
    if (read.strides) output.strides = dense_in_order(*read.shape, *read.strides);
    return;
  }
}

}  // namespace jitterscope::onnx_import
