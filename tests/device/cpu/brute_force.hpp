// Operations computed the other way round than the reference: every product is scattered to where it
// belongs, with explicit strides instead of positions.
#pragma once

#include <array>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope::testing {

using Tensors = std::vector<std::vector<double>>;

struct Strides {
  std::int64_t outer, channel, row, column;
};

inline Strides strides_of(Layout layout, std::int64_t channels, std::int64_t rows, std::int64_t columns) {
  if (layout == Layout::nchw) return {channels * rows * columns, rows * columns, columns, 1};
  return {channels * rows * columns, 1, columns * channels, channels};
}

inline std::vector<double> scattered(const Conv2d& conv, const Tensors& inputs) {
  const std::int64_t group_c = conv.c / conv.groups, group_k = conv.k / conv.groups;
  const Strides x = strides_of(conv.layout, conv.c, conv.h, conv.w);
  const Strides w = strides_of(conv.layout, group_c, conv.r, conv.s);
  const Strides y = strides_of(conv.layout, conv.k, conv.out_h(), conv.out_w());
  std::vector<double> result(static_cast<std::size_t>(Operation(conv).operands().back().count));
  const auto pair_up = [&](std::int64_t at_x, std::int64_t at_w, std::int64_t at_y) {
    const auto ix = static_cast<std::size_t>(at_x), iw = static_cast<std::size_t>(at_w),
               iy = static_cast<std::size_t>(at_y);
    if (conv.direction == Direction::fprop) result[iy] += inputs[0][ix] * inputs[1][iw];
    if (conv.direction == Direction::dgrad) result[ix] += inputs[0][iy] * inputs[1][iw];
    if (conv.direction == Direction::wgrad) result[iw] += inputs[0][ix] * inputs[1][iy];
  };
  // From each input pixel forward: which output pixel sees it through filter element (r, s).
  for (std::int64_t n = 0; n < conv.n; ++n)
    for (std::int64_t g = 0; g < conv.groups; ++g)
      for (std::int64_t c = 0; c < group_c; ++c)
        for (std::int64_t k = 0; k < group_k; ++k)
          for (std::int64_t i = 0; i < conv.h; ++i)
            for (std::int64_t j = 0; j < conv.w; ++j)
              for (std::int64_t r = 0; r < conv.r; ++r)
                for (std::int64_t s = 0; s < conv.s; ++s) {
                  const std::int64_t top = i + conv.pad_h - r * conv.dilation_h;
                  const std::int64_t left = j + conv.pad_w - s * conv.dilation_w;
                  const bool hit =
                      top >= 0 && left >= 0 && top % conv.stride_h == 0 && left % conv.stride_w == 0;
                  const std::int64_t p = top / conv.stride_h, q = left / conv.stride_w;
                  if (!hit || p >= conv.out_h() || q >= conv.out_w()) continue;
                  pair_up(n * x.outer + (g * group_c + c) * x.channel + i * x.row + j * x.column,
                          (g * group_k + k) * w.outer + c * w.channel + r * w.row + s * w.column,
                          n * y.outer + (g * group_k + k) * y.channel + p * y.row + q * y.column);
                }
  return result;
}

inline std::vector<double> outer_products(const Matmul& matmul, const Tensors& inputs) {
  const auto [m, n, k] = std::array{matmul.m, matmul.n, matmul.k};
  const std::int64_t a_row = matmul.transpose_a ? 1 : k, a_column = matmul.transpose_a ? m : 1;
  const std::int64_t b_row = matmul.transpose_b ? 1 : n, b_column = matmul.transpose_b ? k : 1;
  std::vector<double> result(static_cast<std::size_t>(matmul.batch * m * n));
  const auto at = [](const std::vector<double>& values, std::int64_t index) {
    return values[static_cast<std::size_t>(index)];
  };
  for (std::int64_t b = 0; b < matmul.batch; ++b) {
    for (std::int64_t l = 0; l < k; ++l) {
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          result[static_cast<std::size_t>((b * m + i) * n + j)] +=
              at(inputs[0], b * m * k + i * a_row + l * a_column) *
              at(inputs[1], b * k * n + l * b_row + j * b_column);
        }
      }
    }
  }
  if (!matmul.bias) return result;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += inputs[2][i % static_cast<std::size_t>(n)];
  return result;
}

}  // namespace jitterscope::testing
