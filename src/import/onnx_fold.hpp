// Operators on the numbers of shapes, for fold(): each is false where not all that it reads is known.
#pragma once

#include <optional>
#include <vector>

#include "import/onnx_import.hpp"

namespace jitterscope::onnx_import {

using Numbers = std::vector<double>;
/// Longer lists are no shapes.
inline constexpr std::size_t kMostNumbers = 64;

/// Defines the node's first output by value. False where there are no numbers, or too many.
bool give_numbers(Import&, const OnnxNode&, Shape shape, std::optional<Numbers> numbers,
                  bool is_real = false);
bool give_list(Import&, const OnnxNode&, Numbers numbers, bool is_real = false);

bool fold_shape(Import&, const OnnxNode&);
bool fold_gather(Import&, const OnnxNode&);
bool fold_concat(Import&, const OnnxNode&);
/// Along the first dimension, by steps of 1 or -1.
bool fold_slice(Import&, const OnnxNode&);
/// Of two dimensions.
bool fold_transpose(Import&, const OnnxNode&);
bool fold_reshape(Import&, const OnnxNode&);
/// The same numbers, in one dimension or as a single one.
bool fold_kept(Import&, const OnnxNode&);

}  // namespace jitterscope::onnx_import
