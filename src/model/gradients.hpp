// The backward pass of a network, in the order of PyTorch's autograd.
#pragma once

#include "model/graph.hpp"

namespace jitterscope {

/// Appends the calls of backward. Autograd runs what is ready by falling sequence number, that is the steps
/// in reverse; two gradients of one tensor are added as soon as the second one is there.
void add_backward(Graph& graph);

}  // namespace jitterscope
