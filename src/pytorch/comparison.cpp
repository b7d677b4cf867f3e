#include "pytorch/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/names.hpp"
#include "operation/pytorch.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// True if PyTorch calls a library for the layer that can be called here, too. Only the operator's name tells
// which of its attentions PyTorch took.
bool is_library_call(const Layer& layer) {
  const Operation::Parameters& parameters = layer.operation.parameters();
  if (std::holds_alternative<Attention>(parameters))
    return layer.source.find("cudnn_attention") != std::string::npos;
  if (const auto* convolution = std::get_if<Conv2d>(&parameters)) return pytorch_uses_cudnn(*convolution);
  if (const auto* norm = std::get_if<BatchNorm>(&parameters)) return pytorch_uses_cudnn(*norm);
  return std::holds_alternative<Matmul>(parameters) || std::holds_alternative<Linear>(parameters);
}

// Returns the library that an operator calls, named with its overload or without; empty if none.
std::string_view library_called(std::string_view name) {
  if (name.find("cudnn") != std::string_view::npos) return "cuDNN";
  constexpr std::string_view kProducts[] = {
      "mm", "bmm",   "addmm",  "addmm_", "baddbmm", "baddbmm_",         "addbmm",
      "mv", "addmv", "addmv_", "dot",    "vdot",    "_addmm_activation"};
  name = name.substr(name.rfind(':') + 1);
  name = name.substr(0, name.find('.'));
  return std::ranges::find(kProducts, name) != std::end(kProducts) ? "cuBLAS" : "";
}

// An operator with a native operation is recorded as PyTorch's own if its tensors lie in another way.
std::string reason_not_compared(const Operation& operation) {
  const auto* aten = std::get_if<Aten>(&operation.parameters());
  const std::string_view library = aten == nullptr ? "" : library_called(aten->name);
  if (library.empty()) return "PyTorch has its own kernel for it";
  return fmt::format("{} runs it, with tensors or options that no operation here describes", library);
}

std::string without_engine(const Operation& operation) {
  Operation::Parameters plain = operation.parameters();
  if (auto* convolution = std::get_if<Conv2d>(&plain)) convolution->engine.clear();
  return Operation(plain).text();
}

std::string engine_named(const Operation& operation) {
  const auto* convolution = std::get_if<Conv2d>(&operation.parameters());
  return convolution == nullptr ? std::string() : convolution->engine;
}

std::vector<std::string> identities(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(kernel_identity(name));
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> names_of(const std::vector<LaunchKernel>& kernels) {
  std::vector<std::string> names;
  for (const LaunchKernel& kernel : kernels) names.push_back(kernel.name);
  return names;
}

Verdict verdict(bool known, bool equal) {
  if (!known) return Verdict::unknown;
  return equal ? Verdict::equal : Verdict::differs;
}

}  // namespace

std::vector<ReferenceLayer> reference_layers(const PytorchRecording& recording) {
  std::map<std::string, std::string> engines;
  for (const Layer& layer : recording.plans.layers) {
    engines.emplace(without_engine(layer.operation), engine_named(layer.operation));
  }
  std::vector<ReferenceLayer> references;
  for (const Layer& layer : recording.trace.layers) {
    if (!is_library_call(layer)) continue;
    ReferenceLayer reference{.operation = layer.operation,
                             .name = layer.names.front(),
                             .count = layer.count(),
                             .engine = "",
                             .kernels = layer.recorded_kernels,
                             .time = {}};
    const auto engine = engines.find(without_engine(layer.operation));
    if (engine != engines.end()) reference.engine = engine->second;
    if (const auto time = layer.recorded_time()) reference.time = *time / static_cast<double>(layer.count());
    references.push_back(std::move(reference));
  }
  return references;
}

std::vector<UntimedOperator> other_operators(const PytorchRecording& recording) {
  std::vector<UntimedOperator> others = recording.trace.untimed;
  for (const Layer& layer : recording.trace.layers) {
    if (is_library_call(layer)) continue;
    const std::string name = layer.source.empty() ? std::string(layer.operation.kind()) : layer.source;
    auto known = std::ranges::find(others, name, &UntimedOperator::name);
    if (known == others.end()) {
      others.push_back({name, 0, reason_not_compared(layer.operation), Nanoseconds(0)});
      known = std::prev(others.end());
    }
    known->count += layer.count();
    known->recorded_time = sum_if_known(known->recorded_time, layer.recorded_time());
  }
  return others;
}

Nanoseconds time_here(const ComparedLayer& layer) {
  Nanoseconds sum;
  for (const LaunchKernel& kernel : layer.here.kernels) sum += kernel.median;
  return sum;
}

ComparedLayer compare_layer(ReferenceLayer reference, Result here) {
  ComparedLayer compared{.reference = std::move(reference), .here = std::move(here), .time_ratio = {}};
  const ReferenceLayer& there = compared.reference;
  compared.engine = verdict(!there.engine.empty() && !compared.here.algorithm.empty(),
                            there.engine == compared.here.algorithm);
  const std::vector<std::string> theirs = identities(there.kernels);
  const std::vector<std::string> ours = identities(names_of(compared.here.kernels));
  compared.kernels = verdict(!theirs.empty() && !ours.empty(), theirs == ours);
  const Nanoseconds here_time = time_here(compared);
  if (there.time && there.time->value() > 0 && here_time.value() > 0) {
    compared.time_ratio = here_time / *there.time;
  }
  return compared;
}

bool PytorchComparison::is_equal() const {
  const bool differs = std::ranges::any_of(layers, [](const ComparedLayer& layer) {
    return layer.engine == Verdict::differs || layer.kernels == Verdict::differs;
  });
  return !differs && !has_failure() && nothing_compared().empty();
}

std::optional<TimeRatios> PytorchComparison::time_ratios() const {
  std::vector<double> ratios;
  for (const ComparedLayer& layer : layers) {
    if (layer.time_ratio) ratios.push_back(*layer.time_ratio);
  }
  if (ratios.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(ratios);
  return TimeRatios{statistics::median(ratios), least, most};
}

bool PytorchComparison::has_failure() const {
  return std::ranges::any_of(layers, [](const ComparedLayer& layer) { return !layer.here.failure.empty(); });
}

std::string PytorchComparison::nothing_compared() const {
  const bool is_known = std::ranges::any_of(layers, [](const ComparedLayer& layer) {
    return layer.engine != Verdict::unknown || layer.kernels != Verdict::unknown;
  });
  if (is_known) return {};
  const bool is_recorded = std::ranges::any_of(layers, [](const ComparedLayer& layer) {
    return !layer.reference.engine.empty() || !layer.reference.kernels.empty();
  });
  if (!is_recorded) {
    return "nothing was compared: PyTorch's recording has no kernels and no engines; record it on a GPU "
           "whose kernels CUPTI may trace (see jitterscope doctor), or give cudnn-frontend's log with "
           "--log";
  }
  return "nothing was compared: no kernels and no engines were seen here; use --device cuda, where CUPTI "
         "may trace kernels (see jitterscope doctor)";
}

}  // namespace jitterscope
