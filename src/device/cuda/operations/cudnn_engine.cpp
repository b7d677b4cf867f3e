#include "device/cuda/operations/cudnn_engine.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"

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
      // This mode has nothing for the problem; the others may.
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
      // PyTorch too silently leaves out plans that cannot be built.
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

namespace {

class NumericalNotes {
 public:
  explicit NumericalNotes(const CudnnDescriptor& engine) {
    notes_.resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    notes_.resize(engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                             std::span<cudnnBackendNumericalNote_t>(notes_)));
  }

  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes_.begin(), notes_.end(), note) != notes_.end();
  }

  std::string text() const {
    std::string text;
    for (const auto& [note, name] :
         {std::pair{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, "tensor core"},
          std::pair{CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, "reduced precision reduction"},
          std::pair{CUDNN_NUMERICAL_NOTE_FFT, "fft"}, std::pair{CUDNN_NUMERICAL_NOTE_WINOGRAD, "winograd"},
          std::pair{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, "nondeterministic"}}) {
      if (has(note)) text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
  }

 private:
  std::vector<cudnnBackendNumericalNote_t> notes_;
};

// PyTorch's filter (Conv_v8.cpp, deterministic off). In f16 and bf16 it allows tensor cores.
bool may_be_used(const NumericalNotes& notes, DataType dtype) {
  if (notes.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  return dtype != DataType::f32 || !notes.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

// Removes a number from the front of `rest` and returns it.
std::int64_t take_number(std::string_view& rest, std::string_view tag) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) {
    throw UsageError(
        fmt::format("engine={}: a number was expected at '{}', as in ConvFwd_eng38_k2=1_k13=0", tag, rest));
  }
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

bool take(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

CudnnDescriptor make_choice(cudnnBackendKnobType_t knob, std::int64_t value) {
  CudnnDescriptor choice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, knob);
  choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
  choice.finalize();
  return choice;
}

}  // namespace

std::vector<CudnnDescriptor> ask_heuristics(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
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

std::string make_tag(std::string_view prefix, const CudnnDescriptor& configuration,
                     const CudnnDescriptor& engine) {
  std::string tag = fmt::format("{}_eng{}", prefix,
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

std::vector<EngineConfiguration> heuristic_configurations(const CudnnDescriptor& graph,
                                                          const Conv2d& convolution,
                                                          cudnnBackendHeurMode_t mode) {
  std::vector<EngineConfiguration> usable;
  for (CudnnDescriptor& configuration : ask_heuristics(graph, mode)) {
    const CudnnDescriptor engine = engine_of(configuration);
    const NumericalNotes notes(engine);
    if (!may_be_used(notes, convolution.dtype)) continue;
    std::string tag = make_tag(engine_prefix(convolution.direction), configuration, engine);
    usable.push_back({std::move(configuration), std::move(tag), notes.text()});
  }
  return usable;
}

EngineConfiguration configuration_of_tag(const ConvolutionGraph& graph, const Conv2d& convolution,
                                         std::string_view tag) {
  std::string_view rest = tag;
  if (!take(rest, engine_prefix(convolution.direction)) || !take(rest, "_eng")) {
    throw UsageError(fmt::format(
        "engine={} is not an engine of this direction; a tag of {} begins with {}_eng and its number", tag,
        to_string(convolution.direction), engine_prefix(convolution.direction)));
  }
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.graph);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, take_number(rest, tag));
  engine.finalize();
  std::vector<CudnnDescriptor> choices;
  while (take(rest, "_k")) {
    const auto knob = static_cast<cudnnBackendKnobType_t>(take_number(rest, tag));
    if (!take(rest, "=")) break;
    choices.push_back(make_choice(knob, take_number(rest, tag)));
  }
  if (!rest.empty()) {
    throw UsageError(
        fmt::format("engine={}: '{}' is not part of a tag such as ConvFwd_eng38_k2=1_k13=0", tag, rest));
  }
  CudnnDescriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
  configuration.finalize();
  const std::string notes = NumericalNotes(engine).text();
  return {std::move(configuration), std::string(tag), notes};
}

EnginePlan build_plan(cudnnHandle_t handle, const EngineConfiguration& configuration) {
  EnginePlan result{.plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
                    .tag = configuration.tag,
                    .notes = configuration.notes,
                    .workspace = Bytes(0)};
  result.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  result.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration.configuration);
  check_cudnn(result.plan.try_finalize(), configuration.tag);
  result.workspace =
      Bytes(result.plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64));
  return result;
}

CudnnDescriptor variant_pack(std::span<const std::int64_t> ids, std::span<void* const> pointers,
                             void* workspace) {
  CudnnDescriptor variants(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  variants.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  variants.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
  variants.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  variants.finalize();
  return variants;
}

std::optional<std::string> PlanExecution::try_plan(const EnginePlan& candidate) {
  try {
    workspace_ = Workspace();  // freed before the next one is allocated, or both must fit
    workspace_ = Workspace(context_, candidate.workspace);
    variants_ = variant_pack(ids_, pointers_, workspace_.pointer());
    execute(candidate, context_.stream(), "cudnnBackendExecute");
  } catch (const FailedError& error) {
    return error.what();
  }
  // A failure on the device itself leaves the context unusable, for the next plan as well.
  check(driver().cuCtxSynchronize(), candidate.tag);
  return std::nullopt;
}

void PlanExecution::run(const EnginePlan& plan, NativeQueue queue) {
  execute(plan, static_cast<CUstream>(queue), plan.tag);
}

void PlanExecution::execute(const EnginePlan& plan, CUstream stream, const std::string& action) {
  check_cudnn(cudnn().cudnnSetStream(handle_, stream), "cudnnSetStream");
  check_cudnn(cudnn().cudnnBackendExecute(handle_, plan.plan.get(), variants_.get()), action);
}

}  // namespace jitterscope::cuda
