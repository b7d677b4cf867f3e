#include "operation/reference.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using Inputs = std::vector<std::vector<double>>;

// Position in a tensor of four dimensions: outer, channel, height, width (of a weight: k, c/groups, r, s).
struct Position {
  std::int64_t outer, channel, row, column;
};

struct Shape {
  std::int64_t channels, rows, columns;
  Layout layout;

  std::size_t index(const Position& at) const {
    const std::int64_t flat =
        layout == Layout::nchw ? ((at.outer * channels + at.channel) * rows + at.row) * columns + at.column
                               : ((at.outer * rows + at.row) * columns + at.column) * channels + at.channel;
    return static_cast<std::size_t>(flat);
  }
  Position position(std::int64_t flat) const {
    const auto take = [&flat](std::int64_t size) {
      const std::int64_t digit = flat % size;
      flat /= size;
      return digit;
    };
    Position at{};
    if (layout == Layout::nhwc) at.channel = take(channels);
    at.column = take(columns);
    at.row = take(rows);
    if (layout == Layout::nchw) at.channel = take(channels);
    at.outer = flat;
    return at;
  }
};

Shape x_shape(const Conv2d& conv) { return {conv.c, conv.h, conv.w, conv.layout}; }
Shape w_shape(const Conv2d& conv) { return {conv.c / conv.groups, conv.r, conv.s, conv.layout}; }
Shape y_shape(const Conv2d& conv) { return {conv.k, conv.out_h(), conv.out_w(), conv.layout}; }

bool inside(std::int64_t position, std::int64_t size) { return position >= 0 && position < size; }

double forward(const Conv2d& conv, const std::vector<double>& x, const std::vector<double>& w,
               std::int64_t index) {
  const Position y = y_shape(conv).position(index);
  const std::int64_t channels = conv.c / conv.groups, group = y.channel / (conv.k / conv.groups);
  double sum = 0.0;
  for (std::int64_t r = 0; r < conv.r; ++r) {
    const std::int64_t row = y.row * conv.stride_h - conv.pad_h + r * conv.dilation_h;
    if (!inside(row, conv.h)) continue;
    for (std::int64_t s = 0; s < conv.s; ++s) {
      const std::int64_t column = y.column * conv.stride_w - conv.pad_w + s * conv.dilation_w;
      if (!inside(column, conv.w)) continue;
      for (std::int64_t c = 0; c < channels; ++c) {
        sum += x[x_shape(conv).index({y.outer, group * channels + c, row, column})] *
               w[w_shape(conv).index({y.channel, c, r, s})];
      }
    }
  }
  return sum;
}

// The output position whose filter element `tap` falls on input position `in`, or -1.
std::int64_t output_above(std::int64_t in, std::int64_t tap, std::int64_t stride, std::int64_t pad,
                          std::int64_t dilation, std::int64_t out_size) {
  const std::int64_t offset = in + pad - tap * dilation;
  if (offset < 0 || offset % stride != 0 || offset / stride >= out_size) return -1;
  return offset / stride;
}

double data_gradient(const Conv2d& conv, const std::vector<double>& dy, const std::vector<double>& w,
                     std::int64_t index) {
  const Position x = x_shape(conv).position(index);
  const Shape y_tensor = y_shape(conv);
  const std::int64_t channels = conv.c / conv.groups, filters = conv.k / conv.groups,
                     group = x.channel / channels;
  double sum = 0.0;
  for (std::int64_t r = 0; r < conv.r; ++r) {
    const std::int64_t row =
        output_above(x.row, r, conv.stride_h, conv.pad_h, conv.dilation_h, y_tensor.rows);
    if (row < 0) continue;
    for (std::int64_t s = 0; s < conv.s; ++s) {
      const std::int64_t column =
          output_above(x.column, s, conv.stride_w, conv.pad_w, conv.dilation_w, y_tensor.columns);
      if (column < 0) continue;
      for (std::int64_t k = group * filters; k < (group + 1) * filters; ++k) {
        sum += dy[y_tensor.index({x.outer, k, row, column})] *
               w[w_shape(conv).index({k, x.channel % channels, r, s})];
      }
    }
  }
  return sum;
}

double weight_gradient(const Conv2d& conv, const std::vector<double>& x, const std::vector<double>& dy,
                       std::int64_t index) {
  const Position w = w_shape(conv).position(index);
  const Shape y_tensor = y_shape(conv);
  const std::int64_t group = w.outer / (conv.k / conv.groups);
  const std::int64_t channel = group * (conv.c / conv.groups) + w.channel;
  double sum = 0.0;
  for (std::int64_t n = 0; n < conv.n; ++n) {
    for (std::int64_t p = 0; p < y_tensor.rows; ++p) {
      const std::int64_t row = p * conv.stride_h - conv.pad_h + w.row * conv.dilation_h;
      if (!inside(row, conv.h)) continue;
      for (std::int64_t q = 0; q < y_tensor.columns; ++q) {
        const std::int64_t column = q * conv.stride_w - conv.pad_w + w.column * conv.dilation_w;
        if (!inside(column, conv.w)) continue;
        sum += x[x_shape(conv).index({n, channel, row, column})] * dy[y_tensor.index({n, w.outer, p, q})];
      }
    }
  }
  return sum;
}

double element(const Conv2d& conv, const Inputs& inputs, std::int64_t index) {
  switch (conv.direction) {
    case Direction::fprop: return forward(conv, inputs[0], inputs[1], index);
    case Direction::dgrad: return data_gradient(conv, inputs[0], inputs[1], index);
    case Direction::wgrad: return weight_gradient(conv, inputs[0], inputs[1], index);
  }
  return 0.0;
}

double element(const Matmul& matmul, const Inputs& inputs, std::int64_t index) {
  const std::int64_t column = index % matmul.n, row = index / matmul.n % matmul.m;
  const std::int64_t batch = index / matmul.n / matmul.m;
  double sum = matmul.bias ? inputs[2][static_cast<std::size_t>(column)] : 0.0;
  for (std::int64_t k = 0; k < matmul.k; ++k) {
    const std::int64_t a = matmul.transpose_a ? k * matmul.m + row : row * matmul.k + k;
    const std::int64_t b = matmul.transpose_b ? column * matmul.k + k : k * matmul.n + column;
    sum += inputs[0][static_cast<std::size_t>(batch * matmul.m * matmul.k + a)] *
           inputs[1][static_cast<std::size_t>(batch * matmul.k * matmul.n + b)];
  }
  return sum;
}

double element(const Linear& linear, const Inputs& inputs, std::int64_t index) {
  Matmul same{.m = linear.n, .n = linear.out, .k = linear.in};
  same.transpose_b = true;
  same.bias = linear.bias;
  return element(same, inputs, index);
}

double element(const Copy&, const Inputs& inputs, std::int64_t index) {
  return inputs[0][static_cast<std::size_t>(index)];
}

double element(const Elementwise& elementwise, const Inputs& inputs, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  switch (elementwise.kind) {
    case ElementwiseKind::fill: return 1.0;
    case ElementwiseKind::add: return inputs[0][at] + inputs[1][at];
    case ElementwiseKind::relu: return inputs[0][at] < 0.0 ? 0.0 : inputs[0][at];  // a NaN stays one
    default: throw UsageError(Operation(elementwise).text() + ": cannot be verified; leave out --verify");
  }
}

double element(const Spin&, const Inputs&, std::int64_t) {
  throw UsageError("spin has no output to verify; leave out --verify");
}

template <class Shape>
double element(const Shape& shape, const Inputs&, std::int64_t) {
  throw UsageError(Operation(shape).text() + ": cannot be verified; leave out --verify");
}

std::int64_t terms(const Conv2d& conv) {
  switch (conv.direction) {
    case Direction::fprop: return conv.c / conv.groups * conv.r * conv.s;
    case Direction::dgrad: return conv.k / conv.groups * conv.r * conv.s;
    case Direction::wgrad: return conv.n * conv.out_h() * conv.out_w();
  }
  return 1;
}
std::int64_t terms(const Matmul& matmul) { return matmul.k; }
std::int64_t terms(const Linear& linear) { return linear.in; }
std::int64_t terms(const Copy&) { return 1; }
std::int64_t terms(const Elementwise&) { return 1; }
std::int64_t terms(const Spin&) { return 0; }
template <class Shape>
std::int64_t terms(const Shape&) {
  return 1;
}

}  // namespace

double reference_element(const Operation& operation, const Inputs& inputs, std::int64_t index) {
  return std::visit([&](const auto& shape) { return element(shape, inputs, index); }, operation.parameters());
}

std::int64_t terms_per_element(const Operation& operation) {
  return std::visit([](const auto& shape) { return terms(shape); }, operation.parameters());
}

std::vector<std::int64_t> reference_sample(const Operation& operation) {
  constexpr double kMultiplyAdds = 2e8;  // about a second on one core
  const std::int64_t total = operation.operands().back().count;
  const auto affordable = static_cast<std::int64_t>(
      kMultiplyAdds / static_cast<double>(std::max<std::int64_t>(1, terms_per_element(operation))));
  std::vector<std::int64_t> elements;
  if (total <= affordable) {
    for (std::int64_t i = 0; i < total; ++i) elements.push_back(i);
    return elements;
  }
  Random random(1);
  const std::int64_t count = std::max<std::int64_t>(affordable, 256);
  for (std::int64_t i = 0; i < count; ++i) {
    elements.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total))));
  }
  return elements;
}

}  // namespace jitterscope
