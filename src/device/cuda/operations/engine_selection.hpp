// Which of cuDNN's engines runs a convolution: PyTorch's rule with torch.backends.cudnn.benchmark off.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/cuda/operations/convolution_graph.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

struct EnginePlan {
  CudnnDescriptor plan;
  std::string tag;  ///< as cudnn-frontend prints it: ConvFwd_eng38_k2=1_k13=0
  Bytes workspace;
};

/// Tries a plan for good: gives why it cannot be used, or nothing.
using TryPlan = std::function<std::optional<std::string>(const EnginePlan&)>;

/// The first plan of cuDNN's instant heuristics, then of its fallback list, that may be used for the data
/// type, can be built and passes `try_plan`. Throws FailedError that names `operation` and the last reason.
EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan);

}  // namespace jitterscope::cuda
