// A timer whose smallest step is not small against the time: each value is one of few.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {
namespace {

bool is_timed_one_by_one(const Measurement& measurement) {
  return !measurement.rounds.empty() && measurement.rounds.front().launches_per_value == 1;
}

}  // namespace

std::vector<Finding> find_timer_grain(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (!is_timed_one_by_one(measurement) || measurement.time.median <= Nanoseconds(0)) continue;
    const double share = measurement.constant.grain / measurement.time.median;
    if (!(share > measurement.precision_asked / 3.0)) continue;
    Finding finding;
    finding.id = "timer_grain";
    finding.headline = fmt::format("the timer steps by {}, {} of the time",
                                   time_text(measurement.constant.grain), percent_text(share));
    finding.sentence = fmt::format(
        "The timer steps by {}, {} of the {} measured ({}): coarse for a precision of {}.",
        time_text(measurement.constant.grain), percent_text(share), time_text(measurement.time.median),
        conditions_text(measurement.conditions), percent_text(measurement.precision_asked));
    // A recording cannot hold fresh data.
    finding.remedy = measurement.conditions.fresh_data ? "Take differences below one step as no difference."
                                                       : "Time launches in groups (--instrument graph), or "
                                                         "take differences below one step as no difference.";
    finding.evidence = {evidence("grain", measurement.constant.grain),
                        evidence("time", measurement.time.median), evidence_ratio("grain_share", share)};
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
