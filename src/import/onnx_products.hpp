// Reads an Einsum's equation: the shape of its output, and the matrix product that it stands for.
#pragma once

#include "import/onnx.hpp"

namespace jitterscope::onnx_import {

/// Returns the output's shape. nullopt if an input's shape is unknown or does not fit, or for an equation
/// with an ellipsis, without an arrow, or with a letter twice in one term.
std::optional<Shape> einsum_shape(Import& import, const OnnxNode& node);

/// A batch of products of m×k and k×n matrices. The letters of the batch come first, in the same order in all
/// terms, those of the matrices last. A flipped matrix is stored as k×m or n×k.
struct EinsumProduct {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool flips_left = false, flips_right = false;
};
/// Returns nullopt if the equation is no such product.
std::optional<EinsumProduct> einsum_product(Import& import, const OnnxNode& node);

}  // namespace jitterscope::onnx_import
