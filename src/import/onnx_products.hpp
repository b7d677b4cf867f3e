// What an Einsum's equation says: the sizes of its output, and the product that it is.
#pragma once

#include "import/onnx.hpp"

namespace jitterscope::onnx_import {

/// The output's shape. Nothing where an input's is unknown or does not fit, or for an equation with an
/// ellipsis, without an arrow, or with a letter twice in one term.
std::optional<Shape> einsum_shape(Import& import, const OnnxNode& node);

/// A batch of products of m×k and k×n matrices: the letters of the batch stand first and in one order
/// everywhere, those of the matrices last. A flipped one stands as k×m or n×k.
struct EinsumProduct {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool flips_left = false, flips_right = false;
};
/// Nothing where the equation is no such product.
std::optional<EinsumProduct> einsum_product(Import& import, const OnnxNode& node);

}  // namespace jitterscope::onnx_import
