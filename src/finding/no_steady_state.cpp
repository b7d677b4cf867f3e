// A sustained load that did not settle in the time allowed.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/places.hpp"
#include "finding/series.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

std::string what_it_did(Steadiness::Verdict verdict) {
  switch (verdict) {
    case Steadiness::Verdict::steady: return "settled";
    case Steadiness::Verdict::warming_up: return "was still getting faster";
    case Steadiness::Verdict::slowing_down: return "was still getting slower";
    case Steadiness::Verdict::never_steady: return "kept changing level";
    case Steadiness::Verdict::not_shown:
      return "did not change that one could see, but a change is not ruled out";
  }
  return "";
}

// Heat that is still to come slows nothing down yet.
bool is_about_to_slow_down(const Measurement& measurement) {
  return measurement.steadiness->verdict == Steadiness::Verdict::slowing_down &&
         change_over_record(round_times(measurement.rounds)) <= kMaterialChange;
}

// Levels that come and go cancel out between the ends of a record, so their range is given instead.
std::string how_much(const Measurement& measurement) {
  const std::vector<double> times = round_times(measurement.rounds);
  const Steadiness::Verdict verdict = measurement.steadiness->verdict;
  if (verdict == Steadiness::Verdict::warming_up || verdict == Steadiness::Verdict::slowing_down) {
    return change_text(change_over_record(times)) + " from the first to the last third";
  }
  const std::vector<double> q = statistics::quantiles(times, std::array{0.05, 0.95});
  const std::string low = time_text(Nanoseconds(q[0]), 0.001), high = time_text(Nanoseconds(q[1]), 0.001);
  return low == high ? "nine rounds in ten near " + low
                     : fmt::format("nine rounds in ten between {} and {}", low, high);
}

std::string what_happened(const Measurement& measurement) {
  const std::string words = is_about_to_slow_down(measurement)
                                ? "was about to get slower, as the chip had not stopped warming"
                                : what_it_did(measurement.steadiness->verdict);
  return fmt::format("{} ({})", words, how_much(measurement));
}

std::string remedy_of(Steadiness::Verdict verdict) {
  if (verdict == Steadiness::Verdict::never_steady) {
    return "Do not quote one number: quote the range, or look for what else uses the machine, then measure "
           "with a longer --sustained-time-limit.";
  }
  return "Give it a longer --sustained-time-limit; until it settles, quote this time as a bound and not as "
         "the sustained time.";
}

// A change that is not seen has no place.
std::vector<std::size_t> rounds_unsettled(const Measurement& measurement) {
  switch (measurement.steadiness->verdict) {
    case Steadiness::Verdict::warming_up:
    case Steadiness::Verdict::slowing_down:
    case Steadiness::Verdict::never_steady: return rounds_from(0, measurement);
    case Steadiness::Verdict::steady:
    case Steadiness::Verdict::not_shown: break;
  }
  return {};
}

// Heat takes tens of seconds: where it still comes, times that look level are not.
std::string warming_text(const Measurement& measurement) {
  const auto &first = measurement.rounds.front().sensors, &last = measurement.rounds.back().sensors;
  if (!first || !last || !first->temperature || !last->temperature) return "";
  constexpr double kWorthSaying = 2.0;
  if (last->temperature->value() - first->temperature->value() < kWorthSaying) return "";
  return fmt::format(", while the chip warmed from {:.0f} to {:.0f} °C", first->temperature->value(),
                     last->temperature->value());
}

}  // namespace

std::vector<Finding> find_no_steady_state(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (!measurement.steadiness || measurement.steadiness->verdict == Steadiness::Verdict::steady) continue;
    const Steadiness& steadiness = *measurement.steadiness;
    const double change = change_over_record(round_times(measurement.rounds));
    Finding finding;
    finding.id = "no_steady_state";
    finding.headline =
        fmt::format("no steady state within {} of sustained work", time_text(steadiness.watched));
    finding.sentence = fmt::format("No steady state within {} of sustained work ({}): it {}{}.",
                                   time_text(steadiness.watched), conditions_text(measurement.conditions),
                                   what_happened(measurement), warming_text(measurement));
    finding.remedy = remedy_of(steadiness.verdict);
    finding.evidence = {{"verdict", std::string(to_string(steadiness.verdict))},
                        evidence("watched", steadiness.watched),
                        evidence_ratio("time_change", change)};
    finding.places = places_of(rounds_unsettled(measurement), measurement, result);
    candidates.push_back({std::abs(change), measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
