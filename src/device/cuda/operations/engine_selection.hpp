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

/// Without an engine named, the first plan of cuDNN's instant heuristics, then of its fallback list, that may
/// be used for the data type, can be built and passes `try_plan`. Throws FailedError that names `operation`
/// and the last reason, or for a named engine those that this cuDNN has.
EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan);

/// All plans that can be built: in the order in which PyTorch with benchmark on tries them (instant
/// heuristics, then fallback; a tag may appear twice), then what heuristic mode B proposes beside them.
std::vector<EngineListing> list_engines(cudnnHandle_t handle, const ConvolutionGraph& graph,
                                        const Operation& operation);

}  // namespace jitterscope::cuda
