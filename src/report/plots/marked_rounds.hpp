// The rounds in which findings happened, as bands behind them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"
#include "report/plot.hpp"

namespace jitterscope::report {

/// What holds a clock down is a reason of the device's and a finding by one name, and has one colour.
inline constexpr std::string_view kPowerCap = "power_cap", kThermal = "thermal";

/// A finding where it happened in one measurement.
struct MarkedRounds {
  const Finding* finding;
  std::vector<RoundRange> rounds;
};
std::vector<MarkedRounds> findings_in(const Result& result, const Measurement& measurement);

/// Each finding has a lane of its own behind the points.
std::vector<Json> marked_rows(const Measurement& measurement, const std::vector<MarkedRounds>& marked);

/// A colour for each of these findings, the same on every page.
Json finding_color(const std::vector<std::string>& ids);

/// Bands over an axis of seconds.
Json marks_layer(const std::vector<Json>& rows, const Json& color, Json x);

/// "drift, bimodal": of one round.
std::string findings_of(std::size_t round, const std::vector<MarkedRounds>& marked);

}  // namespace jitterscope::report
