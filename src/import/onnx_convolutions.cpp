#include <algorithm>
#include <array>

#include "import/onnx.hpp"
#include "operation/kinds.hpp"
#include "operation/pytorch.hpp"

// Imports ONNX's convolutions, normalization, pooling and elementwise operators.

namespace jitterscope::onnx_import {
namespace {

// The windows of a convolution, along height and width.
struct Windows {
  Window h, w;
  bool is_flat = false;  // one spatial axis, which PyTorch runs with h = 1
};

// Throws UsageError unless there are one or two spatial axes with possible sizes.
Windows planar_windows(const OnnxNode& node, const Shape& x, const Shape& kernel) {
  const auto windows = windows_of(node, x, kernel);
  const bool is_flat = x.size() == 3;
  if (!windows || (!is_flat && x.size() != 4) ||
      !std::all_of(windows->begin(), windows->end(), [](const Window& each) { return each.is_sensible(); }))
    throw UsageError("it is not a convolution in two dimensions");
  return {is_flat ? Window() : windows->front(), windows->back(), is_flat};
}

// PyTorch pads unevenly with a separate operator, before a convolution without padding.
bool pad_apart(Windows& windows) {
  if (windows.h.before == windows.h.after && windows.w.before == windows.w.after) return false;
  for (Window* window : {&windows.h, &windows.w}) {
    window->input += window->before + window->after;
    window->before = window->after = 0;
  }
  return true;
}

void set_windows(Conv2d& conv, const Windows& windows) {
  conv.r = windows.h.kernel;
  conv.s = windows.w.kernel;
  conv.stride_h = windows.h.stride;
  conv.stride_w = windows.w.stride;
  conv.pad_h = windows.h.before;
  conv.pad_w = windows.w.before;
  conv.dilation_h = windows.h.dilation;
  conv.dilation_w = windows.w.dilation;
}

struct Maps {
  std::int64_t n, c, h, w;
  bool is_flat;
  Shape shape() const { return is_flat ? Shape{n, c, w} : Shape{n, c, h, w}; }
};

// Runs a convolution as PyTorch does: a separate kernel adds the bias.
void run_with_bias(Import& import, const OnnxNode& node, const Conv2d& conv, Tensor x, const Maps& y) {
  const std::string name = import.step_name(node);
  import.run(node, name, conv, {x}, y.shape());
  if (node.input(2).empty()) return;
  const BiasAdd bias{y.n, y.c, y.h, y.w, import.types().other, import.layout()};
  import.run(node, name + ".bias", bias, {import.tensor(node.outputs.front())}, y.shape());
}

std::optional<Shape> kernel_of(const OnnxNode& node, const std::optional<Shape>& weight) {
  const Shape kernel = node.integers("kernel_shape");
  if (!kernel.empty()) return kernel;
  if (weight && weight->size() > 2) return Shape(weight->begin() + 2, weight->end());
  return std::nullopt;
}

void convolution(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const std::optional<Shape> weight = import.shape(node.input(1)), kernel = kernel_of(node, weight);
  if (!kernel) throw UsageError("the size of its window is not known");
  Windows windows = planar_windows(node, x, *kernel);
  const std::int64_t groups = node.integer("group", 1);
  const auto recorded = import.recorded_shape(node.outputs.front());
  if (!weight && (!recorded || recorded->size() < 2))
    throw UsageError("the number of its output channels is not known");
  if (weight && (weight->size() != x.size() || (*weight)[1] != x[1] / std::max<std::int64_t>(groups, 1)))
    throw UsageError(kNoFit);
  Tensor data = import.tensor(node.input(0));
  if (pad_apart(windows)) {
    const std::int64_t count = count_of({x[0], x[1], windows.h.input, windows.w.input});
    const Network::UntimedStep pad{"Pad", "", "jitterscope has no operation for uneven padding"};
    data = import.network().add_untimed(import.step_name(node) + ".pad", pad, {data}, count);
  }
  Conv2d conv{.n = x[0], .c = x[1], .h = windows.h.input, .w = windows.w.input};
  conv.k = weight ? (*weight)[0] : (*recorded)[1];
  conv.groups = groups;
  conv.dtype = import.types().convolution;
  conv.layout = import.layout();
  set_windows(conv, windows);
  const Operation checked(conv);  // checks the stride before sizes are divided by it
  run_with_bias(import, node, conv, data, {conv.n, conv.k, conv.out_h(), conv.out_w(), windows.is_flat});
}

// The output of a transposed convolution along one axis.
struct Spread {
  Window& window;
  std::int64_t extra = 0;  // output_padding

  std::int64_t unpadded() const {
    return (window.input - 1) * window.stride + window.dilation * (window.kernel - 1) + 1 + extra;
  }
  std::int64_t size() const { return unpadded() - window.before - window.after; }
};

// ONNX gives the output's size, or asks for input·stride (auto_pad=SAME…). The padding follows from it.
std::array<Spread, 2> spreads_of(const OnnxNode& node, Windows& windows) {
  const auto extra = node.integers("output_padding"), sizes = node.integers("output_shape");
  const std::string automatic = node.text("auto_pad");
  const std::size_t axes = windows.is_flat ? 1 : 2;
  std::array<Spread, 2> spreads = {Spread{windows.h}, Spread{windows.w}};
  for (std::size_t i = 0; i < axes; ++i) {
    Spread& spread = spreads[2 - axes + i];
    spread.extra = std::clamp<std::int64_t>(number_at(extra, i, 0), 0, spread.window.stride);
    const std::int64_t by_stride = spread.window.input * spread.window.stride;
    if (!automatic.starts_with("SAME") && sizes.size() != axes) continue;
    const std::int64_t asked = std::clamp<std::int64_t>(number_at(sizes, i, by_stride), 0, kLargestDimension);
    spread.window.pad(spread.unpadded() - asked, automatic == "SAME_UPPER");
  }
  return spreads;
}

// Runs a transposed convolution as the data gradient of the convolution in the other direction.
void transposed_convolution(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const std::optional<Shape> weight = import.shape(node.input(1));
  if (!weight || weight->size() != x.size()) throw UsageError("the shape of its weight is not known");
  Windows windows = planar_windows(node, x, kernel_of(node, weight).value_or(Shape{}));
  if ((*weight)[0] != x[1]) throw UsageError(kNoFit);
  const auto spreads = spreads_of(node, windows);
  Conv2d mirror{.n = x[0]};
  mirror.groups = node.integer("group", 1);
  mirror.c = count_of({(*weight)[1], mirror.groups});
  mirror.k = x[1];
  mirror.h = spreads[0].size();
  mirror.w = spreads[1].size();
  const Maps y = {mirror.n, mirror.c, mirror.h, mirror.w, windows.is_flat};
  if (windows.h.before != windows.h.after || windows.w.before != windows.w.after)
    return import.leave_out(node, "its padding is uneven", not_empty(y.shape()));
  mirror.dtype = import.types().convolution;
  mirror.layout = import.layout();
  mirror.direction = Direction::dgrad;
  set_windows(mirror, windows);
  const Operation checked(mirror);
  if (mirror.out_h() != windows.h.input || mirror.out_w() != windows.w.input)
    throw UsageError("its output's size is not that of a convolution's input");
  run_with_bias(import, node, mirror, import.tensor(node.input(0)), y);
}

}  // namespace

const Importers& convolution_importers() {
  static const Importers importers = {{"Conv", convolution}, {"ConvTranspose", transposed_convolution}};
  return importers;
}

// Operators on maps of n·c·h·w, and operators on each element.

namespace {

// Runs a normalization in the layout of maps.
void run_norm(Import& import, const OnnxNode& node, BatchNorm norm, const Shape& x) {
  norm.dtype = import.types().other;
  norm.weights = kinds::converted_weights_type(norm.dtype);
  import.run(node, import.step_name(node), norm, {import.tensor(node.input(0))}, x);
}

void batch_normalization(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  if (x.size() < 2 || x.size() > 4) throw UsageError("its input has not two to four dimensions");
  // PyTorch describes the input to cuDNN with four dimensions: sizes of one are appended.
  BatchNorm norm{x[0], x[1], number_at(x, 2, 1), number_at(x, 3, 1)};
  norm.layout = import.layout();
  norm.pass = import.training() ? Pass::forward : Pass::inference;
  run_norm(import, node, norm, x);
}

// PyTorch takes each channel of each image as a channel of one image, and normalizes as in training.
void instance_normalization(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  if (x.size() < 3 || x.size() > 4) throw UsageError("its input has not three or four dimensions");
  run_norm(import, node, {1, limited_product({x[0], x[1]}), x[2], number_at(x, 3, 1)}, x);
}

void run_pool(Import& import, const OnnxNode& node, const Pool2d& pool) {
  const Operation checked(pool);  // checks the stride before sizes are divided by it
  const Shape output = {pool.n, pool.c, pool.out_h(), pool.out_w()};
  // Rounding up adds an output whose window hangs over the edge.
  const bool rounds_up =
      node.integer("ceil_mode", 0) != 0 && ((pool.h + 2 * pool.pad_h - pool.window_h) % pool.stride_h != 0 ||
                                            (pool.w + 2 * pool.pad_w - pool.window_w) % pool.stride_w != 0);
  if (rounds_up) throw UsageError("its windows hang over the edge (ceil_mode)");
  import.run(node, import.step_name(node), pool, {import.tensor(node.input(0))}, output);
}

Pool2d pool_of(Import& import, const OnnxNode& node, PoolKind kind) {
  const std::optional<Shape>& x = import.shape(node.input(0));
  if (!x || x->size() != 4) throw UsageError("its input is not known to have four dimensions");
  Pool2d pool{kind, (*x)[0], (*x)[1], (*x)[2], (*x)[3]};
  pool.dtype = import.types().other;
  pool.layout = import.layout();
  return pool;
}

template <PoolKind kind>
void window_pool(Import& import, const OnnxNode& node) {
  Pool2d pool = pool_of(import, node, kind);
  const auto window = node.integers("kernel_shape"), strides = node.integers("strides");
  const auto pads = node.integers("pads"), dilations = node.integers("dilations");
  if (window.size() != 2 || (!strides.empty() && strides.size() != 2) || (!pads.empty() && pads.size() != 4))
    throw UsageError("its window has not two dimensions");
  if (std::any_of(dilations.begin(), dilations.end(), [](std::int64_t step) { return step != 1; }))
    throw UsageError("its window is dilated");
  if (node.text("auto_pad").starts_with("SAME"))
    throw UsageError("its padding is chosen by the runtime (auto_pad)");
  pool.window_h = window[0];
  pool.window_w = window[1];
  pool.stride_h = number_at(strides, 0, 1);
  pool.stride_w = number_at(strides, 1, 1);
  pool.pad_h = number_at(pads, 0, 0);
  pool.pad_w = number_at(pads, 1, 0);
  if (pool.pad_h != number_at(pads, 2, 0) || pool.pad_w != number_at(pads, 3, 0))
    throw UsageError("its padding is uneven");
  const bool is_padded = pool.pad_h != 0 || pool.pad_w != 0;
  if (kind == PoolKind::average && is_padded && node.integer("count_include_pad", 0) == 0)
    throw UsageError("its averages leave the padding out (count_include_pad=0)");
  run_pool(import, node, pool);
}

// Stands for torch.nn.AdaptiveAvgPool2d(1) and AdaptiveMaxPool2d(1).
template <PoolKind kind>
void global_pool(Import& import, const OnnxNode& node) {
  Pool2d pool = pool_of(import, node, kind);
  pool.window_h = pool.stride_h = pool.h;
  pool.window_w = pool.stride_w = pool.w;
  run_pool(import, node, pool);
}

// ReduceMean is how exporters write torch.nn.AdaptiveAvgPool2d(1).
void mean(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  if (is_layer_norm(import, node)) return;
  std::vector<std::size_t> places;
  for (const std::int64_t axis : axes_of(import, node).value_or(Shape{}))
    places.push_back(required_axis(axis, x.size()));
  std::sort(places.begin(), places.end());
  if (x.size() != 4 || places != std::vector<std::size_t>{2, 3})
    throw UsageError("it is a sum over other axes than a map's");
  global_pool<PoolKind::average>(import, node);
  if (node.integer("keepdims", 1) == 0) import.value(node.outputs.front()).shape = Shape{x[0], x[1]};
}

void run_elementwise(Import& import, const OnnxNode& node, ElementwiseKind kind,
                     const std::vector<std::string>& inputs) {
  const std::optional<Shape> x = import.shape(inputs.front());
  if (!x) throw UsageError(kUnknownShape);
  std::vector<Tensor> tensors;
  for (const std::string& input : inputs) tensors.push_back(import.tensor(input));
  import.run(node, import.step_name(node), Elementwise{kind, count_of(*x), import.types().other}, tensors,
             *x);
}

template <ElementwiseKind kind>
void of_one(Import& import, const OnnxNode& node) {
  run_elementwise(import, node, kind, {node.input(0)});
}

void gelu(Import& import, const OnnxNode& node) {
  if (node.text("approximate") == "tanh") throw UsageError("only the exact one is timed, not that by tanh");
  of_one<ElementwiseKind::gelu>(import, node);
}

// Exporters write torch.nn.SiLU as x·sigmoid(x).
void sigmoid(Import& import, const OnnxNode& node) {
  import.known_shape(node, 0);
  const auto& readers = import.readers(node.outputs.front());
  const auto is_read = [&](const std::string& name) {
    return readers[0]->input(0) == name || readers[0]->input(1) == name;
  };
  const bool is_silu = readers.size() == 1 && readers[0]->operator_name == "Mul" && is_read(node.input(0)) &&
                       is_read(node.outputs.front());
  if (!is_silu) return of_one<ElementwiseKind::sigmoid>(import, node);
  import.take_over(*readers[0]);
  run_elementwise(import, *readers[0], ElementwiseKind::silu, {node.input(0)});
}

void swish(Import& import, const OnnxNode& node) {
  if (node.real("alpha", 1.0) != 1.0) throw UsageError("only alpha=1 is timed");
  of_one<ElementwiseKind::silu>(import, node);
}

void clip(Import& import, const OnnxNode& node) {
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
  throw UsageError("only limits of 0 and 6, and of 0 alone, are timed");
}

// True if the bias has one number for each channel of maps.
bool is_of_channels(const Shape& x, const Shape& bias) {
  return x.size() == 4 && bias.size() >= 3 && bias.size() <= 4 && count_of(bias) == x[1] &&
         bias[bias.size() - 3] == x[1];
}

// True if `row` has the shape of the last axes of x, so each row gets the same numbers.
bool is_of_rows(const Shape& x, const Shape& row) {
  const auto first = std::find_if(row.begin(), row.end(), [](std::int64_t size) { return size != 1; });
  const Shape tail(first, row.end());
  return !tail.empty() && tail.size() < x.size() && std::equal(tail.rbegin(), tail.rend(), x.rbegin());
}

// Returns PyTorch's operation for x + added, with x the larger. Throws UsageError unless they are equal in
// shape, or the smaller one is a bias.
Operation::Parameters sum_with(const Import& import, const Shape& x, const Shape& added) {
  if (x == added) return Elementwise{ElementwiseKind::add, count_of(x), import.types().other};
  BiasAdd bias{.dtype = import.types().other};
  if (is_of_channels(x, added)) return BiasAdd{x[0], x[1], x[2], x[3], bias.dtype, import.layout()};
  if (!is_of_rows(x, added)) throw UsageError("it adds a tensor of another shape");
  bias.c = count_of(added);
  bias.n = count_of(x) / bias.c;
  return bias;
}

// Sums any number of tensors. One alone is passed on; PyTorch adds more of them one after another.
void add(Import& import, const OnnxNode& node) {
  if (node.inputs.size() < 2) return pass_on(import, node);
  std::vector<std::pair<std::string, Shape>> added;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    added.emplace_back(node.inputs[i], import.known_shape(node, i));
  const auto is_smaller = [](const auto& a, const auto& b) {
    return count_of(a.second) < count_of(b.second);
  };
  std::swap(added.front(), *std::max_element(added.begin(), added.end(), is_smaller));
  const Shape x = added.front().second;
  std::vector<Operation::Parameters> sums;
  for (std::size_t i = 1; i < added.size(); ++i) sums.push_back(sum_with(import, x, added[i].second));
  const std::string name = import.step_name(node);
  std::string before = added.front().first;
  for (std::size_t i = 1; i < added.size(); ++i) {
    OnnxNode step = node;
    const bool is_last = i + 1 == added.size();
    if (!is_last) step.outputs.front() += "#" + std::to_string(i);
    import.run(step, sums.size() == 1 ? name : name + "." + std::to_string(i), sums[i - 1],
               {import.tensor(before), import.tensor(added[i].first)}, x);
    before = step.outputs.front();
  }
}

// Takes the largest, least or mean of tensors; a single tensor is passed on.
void choose(Import& import, const OnnxNode& node) {
  if (node.inputs.size() == 1) return pass_on(import, node);
  throw UsageError("jitterscope has no operation for the largest, least or mean of several tensors");
}

void divide(Import& import, const OnnxNode& node) {
  if (!is_gelu(import, node)) throw UsageError("jitterscope has no operation for division");
}

void multiply(Import& import, const OnnxNode& node) {
  if (import.known_shape(node, 0) != import.known_shape(node, 1))
    throw UsageError("it multiplies by a tensor of another shape");
  run_elementwise(import, node, ElementwiseKind::mul, {node.input(0), node.input(1)});
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
                                      {"Sum", add},
                                      {"Max", choose},
                                      {"Min", choose},
                                      {"Mean", choose},
                                      {"Div", divide},
                                      {"Mul", multiply}};
  return importers;
}

}  // namespace jitterscope::onnx_import
