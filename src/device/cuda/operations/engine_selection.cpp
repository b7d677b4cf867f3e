#include "device/cuda/operations/engine_selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

std::vector<CudnnDescriptor> ask_heuristics(const ConvolutionGraph& graph, cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  heuristics.finalize();
  return heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                    heuristics.count_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS));
}

CudnnDescriptor engine_of(const CudnnDescriptor& configuration) {
  auto engines =
      configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engines.empty()) throw FailedError("cuDNN gave an engine configuration without an engine");
  return std::move(engines.front());
}

// Engines that round inputs to a shorter type are never used, and those on tensor cores (TF32) only where the
// data type allows it. f16 and bf16 have no such filter.
bool may_be_used(const CudnnDescriptor& engine, DataType dtype) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  const std::size_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                       std::span<cudnnBackendNumericalNote_t>(notes));
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    const auto end = notes.begin() + static_cast<std::ptrdiff_t>(count);
    return std::find(notes.begin(), end, note) != end;
  };
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  return dtype != DataType::f32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

std::string_view tag_of(Direction direction) {
  switch (direction) {
    case Direction::fprop: return "ConvFwd";
    case Direction::dgrad: return "ConvBwdData";
    case Direction::wgrad: return "ConvBwdFilter";
  }
  return "Conv";
}

std::string make_tag(Direction direction, const CudnnDescriptor& configuration,
                     const CudnnDescriptor& engine) {
  std::string tag = fmt::format("{}_eng{}", tag_of(direction),
                                engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64));
  const auto choices = configuration.get_descriptors(
      CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS);
  for (const CudnnDescriptor& choice : choices) {
    const auto knob =
        choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    const auto value = choice.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64);
    tag += fmt::format("_k{}={}", static_cast<int>(knob), value);
  }
  return tag;
}

class Selection {
 public:
  Selection(cudnnHandle_t handle, const ConvolutionGraph& graph, const Conv2d& convolution,
            const TryPlan& try_plan)
      : handle_(handle), graph_(graph), convolution_(convolution), try_plan_(try_plan) {}

  std::optional<EnginePlan> first_usable(cudnnBackendHeurMode_t mode) {
    std::vector<CudnnDescriptor> configurations;
    try {
      configurations = ask_heuristics(graph_, mode);
    } catch (const FailedError& error) {
      reason_ = error.what();  // the other list may still have one
    }
    for (const CudnnDescriptor& configuration : configurations) {
      const CudnnDescriptor engine = engine_of(configuration);
      if (!may_be_used(engine, convolution_.dtype)) continue;
      if (auto plan = build(configuration, engine)) return plan;
    }
    return std::nullopt;
  }
  const std::string& reason() const { return reason_; }

 private:
  std::optional<EnginePlan> build(const CudnnDescriptor& configuration, const CudnnDescriptor& engine) {
    EnginePlan candidate{.plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
                         .tag = make_tag(convolution_.direction, configuration, engine),
                         .workspace = Bytes(0)};
    candidate.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
    candidate.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    std::optional<std::string> problem;
    if (const cudnnStatus_t status = candidate.plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      problem = cudnn_failure(status);
    } else {
      candidate.workspace =
          Bytes(candidate.plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64));
      problem = try_plan_(candidate);
    }
    if (!problem) return candidate;
    reason_ = candidate.tag + ": " + *problem;
    return std::nullopt;
  }

  cudnnHandle_t handle_;
  const ConvolutionGraph& graph_;
  const Conv2d& convolution_;
  const TryPlan& try_plan_;
  std::string reason_ = "it offers none for this data type";
};

}  // namespace

EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan) {
  Selection selection(handle, graph, std::get<Conv2d>(operation.parameters()), try_plan);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK}) {
    if (auto plan = selection.first_usable(mode)) return std::move(*plan);
  }
  throw FailedError(fmt::format("cuDNN has no engine that runs {} here; the last reason: {}",
                                operation.text(), selection.reason()));
}

}  // namespace jitterscope::cuda
