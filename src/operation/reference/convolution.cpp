#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

Shape x_shape(const Conv2d& conv) { return {conv.c, conv.h, conv.w, conv.layout}; }
Shape w_shape(const Conv2d& conv) { return {conv.c / conv.groups, conv.r, conv.s, conv.layout}; }
Shape y_shape(const Conv2d& conv) { return {conv.k, conv.out_h(), conv.out_w(), conv.layout}; }

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
        sum += at(x, x_shape(conv).index({y.outer, group * channels + c, row, column})) *
               at(w, w_shape(conv).index({y.channel, c, r, s}));
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
        sum += at(dy, y_tensor.index({x.outer, k, row, column})) *
               at(w, w_shape(conv).index({k, x.channel % channels, r, s}));
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
        sum += at(x, x_shape(conv).index({n, channel, row, column})) *
               at(dy, y_tensor.index({n, w.outer, p, q}));
      }
    }
  }
  return sum;
}

}  // namespace

double element(const Conv2d& conv, const Inputs& inputs, std::size_t, std::int64_t index) {
  switch (conv.direction) {
    case Direction::fprop: return forward(conv, inputs[0], inputs[1], index);
    case Direction::dgrad: return data_gradient(conv, inputs[0], inputs[1], index);
    case Direction::wgrad: return weight_gradient(conv, inputs[0], inputs[1], index);
  }
  return 0.0;
}

Terms terms(const Conv2d& conv, std::size_t) {
  switch (conv.direction) {
    case Direction::fprop: return alike(conv.c / conv.groups * conv.r * conv.s);
    case Direction::dgrad: return alike(conv.k / conv.groups * conv.r * conv.s);
    case Direction::wgrad: return alike(conv.n * conv.out_h() * conv.out_w());
  }
  return {};
}

}  // namespace jitterscope::reference
