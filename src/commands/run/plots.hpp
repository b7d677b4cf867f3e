// The plots of a run: of each operation, and of several beside each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/cells.hpp"
#include "report/drawing.hpp"

namespace jitterscope::report {

/// A result as its plots name it.
struct PlottedResult {
  const RunEntry& entry;
  std::string name;
  const ConditionLabels& labels;
};
/// A measurement that has rounds, and its conditions in words.
struct PlottedMeasurement {
  const Measurement& measurement;
  std::string label;
};
std::vector<PlottedMeasurement> measurements_of(const PlottedResult& result);
/// Of all their medians, for the unit of an axis.
Nanoseconds slowest_of(const std::vector<PlottedResult>& results);

/// The part of a record that a time is of: all rounds, or those of a sustained load that had settled.
std::size_t first_settled_round(const Measurement& measurement);

// Of one operation. Nothing where the record has nothing to draw.
std::optional<Plot> distribution_plot(const PlottedResult& result);
std::optional<Plot> rounds_plot(const PlottedResult& result);
std::optional<Plot> clock_plot(const PlottedResult& result);
std::optional<Plot> iterations_plot(const PlottedResult& result);
std::optional<Plot> counters_plot(const PlottedResult& result);

// Of several.
std::optional<Plot> layers_plot(const RunRecord& record, const std::vector<PlottedResult>& results);
std::optional<Plot> sweep_plot(const RunRecord& record, const std::vector<PlottedResult>& results);
std::optional<Plot> times_plot(const std::vector<PlottedResult>& results);
std::optional<Plot> roofline_plot(const RunRecord& record, const std::vector<PlottedResult>& results);

}  // namespace jitterscope::report
