// Which of cuDNN's engines runs a convolution: PyTorch's rule with torch.backends.cudnn.benchmark off, or the
// one that the operation names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/operations/engine_configuration.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Tries a plan for good: gives why it cannot be used, or nothing.
using TryPlan = std::function<std::optional<std::string>(const EnginePlan&)>;

/// The first plan of cuDNN's instant heuristics for the graph, then of its fallback list, that may be used
/// for the convolution's data type, can be built and passes `try_plan`. Throws FailedError that names
/// `subject` and the last reason.
EnginePlan first_engine(cudnnHandle_t handle, const CudnnDescriptor& graph, const Conv2d& convolution,
                        const std::string& subject, const TryPlan& try_plan);

/// That, or the engine that the operation names. Throws FailedError; for a named engine it names those that
/// this cuDNN has.
EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan);

/// All plans that can be built: in the order in which PyTorch with benchmark on tries them (instant
/// heuristics, then fallback; a tag may appear twice), then what heuristic mode B proposes beside them.
std::vector<EngineListing> list_engines(cudnnHandle_t handle, const ConvolutionGraph& graph,
                                        const Operation& operation);

}  // namespace jitterscope::cuda
