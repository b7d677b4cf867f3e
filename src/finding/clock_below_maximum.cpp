// A burst does not run at the clock that the data sheet promises; said where no sensor explains it already.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/throttling.hpp"

namespace jitterscope {
namespace {

bool is_explained(const Measurement& measurement) {
  return throttling(measurement.rounds, ThrottleCause::power).rounds > 0.0 ||
         throttling(measurement.rounds, ThrottleCause::heat).rounds > 0.0;
}

}  // namespace

std::vector<Finding> find_clock_below_maximum(const Result& result, const FindingContext& context) {
  // Large matrix products were seen at 81 % in bursts, copies at 100 %; 90 % tells the regimes apart.
  constexpr double kLowShare = 0.9;
  if (!context.on_gpu || !context.device.maximum_clock) return {};
  const Hertz maximum = *context.device.maximum_clock;
  std::vector<Candidate> candidates;
  for (const Measurement& burst : result.measurements) {
    if (burst.conditions.load != Load::burst || !burst.clock || is_explained(burst)) continue;
    if (burst.conditions.locked_clock) continue;  // the user chose it, and knows it
    const double share = burst.clock->median / maximum;
    if (!(share < kLowShare)) continue;
    Finding finding;
    finding.id = "clock_below_maximum";
    finding.headline = fmt::format("bursts ran at {}, the maximum is {}", clock_text(burst.clock->median),
                                   clock_text(maximum));
    finding.sentence = fmt::format(
        "A burst is not maximum clock: it ran at {}, {} of the {} that the device states, and another "
        "run may meet another clock.",
        clock_text(burst.clock->median), percent_text(share), clock_text(maximum));
    finding.sentence += reference_clock_text(burst);
    finding.remedy =
        "Quote the clock beside the time, and compare with other runs at equal clock (--reference-clock) or by "
        "cycles.";
    finding.evidence = {evidence("burst_clock", burst.clock->median), evidence("maximum_clock", maximum),
                        evidence_ratio("clock_share", share)};
    const double follows = burst.at_reference_clock ? burst.at_reference_clock->clock_share : 1.0;
    candidates.push_back({(1.0 / share - 1.0) * follows, burst.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
