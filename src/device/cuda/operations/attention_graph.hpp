// Attention as cuDNN sees it: a graph of products, pointwise steps and reductions, which it knows as one
// kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device/cuda/operations/cudnn_descriptor.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

/// Names of the tensors that are in memory.
enum AttentionTensor : std::int64_t {
  kQueries = 1,
  kKeys,
  kValues,
  kOutput,
  kLogSumExp,
  kOutputGradient,
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kQueryGradientSum,  ///< backward's own: f32, as dq
  kRowSum,            ///< backward's own: f32, as logsumexp
  kFirstNumber,       ///< numbers that are given by value come from here on
};

/// Ids in the order of Operation::operands().
std::vector<std::int64_t> attention_operand_ids(Pass pass);

/// The nodes are those of cudnn-frontend's scaled dot product attention, in its order: cuDNN recognizes the
/// pattern as a whole, so a graph that means the same may have no engine.
class AttentionGraph {
 public:
  AttentionGraph(cudnnHandle_t handle, const Attention& attention, Pass pass);

  const CudnnDescriptor& graph() const { return graph_; }
  /// By id; their addresses stay.
  const std::map<std::int64_t, float>& numbers() const { return numbers_; }

 private:
  friend class AttentionGraphBuilder;

  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::map<std::int64_t, float> numbers_;
  CudnnDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace jitterscope::cuda
