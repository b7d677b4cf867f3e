#include "device/cuda/operations/engine_configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
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

// PyTorch's filter (Conv_v8.cpp, deterministic off): f16 and bf16 have none for tensor cores.
bool may_be_used(const NumericalNotes& notes, DataType dtype) {
  if (notes.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  return dtype != DataType::f32 || !notes.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

std::string_view prefix_of(Direction direction) {
  switch (direction) {
    case Direction::fprop: return "ConvFwd";
    case Direction::dgrad: return "ConvBwdData";
    case Direction::wgrad: return "ConvBwdFilter";
  }
  return "Conv";
}

// One number of a tag, taken off its front.
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
    std::string tag = make_tag(prefix_of(convolution.direction), configuration, engine);
    usable.push_back({std::move(configuration), std::move(tag), notes.text()});
  }
  return usable;
}

EngineConfiguration configuration_of_tag(const ConvolutionGraph& graph, const Conv2d& convolution,
                                         std::string_view tag) {
  std::string_view rest = tag;
  if (!take(rest, prefix_of(convolution.direction)) || !take(rest, "_eng")) {
    throw UsageError(
        fmt::format("engine={} is no engine of this direction; a tag of {} begins with {}_eng and its number",
                    tag, to_string(convolution.direction), prefix_of(convolution.direction)));
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
        fmt::format("engine={}: '{}' is no part of a tag such as ConvFwd_eng38_k2=1_k13=0", tag, rest));
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

}  // namespace jitterscope::cuda
