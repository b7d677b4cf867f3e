#include "device/cuda/operations/engine_selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

class Selection {
 public:
  Selection(cudnnHandle_t handle, const CudnnDescriptor& graph, const Conv2d& convolution,
            const TryPlan& try_plan)
      : handle_(handle), graph_(graph), convolution_(convolution), try_plan_(try_plan) {}

  std::optional<EnginePlan> first_usable(cudnnBackendHeurMode_t mode) {
    std::vector<EngineConfiguration> configurations;
    try {
      configurations = heuristic_configurations(graph_, convolution_, mode);
    } catch (const FailedError& error) {
      reason_ = error.what();  // the other list may still have one
    }
    for (const EngineConfiguration& configuration : configurations) {
      if (auto plan = usable(configuration)) return plan;
    }
    return std::nullopt;
  }

  std::optional<EnginePlan> usable(const EngineConfiguration& configuration) {
    try {
      EnginePlan plan = build_plan(handle_, configuration);
      const std::optional<std::string> problem = try_plan_(plan);
      if (!problem) return plan;
      reason_ = configuration.tag + ": " + *problem;
    } catch (const FailedError& error) {
      reason_ = error.what();
    }
    return std::nullopt;
  }

  const std::string& reason() const { return reason_; }

 private:
  cudnnHandle_t handle_;
  const CudnnDescriptor& graph_;
  const Conv2d& convolution_;
  const TryPlan& try_plan_;
  std::string reason_ = "it offers none for this data type";
};

EnginePlan named_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                        const TryPlan& try_plan) {
  const Conv2d& convolution = convolution_of(operation);
  Selection selection(handle, graph.graph, convolution, try_plan);
  std::string reason;
  try {
    if (auto plan = selection.usable(configuration_of_tag(graph, convolution, convolution.engine))) {
      return std::move(*plan);
    }
    reason = selection.reason();
  } catch (const FailedError& error) {
    reason = error.what();
  }
  std::vector<std::string> known;
  for (const EngineListing& engine : list_engines(handle, graph, operation)) {
    if (std::find(known.begin(), known.end(), engine.tag) == known.end()) known.push_back(engine.tag);
  }
  throw FailedError(fmt::format("cuDNN {} cannot run this convolution by {}: {}; it has {}", cudnn_version(),
                                convolution.engine, reason, fmt::join(known, ", ")));
}

class Listing {
 public:
  Listing(cudnnHandle_t handle, const ConvolutionGraph& graph, const Conv2d& convolution)
      : handle_(handle), graph_(graph), convolution_(convolution) {}

  void add(cudnnBackendHeurMode_t mode, EngineListing::Source source, bool repeated) {
    try {
      for (const EngineConfiguration& configuration :
           heuristic_configurations(graph_.graph, convolution_, mode)) {
        if (repeated || !has(configuration.tag)) add(configuration, source);
      }
    } catch (const FailedError&) {
      // A mode that has nothing for this problem; the others may have.
    }
  }
  std::vector<EngineListing> take() { return std::move(engines_); }

 private:
  bool has(const std::string& tag) const {
    return std::any_of(engines_.begin(), engines_.end(),
                       [&](const EngineListing& engine) { return engine.tag == tag; });
  }
  void add(const EngineConfiguration& configuration, EngineListing::Source source) {
    try {
      const EnginePlan plan = build_plan(handle_, configuration);
      engines_.push_back({plan.tag, plan.workspace, source, plan.notes});
    } catch (const FailedError&) {
      // PyTorch leaves out as silently what does not build.
    }
  }

  cudnnHandle_t handle_;
  const ConvolutionGraph& graph_;
  const Conv2d& convolution_;
  std::vector<EngineListing> engines_;
};

}  // namespace

EnginePlan first_engine(cudnnHandle_t handle, const CudnnDescriptor& graph, const Conv2d& convolution,
                        const std::string& subject, const TryPlan& try_plan) {
  Selection selection(handle, graph, convolution, try_plan);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK}) {
    if (auto plan = selection.first_usable(mode)) return std::move(*plan);
  }
  throw FailedError(
      fmt::format("cuDNN has no engine that runs {} here; the last reason: {}", subject, selection.reason()));
}

EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan) {
  const Conv2d& convolution = convolution_of(operation);
  if (!convolution.engine.empty()) return named_engine(handle, graph, operation, try_plan);
  return first_engine(handle, graph.graph, convolution, operation.text(), try_plan);
}

std::vector<EngineListing> list_engines(cudnnHandle_t handle, const ConvolutionGraph& graph,
                                        const Operation& operation) {
  using enum EngineListing::Source;
  Listing listing(handle, graph, convolution_of(operation));
  listing.add(CUDNN_HEUR_MODE_INSTANT, heuristic, true);
  listing.add(CUDNN_HEUR_MODE_FALLBACK, fallback, true);
  listing.add(CUDNN_HEUR_MODE_B, other, false);
  return listing.take();
}

}  // namespace jitterscope::cuda
