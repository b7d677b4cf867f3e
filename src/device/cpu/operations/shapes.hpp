// How operands lie in memory.
#pragma once

#include <array>

#include "jitterscope/operation.hpp"

namespace jitterscope::cpu {

/// Steps in elements of a four-dimensional tensor: n·c·h·w in nchw or nhwc order. Weights are k·c·r·s.
struct Strides {
  std::int64_t n = 0, c = 0, h = 0, w = 0;

  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t row, std::int64_t column) const {
    return i * n + j * c + row * h + column * w;
  }
};

inline Strides strides(std::int64_t c, std::int64_t h, std::int64_t w, Layout layout) {
  if (layout == Layout::nchw) return {.n = c * h * w, .c = h * w, .h = w, .w = 1};
  return {.n = h * w * c, .c = 1, .h = w * c, .w = c};
}

/// The i, j, row and column of an element, by how many lie before it.
inline std::array<std::int64_t, 4> position(std::int64_t index, std::int64_t c, std::int64_t h,
                                            std::int64_t w, Layout layout) {
  const std::int64_t image = index % (c * h * w);
  if (layout == Layout::nchw) return {index / (c * h * w), image / (h * w), image / w % h, image % w};
  return {index / (c * h * w), image % c, image / (w * c), image / c % w};
}

/// A linear layer is a matrix product with transposed weights; its operands come in the same order.
inline Matmul as_matmul(const Operation& operation) {
  const auto* linear = std::get_if<Linear>(&operation.parameters());
  if (linear == nullptr) return std::get<Matmul>(operation.parameters());
  return {.m = linear->n,
          .n = linear->out,
          .k = linear->in,
          .transpose_b = true,
          .bias = linear->bias,
          .dtype = linear->dtype};
}

}  // namespace jitterscope::cpu
