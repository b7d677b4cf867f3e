#include "study/studies/studies.hpp"

#include <algorithm>
#include <utility>

#include "jitterscope/error.hpp"

namespace jitterscope::study::studies {

void require_streams(const StudyContext& context) {
  if (context.description.capabilities.chains_have_streams) return;
  throw UsageError(
      context.description.id +
      " runs one launch after the other, but this study needs several at once: use a GPU, or a simulated "
      "one (--device cuda or virtual)");
}

bool can_be_step(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  if (std::holds_alternative<Chain>(parameters) || std::holds_alternative<Aten>(parameters)) return false;
  if (std::holds_alternative<Spin>(parameters)) return false;
  const auto* copy = std::get_if<Copy>(&parameters);
  return copy == nullptr || copy->kind == CopyKind::d2d || copy->memory == HostMemory::pinned;
}

Arm chain_arm(std::string name, Instrument instrument, std::function<Chain(const Operation&)> make) {
  return {std::move(name), [instrument, make = std::move(make)](OperationTrial& trial) {
            trial.operation = Operation(make(trial.operation));
            trial.options.instrument = instrument;
          }};
}

const Comparison* comparison_with(const ComparisonRecord& record, const std::string& arm) {
  const auto found = std::ranges::find_if(record.comparisons, [&](const Comparison& comparison) {
    return comparison.failure.empty() && record.alternatives[comparison.alternative] == arm;
  });
  return found == record.comparisons.end() ? nullptr : &*found;
}

Nanoseconds added_time(const Comparison& comparison) {
  return comparison.second.time.median - comparison.first.time.median;
}

}  // namespace jitterscope::study::studies
