// A convolution as cuDNN sees it: descriptors of its tensors and an operation graph of one node.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/operations/cudnn.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

/// Tensor ids are PyTorch's, so that cuDNN's logs of both can be compared line by line.
enum ConvolutionTensor : std::int64_t { kTensorX = 'x', kTensorY = 'y', kTensorW = 'w' };

/// The operation must be a convolution.
inline const Conv2d& convolution_of(const Operation& operation) {
  return std::get<Conv2d>(operation.parameters());
}

/// Returns the ids in the order of Operation::operands(): inputs first, then the output.
std::array<std::int64_t, 3> operand_ids(Direction direction);

/// PyTorch describes tensors by the largest power of two up to 32 that divides their address, and cuDNN's
/// choice depends on it. Operands usually are aligned to 256 bytes.
constexpr std::int64_t kTensorAlignment = 32;

/// n, c, h, w; for weights k, c/groups, r, s.
using ImageShape = std::array<std::int64_t, 4>;
/// Describes a packed tensor of the convolution's type and layout.
CudnnDescriptor convolution_tensor(std::int64_t id, const ImageShape& shape, const Conv2d& convolution,
                                   std::int64_t alignment);
/// Describes a tensor in f32 that exists only between two nodes of a graph.
CudnnDescriptor passing_tensor(std::int64_t id, const ImageShape& shape, Layout layout);
/// Describes padding, strides and dilation.
CudnnDescriptor convolution_description(const Conv2d& convolution);
/// Makes the convolution's node of a graph.
CudnnDescriptor convolution_node(const CudnnDescriptor& x, const CudnnDescriptor& w, const CudnnDescriptor& y,
                                 const CudnnDescriptor& description, const Conv2d& convolution);

struct ConvolutionGraph {
  /// `alignment` is that of every tensor, in bytes.
  ConvolutionGraph(cudnnHandle_t handle, const Conv2d& convolution,
                   std::int64_t alignment = kTensorAlignment);

  CudnnDescriptor x, w, y, convolution, operation, graph;
};

}  // namespace jitterscope::cuda
