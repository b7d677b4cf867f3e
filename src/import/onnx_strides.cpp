#include "import/onnx_strides.hpp"

#include <algorithm>
#include <numeric>

#include "operation/limits.hpp"

namespace jitterscope::onnx_import {
namespace {

// Elements at equal distances: axes that follow one another in memory.
struct Piece {
  std::int64_t count, step;
};

// The innermost last.
std::vector<Piece> pieces_of(const Shape& shape, const Shape& strides) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!pieces.empty() && pieces.back().step == limited_product({strides[i], shape[i]})) {
      pieces.back() = {limited_product({pieces.back().count, shape[i]}), strides[i]};
    } else {
      pieces.push_back({shape[i], strides[i]});
    }
  }
  return pieces;
}

}  // namespace

Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = limited_product({strides[i], shape[i]});
  return strides;
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  const Shape expected = row_major(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != expected[i]) return false;
  }
  return true;
}

// As at::detail::computeStride.
std::optional<Shape> strides_of_view(const Shape& shape, const Shape& strides, const Shape& target) {
  std::vector<Piece> pieces = pieces_of(shape, strides);
  Shape result(target.size(), 1);
  for (std::size_t i = target.size(); i-- > 0;) {
    if (target[i] == 1) continue;
    if (pieces.empty() || pieces.back().count % target[i] != 0) return std::nullopt;
    Piece& inner = pieces.back();
    result[i] = inner.step;
    inner = {inner.count / target[i], limited_product({inner.step, target[i]})};
    if (inner.count == 1) pieces.pop_back();
  }
  return result;
}

Shape dense_in_order(const Shape& shape, const Shape& strides) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  Shape result(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    result[order[i]] = step;
    step = limited_product({step, shape[order[i]]});
  }
  return result;
}

}  // namespace jitterscope::onnx_import
