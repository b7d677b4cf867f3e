// How times are distributed: bins behind, a tick for each round, the median with its interval, modes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "report/drawing.hpp"

namespace jitterscope::report {

/// Where times lie: millions of them are as many bins.
struct Density {
  double low = 0.0, high = 0.0;  // nanoseconds
  std::vector<double> shares;    // of all times; each bin as wide as the others
  std::int64_t values = 0, outside = 0;

  double edge(std::size_t bin) const {
    return low + (high - low) * static_cast<double>(bin) / static_cast<double>(shares.size());
  }
};

/// Ends in nanoseconds.
struct TimeRange {
  double low = 0.0, high = 0.0;

  void include(const TimeRange& other);
};

/// Of all times but the few at either end, which would press the others together, and of each of these.
TimeRange range_of(std::span<const double> sorted_times, std::span<const Nanoseconds> always);

/// Over a range, with room beside it, in bins of some width: in narrower ones than a timer's grain, every
/// other would be empty.
Density density_of(std::span<const double> sorted_times, const TimeRange& range, double narrowest);

/// A round as a tick reads it.
struct DrawnRound {
  std::size_t number;
  Nanoseconds time;
};

/// One set of conditions, or one side.
struct DrawnTimes {
  std::string title, subtitle;
  std::string of_what;  // the bins are of: "launches"
  std::string bins;     // the name of their view
  Density density;
  std::vector<DrawnRound> rounds;
  TimeEstimate time;
  std::vector<Mode> modes;
};

/// For the table behind: the least, 5, 25, 50, 75 and 95 % and the most, one column each.
std::vector<TableColumn> quantile_columns();

/// Views of the bins, rounds, interval, median and modes.
Json distribution_view(const DrawnTimes& drawn, const TimeUnit& unit);

}  // namespace jitterscope::report
