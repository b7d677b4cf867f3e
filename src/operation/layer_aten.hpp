// Layers as the operators by which PyTorch runs them.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// An operand of an operator that is none of its layer's, or not known to be.
inline constexpr std::size_t kUnknownOperand = ~std::size_t{0};

/// The operands of an operator of PyTorch, where they are counted: the tensors among its arguments in their
/// order, then its outputs.
struct LayerAten {
  Operation operation;
  std::vector<std::size_t> operands;  ///< where each operand of the layer is among them
};

/// Nothing where PyTorch runs the layer by a library that jitterscope calls itself, or by several operators,
/// as its optimizers do. Outputs are new tensors, as the layer's are.
std::optional<LayerAten> aten_of_layer(const Operation& layer);

}  // namespace jitterscope
