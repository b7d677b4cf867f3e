// Where the maxima of a pooling are: what its gradient takes them from.
#pragma once

#include <ATen/core/stack.h>

#include "torch_plugin/binding.hpp"
#include "torch_plugin/inputs.hpp"

namespace jitterscope::torch_plugin {

/// Of max pooling's gradient: fills its indices with those that pooling its own `self` gives. Elsewhere in
/// the plane they would send the gradient past most of dy, which PyTorch's kernels look up by window. Nothing
/// for other operators, and for indices that were filled before.
void point_at_maxima(const Binding& binding, const Inputs& inputs, torch::jit::Stack& arguments);

}  // namespace jitterscope::torch_plugin
