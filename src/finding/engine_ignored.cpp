// An engine was named, by a record or by the user, and another one ran.
#include <fmt/format.h>

#include "finding/detectors.hpp"
#include "operation/engine.hpp"

namespace jitterscope {
std::vector<Finding> find_engine_ignored(const Result& result, const FindingContext& context) {
  const Operation* operation = operation_of(result.subject);
  const std::string engine = operation != nullptr ? engine_of(*operation) : std::string();
  if (engine.empty() || !result.failure.empty() || engine == result.algorithm) return {};
  const bool is_choice = engine == "autotune" || engine == "best";
  if (is_choice && context.on_gpu) return {};
  Finding finding;
  finding.id = kEngineIgnoredFinding;
  finding.headline = fmt::format("engine {} was asked for, and another one ran", engine);
  finding.sentence =
      fmt::format("The engine {} was asked for; {} on {} ran {} instead.", engine, result.provider,
                  context.device.name, result.algorithm.empty() ? "what it chose" : result.algorithm);
  finding.remedy =
      "Engines are cuDNN's and cuBLASLt's: run it on the GPU and with the libraries of the record.";
  finding.evidence = {{"asked_for", engine}, {"ran", result.algorithm}};
  return {finding};
}

}  // namespace jitterscope
