#include "cli/measured_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {
namespace {

// In one process.
RunRecord carried_out(Plan plan, const Invocation& invocation, study::AdviceRecord& record) {
  plan.ceilings = false;
  RunRecord found;
  found.device = record.device;
  measure_in_processes(plan, 1, invocation, found);
  record.interrupted = found.interrupted;
  return found;
}

}  // namespace

void measure_layers(const WorkList& work, const MeasureOptions& options, const Invocation& invocation,
                    study::AdviceRecord& record) {
  Plan plan;
  for (const Layer& layer : work.model.layers) {
    plan.groups.push_back({{layer.operation, options}});
    plan.entries.push_back({.count = layer.count(), .layers = layer.names});
  }
  const RunRecord found = carried_out(std::move(plan), invocation, record);
  std::string failure = "nothing was measured";
  for (const RunEntry& entry : found.entries) {
    if (entry.result.measurements.empty()) {
      failure = entry.result.failure.empty() ? failure : entry.result.failure;
      continue;
    }
    const Measurement& measurement = entry.result.measurements.front();
    record.layers.push_back({.layers = entry.layers,
                             .count = std::max<std::int64_t>(1, entry.count),
                             .subject = entry.result.subject,
                             .time = measurement.time,
                             .findings = entry.result.findings});
  }
  if (record.layers.empty() && !record.interrupted) throw FailedError(failure);
}

void count_longest_layers(const MeasureOptions& options, const Invocation& invocation,
                          study::AdviceRecord& record) {
  constexpr std::size_t kMost = 3;
  const std::size_t count = std::min(kMost, record.layers.size());
  MeasureOptions counting = options;
  counting.time_limit = milliseconds(50);  // the times are known
  counting.counters.emplace();
  Plan plan;
  for (std::size_t i = 0; i < count; ++i) {
    const study::AdvisedLayer& layer = record.layers[i];
    plan.groups.push_back({{std::get<Operation>(layer.subject), counting}});
    plan.entries.push_back({.count = layer.count, .layers = layer.layers});
  }
  RunRecord found;
  try {
    found = carried_out(std::move(plan), invocation, record);
  } catch (const FailedError& error) {
    return add_once(record.notes, fmt::format("Hardware counters were not read: {}.", error.what()));
  }
  for (std::size_t i = 0; i < std::min(count, found.entries.size()); ++i) {
    const Result& result = found.entries[i].result;
    if (!result.counters.empty()) record.layers[i].counters = result.counters.front();
    if (result.without_counters)
      add_once(record.notes, "Hardware counters were not read: " + result.without_counters->reason);
  }
}

}  // namespace jitterscope::cli
