// Reads an Einsum's equation: the shape of its output, and the matrix product that it stands for.
#pragma once

#include "import/onnx.hpp"

namespace jitterscope::onnx_import {

/// Returns the output's shape. nullopt if an input's shape is unknown or does not fit, or for an equation
/// with an ellipsis, without an arrow, or with a letter twice in one term.
std::optional<Shape> einsum_shape(Import& import, const OnnxNode& node);

/// Returns the product of matrices that an equation stands for, or of batches of them: the letters of the
/// batch come first, in the same order in all terms, those of the matrices last. nullopt for another
/// equation.
std::optional<Matmul> einsum_product(Import& import, const OnnxNode& node);

/// Returns the shape of a table's parts at these places along an axis.
Shape gathered_shape(const Shape& table, const Shape& places, std::size_t axis);

}  // namespace jitterscope::onnx_import
