// The times at the clock that was asked for, so that runs at unlike clocks compare.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/network_total.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/run_sections.hpp"

namespace jitterscope {
namespace {

std::string why_not_known(const Measurement& measurement) {
  if (!measurement.clock) return "not known, as no clock was read";
  const ClockEstimate& clock = *measurement.clock;
  const std::string range =
      clock_text(clock.low) == clock_text(clock.high)
          ? clock_text(clock.low)
          : fmt::format("{:.0f} to {}", clock.low.value() * 1e-6, clock_text(clock.high));
  return fmt::format("not known: rounds at {} do not tell how the time follows the clock", range);
}

std::string time_at_clock(const Measurement& measurement) {
  return measurement.at_reference_clock ? time_at_reference_text(*measurement.at_reference_clock)
                                        : why_not_known(measurement);
}

}  // namespace

std::string time_at_reference_text(const TimeAtReferenceClock& at) {
  // A fit has an interval from its tenth round on.
  const TimeEstimate estimate{at.time, at.low, at.high, std::numeric_limits<std::int64_t>::max()};
  return estimate_text(estimate) + (at.extrapolated ? ", extrapolated: no round ran near that clock" : "");
}

std::string reference_clock_section(const RunPage& run) {
  std::string text;
  std::optional<Hertz> asked;
  for (const std::size_t row : run.rows) {
    std::vector<std::string> times;
    for (std::size_t i = 0; i < run.labels.conditions.size(); ++i) {
      const Measurement* measurement =
          find_measurement(run.record.entries[row].result, run.labels.conditions[i]);
      if (measurement == nullptr || !measurement->reference_clock_asked) continue;
      asked = measurement->reference_clock_asked;
      times.push_back(fmt::format("{} {}", run.labels.labels[i], time_at_clock(*measurement)));
    }
    if (times.empty()) continue;
    const std::string name = run.record.entries.size() == 1 ? std::string() : row_name(run, row) + ": ";
    text += wrapped(fmt::format("- {}{}", name, joined(times, "; ")), run.page.width, 2);
  }
  if (text.empty()) return text;
  return fmt::format("Times at {}:\n\n{}", clock_text(*asked), text);
}

}  // namespace jitterscope
