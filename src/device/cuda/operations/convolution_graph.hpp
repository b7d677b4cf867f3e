// A convolution as cuDNN sees it: descriptors of its tensors and an operation graph of one node.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/operations/cudnn_descriptor.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

/// Ids as PyTorch gives them, so that cuDNN's logs of both can be compared line by line.
enum ConvolutionTensor : std::int64_t { kTensorX = 'x', kTensorY = 'y', kTensorW = 'w' };

/// Of an operation that is one.
inline const Conv2d& convolution_of(const Operation& operation) {
  return std::get<Conv2d>(operation.parameters());
}

/// Ids in the order of Operation::operands(): inputs first, then the output.
std::array<std::int64_t, 3> operand_ids(Direction direction);

struct ConvolutionGraph {
  ConvolutionGraph(cudnnHandle_t handle, const Conv2d& convolution);

  CudnnDescriptor x, w, y, convolution, operation, graph;
};

}  // namespace jitterscope::cuda
