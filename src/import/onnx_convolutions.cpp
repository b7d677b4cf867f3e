#include <algorithm>
#include <array>

#include "import/onnx.hpp"
#include "operation/kinds.hpp"
#include "operation/pytorch.hpp"

// Imports ONNX's convolutions, normalization, pooling and elementwise operators.

namespace jitterscope::onnx_import {
namespace {

// The window of a convolution along one spatial axis; `before` and `after` are its padding.
struct Window {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

struct Windows {
  Window h, w;
  bool is_flat = false;  // one spatial axis, which PyTorch runs with h = 1
};

std::int64_t at(const std::vector<std::int64_t>& values, std::size_t place, std::int64_t otherwise) {
  return place < values.size() ? values[place] : otherwise;
}

// SAME_UPPER puts an odd padding element at the end, SAME_LOWER at the beginning.
void share_padding(Window& window, std::int64_t total, bool upper) {
  window.before = upper ? total / 2 : total - total / 2;
  window.after = total - window.before;
}

// True if all numbers are so small that products of two stay far from overflow of 64 bits.
bool is_sensible(const Window& window) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  const auto within = [](std::int64_t value, std::int64_t lowest) {
    return value >= lowest && value <= kLargest;
  };
  return within(window.input, 1) && within(window.kernel, 1) && within(window.stride, 1) &&
         within(window.dilation, 1) && within(window.before, 0) && within(window.after, 0);
}

// Returns nullopt unless there are one or two spatial axes with possible sizes.
std::optional<Windows> windows_of(const OnnxNode& node, const Shape& x, const Shape& kernel) {
  if ((x.size() != 3 && x.size() != 4) || kernel.size() != x.size() - 2) return std::nullopt;
  const auto strides = node.integers("strides"), dilations = node.integers("dilations");
  const auto pads = node.integers("pads");
  const std::size_t axes = x.size() - 2;
  std::array<Window, 2> windows;
  for (std::size_t i = 0; i < axes; ++i) {
    Window& window = windows[2 - axes + i];
    window = {
        x[2 + i], kernel[i], at(strides, i, 1), at(dilations, i, 1), at(pads, i, 0), at(pads, axes + i, 0)};
    if (!is_sensible(window)) return std::nullopt;
  }
  return Windows{windows[0], windows[1], axes == 1};
}

bool is_same(const std::string& automatic) { return automatic == "SAME_UPPER" || automatic == "SAME_LOWER"; }

// Sets the padding with which the number of outputs is input / stride, rounded up.
void pad_to_same(Windows& windows, bool upper) {
  for (Window* window : {&windows.h, &windows.w}) {
    const std::int64_t outputs = (window->input + window->stride - 1) / window->stride;
    const std::int64_t span = (outputs - 1) * window->stride + (window->kernel - 1) * window->dilation + 1;
    share_padding(*window, std::max<std::int64_t>(span - window->input, 0), upper);
  }
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

std::string convolution(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0)), weight = import.shape(node.input(1));
  if (!x) return kUnknownShape;
  const std::optional<Shape> kernel = kernel_of(node, weight);
  if (!kernel) return "the size of its window is not known";
  std::optional<Windows> windows = windows_of(node, *x, *kernel);
  if (!windows) return "it is not a convolution in two dimensions";
  if (is_same(node.text("auto_pad"))) pad_to_same(*windows, node.text("auto_pad") == "SAME_UPPER");
  const std::int64_t groups = node.integer("group", 1);
  const auto recorded = import.recorded_shape(node.outputs.front());
  if (!weight && (!recorded || recorded->size() < 2)) return "the number of its output channels is not known";
  if (weight && (weight->size() != x->size() || (*weight)[1] != (*x)[1] / std::max<std::int64_t>(groups, 1)))
    return kNoFit;
  Tensor data = import.tensor(node.input(0));
  if (pad_apart(*windows)) {
    const std::int64_t count = count_of({(*x)[0], (*x)[1], windows->h.input, windows->w.input});
    const Network::UntimedStep pad{"Pad", "", "jitterscope has no operation for uneven padding"};
    data = import.network().add_untimed(import.step_name(node) + ".pad", pad, {data}, count);
  }
  Conv2d conv{.n = (*x)[0], .c = (*x)[1], .h = windows->h.input, .w = windows->w.input};
  conv.k = weight ? (*weight)[0] : (*recorded)[1];
  conv.groups = groups;
  conv.dtype = import.types().convolution;
  conv.layout = import.layout();
  set_windows(conv, *windows);
  const Operation checked(conv);  // checks the stride before sizes are divided by it
  run_with_bias(import, node, conv, data, {conv.n, conv.k, conv.out_h(), conv.out_w(), windows->is_flat});
  return "";
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
    spread.extra = std::clamp<std::int64_t>(at(extra, i, 0), 0, spread.window.stride);
    const std::int64_t by_stride = spread.window.input * spread.window.stride;
    if (!is_same(automatic) && sizes.size() != axes) continue;
    const std::int64_t asked = std::clamp<std::int64_t>(at(sizes, i, by_stride), 0, kLargestDimension);
    share_padding(spread.window, spread.unpadded() - asked, automatic == "SAME_UPPER");
  }
  return spreads;
}

// Runs a transposed convolution as the data gradient of the convolution in the other direction.
std::string transposed_convolution(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0)), weight = import.shape(node.input(1));
  if (!x) return kUnknownShape;
  if (!weight || weight->size() != x->size()) return "the shape of its weight is not known";
  const std::optional<Shape> kernel = kernel_of(node, weight);
  std::optional<Windows> windows = windows_of(node, *x, *kernel);
  if (!windows) return "it is not a convolution in two dimensions";
  if ((*weight)[0] != (*x)[1]) return kNoFit;
  const auto spreads = spreads_of(node, *windows);
  Conv2d mirror{.n = (*x)[0]};
  mirror.groups = node.integer("group", 1);
  mirror.c = count_of({(*weight)[1], mirror.groups});
  mirror.k = (*x)[1];
  mirror.h = spreads[0].size();
  mirror.w = spreads[1].size();
  const Maps y = {mirror.n, mirror.c, mirror.h, mirror.w, windows->is_flat};
  if (windows->h.before != windows->h.after || windows->w.before != windows->w.after) {
    import.leave_out(node, "its padding is uneven", not_empty(y.shape()));
    return "";
  }
  mirror.dtype = import.types().convolution;
  mirror.layout = import.layout();
  mirror.direction = Direction::dgrad;
  set_windows(mirror, *windows);
  const Operation checked(mirror);
  if (mirror.out_h() != windows->h.input || mirror.out_w() != windows->w.input)
    return "its output's size is not that of a convolution's input";
  run_with_bias(import, node, mirror, import.tensor(node.input(0)), y);
  return "";
}

}  // namespace

const Importers& convolution_importers() {
  static const Importers importers = {{"Conv", convolution}, {"ConvTranspose", transposed_convolution}};
  return importers;
}

// Operators on maps of n·c·h·w, and operators on each element.

namespace {

std::string batch_normalization(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return kUnknownShape;
  if (x->size() < 2 || x->size() > 4) return "its input has not two to four dimensions";
  BatchNorm norm{(*x)[0], (*x)[1]};
  // PyTorch describes the input to cuDNN with four dimensions: sizes of one are appended.
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
  const Operation checked(pool);  // checks the stride before sizes are divided by it
  const Shape output = {pool.n, pool.c, pool.out_h(), pool.out_w()};
  // Rounding up adds an output whose window hangs over the edge.
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

// Stands for torch.nn.AdaptiveAvgPool2d(1) and AdaptiveMaxPool2d(1).
template <PoolKind kind>
std::string global_pool(Import& import, const OnnxNode& node) {
  std::optional<Pool2d> pool = pool_of(import, node, kind);
  if (!pool) return "its input is not known to have four dimensions";
  pool->window_h = pool->stride_h = pool->h;
  pool->window_w = pool->stride_w = pool->w;
  return run_pool(import, node, *pool);
}

// ReduceMean is how exporters write torch.nn.AdaptiveAvgPool2d(1).
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

// Exporters write torch.nn.SiLU as x·sigmoid(x).
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

// Returns PyTorch's operation for x + added, with x the larger; nullopt if neither equal nor a bias.
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

// Sums any number of tensors. One alone is passed on; PyTorch adds more of them one after another.
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

// Takes the largest, least or mean of tensors; a single tensor is passed on.
std::string choose(Import& import, const OnnxNode& node) {
  if (node.inputs.size() == 1) return view_importers().at("Identity")(import, node);
  return "jitterscope has no operation for the largest, least or mean of several tensors";
}

std::string divide(Import& import, const OnnxNode& node) {
  return is_gelu(import, node) ? "" : "jitterscope has no operation for division";
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
