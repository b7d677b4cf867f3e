// Convolutions and matrix products.
#include <algorithm>
#include <array>

#include "import/onnx_import.hpp"

namespace jitterscope::onnx_import {
namespace {

constexpr const char* kNoFit = "its weight does not fit its input";

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

void pad_to_same(Window& window, bool upper) {
  const std::int64_t stride = std::max<std::int64_t>(window.stride, 1);
  const std::int64_t outputs = (window.input + stride - 1) / stride;
  const std::int64_t span = (outputs - 1) * stride + (window.kernel - 1) * window.dilation + 1;
  const std::int64_t total = std::max<std::int64_t>(span - window.input, 0);
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
  const std::string automatic = node.text("auto_pad");
  const std::size_t axes = x.size() - 2;
  std::array<Window, 2> windows;
  for (std::size_t i = 0; i < axes; ++i) {
    Window& window = windows[2 - axes + i];
    window = {
        x[2 + i], kernel[i], at(strides, i, 1), at(dilations, i, 1), at(pads, i, 0), at(pads, axes + i, 0)};
    if (!is_sensible(window)) return std::nullopt;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
      pad_to_same(window, automatic == "SAME_UPPER");
  }
  return Windows{windows[0], windows[1], axes == 1};
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

// The data gradient of the convolution that goes the other way.
std::string transposed_convolution(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0)), weight = import.shape(node.input(1));
  if (!x) return kUnknownShape;
  if (!weight || weight->size() != x->size()) return "the shape of its weight is not known";
  const std::optional<Shape> kernel = kernel_of(node, weight);
  std::optional<Windows> windows = windows_of(node, *x, *kernel);
  if (!windows) return "it is no convolution in two dimensions";
  if (windows->h.before != windows->h.after || windows->w.before != windows->w.after)
    return "its padding is uneven";
  if ((*weight)[0] != (*x)[1]) return kNoFit;
  const auto extra = node.integers("output_padding");
  const auto size = [&](const Window& window, std::int64_t more) {
    return (window.input - 1) * window.stride - 2 * window.before + window.dilation * (window.kernel - 1) +
           1 + more;
  };
  Conv2d mirror{.n = (*x)[0]};
  mirror.groups = node.integer("group", 1);
  mirror.c = count_of({(*weight)[1], mirror.groups});
  mirror.k = (*x)[1];
  mirror.h = windows->is_flat ? 1 : size(windows->h, at(extra, 0, 0));
  mirror.w = size(windows->w, at(extra, windows->is_flat ? 0 : 1, 0));
  mirror.dtype = import.types().convolution;
  mirror.layout = import.layout();
  mirror.direction = Direction::dgrad;
  set_windows(mirror, *windows);
  const Operation checked(mirror);
  if (mirror.out_h() != windows->h.input || mirror.out_w() != windows->w.input)
    return "its output's size is not that of a convolution's input";
  run_with_bias(import, node, mirror, import.tensor(node.input(0)),
                {mirror.n, mirror.c, mirror.h, mirror.w, windows->is_flat});
  return "";
}

bool is_vector_of(const std::optional<Shape>& shape, std::int64_t count) {
  return shape && !shape->empty() && shape->back() == count && count_of(*shape) == count;
}

// torch.nn.Linear is written as Gemm with transB, or as MatMul and Add.
std::string gemm(Import& import, const OnnxNode& node) {
  const std::optional<Shape> a = import.shape(node.input(0)), b = import.shape(node.input(1));
  if (!a || !b || a->size() != 2 || b->size() != 2) return kUnknownShape;
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  const std::int64_t m = (*a)[ta ? 1 : 0], k = (*a)[ta ? 0 : 1], n = (*b)[tb ? 0 : 1];
  if ((*b)[tb ? 1 : 0] != k) return kNoFit;
  const bool has_bias = !node.input(2).empty();
  if (has_bias && !is_vector_of(import.shape(node.input(2)), n)) return "its third input is no bias";
  const std::vector<Tensor> inputs = {import.tensor(node.input(0)), import.tensor(node.input(1))};
  const DataType type = import.types().product;
  const std::string name = import.step_name(node);
  if (tb && !ta) {
    import.run(node, name, Linear{m, k, n, has_bias, type}, inputs, {m, n});
  } else {
    import.run(node, name, Matmul{m, n, k, 1, ta, tb, has_bias, type}, inputs, {m, n});
  }
  return "";
}

// The Add of a bias that alone reads the product.
const OnnxNode* bias_of(Import& import, const OnnxNode& node, std::int64_t n) {
  const auto& readers = import.readers(node.outputs.front());
  if (readers.size() != 1 || readers[0]->operator_name != "Add") return nullptr;
  const std::string other = readers[0]->input(readers[0]->input(0) == node.outputs.front() ? 1 : 0);
  const auto& shape = import.shape(other);
  return import.value(other).is_weight && shape && shape->size() == 1 && is_vector_of(shape, n) ? readers[0]
                                                                                                : nullptr;
}

std::string product_with_weight(Import& import, const OnnxNode& node, const Shape& a, const Shape& b) {
  const std::int64_t k = a.back(), n = b[1], m = count_of(Shape(a.begin(), a.end() - 1));
  Shape output(a.begin(), a.end() - 1);
  output.push_back(n);
  const std::vector<Tensor> inputs = {import.tensor(node.input(0)), import.tensor(node.input(1))};
  const DataType type = import.types().product;
  if (const OnnxNode* add = bias_of(import, node, n)) {
    import.run(*add, import.step_name(*add), Linear{m, k, n, true, type}, inputs, output);
    import.take_over(*add);
  } else {
    import.run(node, import.step_name(node), Matmul{m, n, k, 1, false, false, false, type}, inputs, output);
  }
  return "";
}

std::string matmul(Import& import, const OnnxNode& node) {
  const std::optional<Shape> a = import.shape(node.input(0)), b = import.shape(node.input(1));
  if (!a || !b) return kUnknownShape;
  if (a->size() < 2 || b->size() < 2) return "it is a product with a vector";
  if (a->back() != (*b)[b->size() - 2]) return kNoFit;
  if (b->size() == 2) return product_with_weight(import, node, *a, *b);
  const Shape left(a->begin(), a->end() - 2), right(b->begin(), b->end() - 2);
  if (left != right) return "its batches differ";
  const std::int64_t m = (*a)[a->size() - 2], k = a->back(), n = b->back();
  Shape output = left;
  output.insert(output.end(), {m, n});
  const Matmul shape{m, n, k, count_of(left), false, false, false, import.types().product};
  import.run(node, import.step_name(node), shape,
             {import.tensor(node.input(0)), import.tensor(node.input(1))}, output);
  return "";
}

}  // namespace

const Importers& product_importers() {
  static const Importers importers = {
      {"Conv", convolution}, {"ConvTranspose", transposed_convolution}, {"Gemm", gemm}, {"MatMul", matmul}};
  return importers;
}

}  // namespace jitterscope::onnx_import
