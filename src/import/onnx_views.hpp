// Computes the strides of values that PyTorch would only view, without a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace jitterscope::onnx_import {

using Shape = std::vector<std::int64_t>;

Shape row_major(const Shape& shape);
/// True if the strides are row-major. The stride of an axis of one element does not matter.
bool is_row_major(const Shape& shape, const Shape& strides);
/// Returns the strides of the same memory in another shape, as PyTorch's view() computes them. nullopt if
/// this needs a copy.
std::optional<Shape> strides_of_view(const Shape& shape, const Shape& strides, const Shape& target);
/// Returns the strides that an elementwise operator writes: without gaps, axes in the order of these strides.
Shape dense_in_order(const Shape& shape, const Shape& strides);

}  // namespace jitterscope::onnx_import
