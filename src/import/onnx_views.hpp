// How a value of an ONNX graph lies in memory where PyTorch would only view it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace jitterscope::onnx_import {

using Shape = std::vector<std::int64_t>;

Shape row_major(const Shape& shape);
/// The stride of an axis of one element means nothing.
bool is_row_major(const Shape& shape, const Shape& strides);
/// The strides with which memory is seen in another shape, as PyTorch's view() computes them. Nothing where
/// that needs a copy.
std::optional<Shape> strides_of_view(const Shape& shape, const Shape& strides, const Shape& target);
/// Without gaps, the axes in the order that these strides have: what an elementwise operator writes.
Shape dense_in_order(const Shape& shape, const Shape& strides);

}  // namespace jitterscope::onnx_import
