// Which plots a run has: of its layers or its sweep first, then of each operation where there are few.
#include <algorithm>

#include "measure/network_total.hpp"
#include "measure/run_results.hpp"
#include "output/display_text.hpp"
#include "output/operation_label.hpp"
#include "output/run_sections.hpp"
#include "report/plots/record_plots.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

constexpr std::size_t kMostOperations = 4;  // whose rounds are drawn one by one

std::vector<PlottedResult> results_to_plot(const RunRecord& record, const ConditionLabels& labels) {
  std::vector<std::string> operations;
  for (const Result& result : results_of(record)) operations.push_back(one_line(to_string(result.subject)));
  const bool several = record.entries.size() > 1;
  const std::vector<std::string> names = several ? label_operations(operations).labels : operations;
  std::vector<PlottedResult> results;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const RunEntry& entry = record.entries[i];
    std::string name = entry.layers.empty() ? names[i] : one_line(entry.layers.front());
    // Two bars of one name would be one.
    if (several && !entry.layers.empty()) name = "#" + std::to_string(i + 1) + " " + name;
    results.push_back({entry, std::move(name), labels});
  }
  return results;
}

void add(std::optional<Plot> plot, std::vector<Plot>& plots) {
  if (plot) plots.push_back(*std::move(plot));
}

}  // namespace

std::vector<PlottedMeasurement> measurements_of(const PlottedResult& result) {
  std::vector<PlottedMeasurement> measurements;
  for (std::size_t i = 0; i < result.labels.conditions.size(); ++i) {
    const Measurement* measurement = find_measurement(result.entry.result, result.labels.conditions[i]);
    if (measurement != nullptr && !measurement->rounds.empty()) {
      measurements.push_back({*measurement, result.labels.labels[i]});
    }
  }
  return measurements;
}

Nanoseconds slowest_of(const std::vector<PlottedResult>& results) {
  Nanoseconds slowest(0);
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      slowest = std::max(slowest, plotted.measurement.time.median);
    }
  }
  return slowest;
}

std::size_t first_settled_round(const Measurement& measurement) {
  if (!measurement.steadiness) return 0;
  return std::min(measurement.steadiness->settled_round, measurement.rounds.size());
}

std::vector<Plot> run_plots(const RunRecord& record) {
  const ConditionLabels labels = label_conditions(record);
  const std::vector<PlottedResult> results = results_to_plot(record, labels);
  std::vector<Plot> plots;
  if (is_network(record)) {
    add(layers_plot(record, results), plots);
    add(roofline_plot(record, results), plots);
  } else if (results.size() > 1) {
    std::optional<Plot> sweep = sweep_plot(record, results);
    add(sweep ? std::move(sweep) : times_plot(results), plots);
    add(roofline_plot(record, results), plots);
  }
  if (results.size() > kMostOperations) return plots;
  for (const PlottedResult& result : results) {
    for (auto* draw : {&iterations_plot, &distribution_plot, &rounds_plot, &clock_plot, &counters_plot}) {
      add(draw(result), plots);
    }
  }
  return plots;
}

}  // namespace jitterscope::report
