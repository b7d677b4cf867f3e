// Plots a run: each operation, and several operations beside each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/cells.hpp"
#include "report/drawing.hpp"

namespace jitterscope::report {

/// A result with the name that its plots show.
struct PlottedResult {
  const RunEntry& entry;
  std::string name;
  const ConditionLabels& labels;
};
/// A measurement that has rounds, with its conditions in words.
struct PlottedMeasurement {
  const Measurement& measurement;
  std::string label;
};
std::vector<PlottedMeasurement> measurements_of(const PlottedResult& result);
/// Returns the largest of all medians, for the unit of an axis.
Nanoseconds slowest_of(const std::vector<PlottedResult>& results);

/// Returns the first round that counts for the time: 0, or the round at which a sustained load settled.
std::size_t first_settled_round(const Measurement& measurement);

// Plots of one operation; nullopt if the record has nothing to draw.
std::optional<Plot> distribution_plot(const PlottedResult& result);
std::optional<Plot> rounds_plot(const PlottedResult& result);
std::optional<Plot> clock_plot(const PlottedResult& result);
std::optional<Plot> iterations_plot(const PlottedResult& result);
std::optional<Plot> counters_plot(const PlottedResult& result);

// Plots of several operations.
std::optional<Plot> layers_plot(const RunRecord& record, const std::vector<PlottedResult>& results);
std::optional<Plot> sweep_plot(const RunRecord& record, const std::vector<PlottedResult>& results);
std::optional<Plot> times_plot(const std::vector<PlottedResult>& results);
std::optional<Plot> where_to_work_plot(const RunRecord& record);
std::optional<Plot> roofline_plot(const RunRecord& record, const std::vector<PlottedResult>& results);

}  // namespace jitterscope::report
