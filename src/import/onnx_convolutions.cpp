// Convolutions, and transposed ones.
#include <algorithm>
#include <array>

#include "import/onnx_import.hpp"
#include "operation/limits.hpp"

namespace jitterscope::onnx_import {
namespace {

// Of one spatial axis.
struct Window {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

struct Windows {
  Window h, w;
  bool is_flat = false;  // one spatial axis: PyTorch runs it with h = 1
};

std::int64_t at(const std::vector<std::int64_t>& values, std::size_t place, std::int64_t otherwise) {
  return place < values.size() ? values[place] : otherwise;
}

// SAME_UPPER has the odd one at the end, SAME_LOWER at the beginning.
void share_padding(Window& window, std::int64_t total, bool upper) {
  window.before = upper ? total / 2 : total - total / 2;
  window.after = total - window.before;
}

// Products of two stay far from the end of 64 bits.
bool is_sensible(const Window& window) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  const auto within = [](std::int64_t value, std::int64_t lowest) {
    return value >= lowest && value <= kLargest;
  };
  return within(window.input, 1) && within(window.kernel, 1) && within(window.stride, 1) &&
         within(window.dilation, 1) && within(window.before, 0) && within(window.after, 0);
}

// Nothing where it has not one or two spatial axes, or one that cannot be.
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

// As many outputs as there are strides in the input.
void pad_to_same(Windows& windows, bool upper) {
  for (Window* window : {&windows.h, &windows.w}) {
    const std::int64_t outputs = (window->input + window->stride - 1) / window->stride;
    const std::int64_t span = (outputs - 1) * window->stride + (window->kernel - 1) * window->dilation + 1;
    share_padding(*window, std::max<std::int64_t>(span - window->input, 0), upper);
  }
}

// PyTorch pads unevenly with an operator of its own, before a convolution without padding.
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

// As PyTorch runs it: the bias is added by a kernel of its own.
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
  if (!windows) return "it is no convolution in two dimensions";
  if (is_same(node.text("auto_pad"))) pad_to_same(*windows, node.text("auto_pad") == "SAME_UPPER");
  const std::int64_t groups = node.integer("group", 1);
  const auto recorded = import.recorded_shape(node.outputs.front());
  if (!weight && (!recorded || recorded->size() < 2)) return "the number of its output channels is not known";
  if (weight && (weight->size() != x->size() || (*weight)[1] != (*x)[1] / std::max<std::int64_t>(groups, 1)))
    return kNoFit;
  Tensor data = import.tensor(node.input(0));
  if (pad_apart(*windows)) {
    const std::int64_t count = count_of({(*x)[0], (*x)[1], windows->h.input, windows->w.input});
    const Network::UntimedStep pad{"Pad", "", "uneven padding has no kind of operation"};
    data = import.network().add_untimed(import.step_name(node) + ".pad", pad, {data}, count);
  }
  Conv2d conv{.n = (*x)[0], .c = (*x)[1], .h = windows->h.input, .w = windows->w.input};
  conv.k = weight ? (*weight)[0] : (*recorded)[1];
  conv.groups = groups;
  conv.dtype = import.types().convolution;
  conv.layout = import.layout();
  set_windows(conv, *windows);
  const Operation checked(conv);  // before its outputs' size divides by the stride
  run_with_bias(import, node, conv, data, {conv.n, conv.k, conv.out_h(), conv.out_w(), windows->is_flat});
  return "";
}

// What a transposed convolution of one axis gives.
struct Spread {
  Window& window;
  std::int64_t extra = 0;  // output_padding

  std::int64_t unpadded() const {
    return (window.input - 1) * window.stride + window.dilation * (window.kernel - 1) + 1 + extra;
  }
  std::int64_t size() const { return unpadded() - window.before - window.after; }
};

// ONNX gives an output's size, or as many outputs for each input as its stride; the padding follows from it.
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

// The data gradient of the convolution that goes the other way.
std::string transposed_convolution(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0)), weight = import.shape(node.input(1));
  if (!x) return kUnknownShape;
  if (!weight || weight->size() != x->size()) return "the shape of its weight is not known";
  const std::optional<Shape> kernel = kernel_of(node, weight);
  std::optional<Windows> windows = windows_of(node, *x, *kernel);
  if (!windows) return "it is no convolution in two dimensions";
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

}  // namespace jitterscope::onnx_import
