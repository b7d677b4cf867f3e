// Plans of cuDNN's attention, built once in a process.
#pragma once

#include <string>

#include "device/cuda/operations/attention_graph.hpp"
#include "device/cuda/operations/cudnn_descriptor.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

struct AttentionPlan {
  AttentionPlan(cudnnHandle_t handle, const Operation& operation, Pass pass);

  AttentionGraph graph;
  std::string tag;
  CudnnDescriptor plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  Bytes workspace;
};

/// The first plan of cuDNN's heuristics that can be built, as cudnn-frontend takes it. It stays for as long
/// as the process lives, as in PyTorch: cuDNN compiles its kernel at run time and unloads it with the plan,
/// and CUPTI calls the next kernel that is loaded in its place by the old one's name (13.0). Throws
/// FailedError with cuDNN's reason where no plan can be built.
const AttentionPlan& attention_plan(cudnnHandle_t handle, const Operation& operation, Pass pass);

}  // namespace jitterscope::cuda
