// An engine was named, by a record or by the user, and another one ran.
#include <fmt/format.h>

#include "finding/detectors.hpp"

namespace jitterscope {
namespace {

// From the text: results also hold callables, which are no operation that could be parsed.
std::string_view named_engine(std::string_view operation) {
  constexpr std::string_view kKey = "engine=";
  const std::size_t start = operation.find(kKey);
  if (start == std::string_view::npos) return {};
  const std::string_view value = operation.substr(start + kKey.size());
  return value.substr(0, value.find(','));
}

}  // namespace

std::vector<Finding> find_engine_ignored(const Result& result, const FindingContext& context) {
  const std::string_view engine = named_engine(result.operation);
  if (engine.empty() || !result.failure.empty() || engine == result.algorithm) return {};
  const bool is_choice = engine == "autotune" || engine == "best";
  if (is_choice && context.on_gpu) return {};
  Finding finding;
  finding.id = "engine_ignored";
  finding.headline = fmt::format("engine {} was asked for, and another one ran", engine);
  finding.sentence =
      fmt::format("The engine {} was asked for; {} on {} ran {} instead.", engine, result.provider,
                  context.device.name, result.algorithm.empty() ? "what it chose" : result.algorithm);
  finding.remedy =
      "Engines are cuDNN's and cuBLASLt's: run it on the GPU and with the libraries of the record.";
  finding.evidence = {{"asked_for", std::string(engine)}, {"ran", result.algorithm}};
  return {finding};
}

}  // namespace jitterscope
