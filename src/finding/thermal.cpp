// The clock held down by heat, or by the brake of a power supply or board.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/places.hpp"
#include "finding/throttling.hpp"

namespace jitterscope {
namespace {

// The counters of a cool device do not move at all; below these, it is one blip and no regime.
constexpr double kActiveShare = 0.001, kActiveRounds = 0.1;

std::optional<Celsius> hottest(const Measurement& measurement) {
  std::optional<Celsius> highest;
  for (const Round& round : measurement.rounds) {
    if (!round.sensors || !round.sensors->temperature) continue;
    highest = std::max(highest.value_or(*round.sensors->temperature), *round.sensors->temperature);
  }
  return highest;
}

Finding describe(const Measurement& measurement, const Throttling& heat, const FindingContext& context) {
  const std::optional<Celsius> temperature = hottest(measurement);
  Finding finding;
  finding.id = "thermal";
  finding.headline = fmt::format("heat or a hardware brake held the {} down in {} of the rounds",
                                 clock_word(context.on_gpu), percent_text(heat.rounds));
  finding.sentence =
      fmt::format("Heat or a hardware brake held the {} down ({}): ", clock_word(context.on_gpu),
                  conditions_text(measurement.conditions));
  if (heat.share > 0.0) finding.sentence += fmt::format("for {} of the time, ", percent_text(heat.share));
  finding.sentence += fmt::format("in {} of the rounds", percent_text(heat.rounds));
  if (temperature) finding.sentence += fmt::format(", at up to {:.0f} °C", temperature->value());
  if (measurement.clock) {
    finding.sentence += fmt::format(", which ran at {}", clock_text(measurement.clock->median));
  }
  finding.sentence += ".";
  finding.remedy =
      "Let the device cool or improve its cooling, then measure again; these times hold only while it is "
      "this hot.";
  finding.evidence = {evidence("throttled_thermal", heat.held), evidence_ratio("throttled_share", heat.share),
                      evidence_ratio("rounds_throttled", heat.rounds)};
  if (temperature) finding.evidence.push_back(evidence("temperature", *temperature));
  if (measurement.clock) finding.evidence.push_back(evidence("clock", measurement.clock->median));
  return finding;
}

}  // namespace

std::vector<Finding> find_thermal(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    const Throttling heat = throttling(measurement.rounds, ThrottleCause::heat);
    if (heat.share <= kActiveShare && heat.rounds < kActiveRounds) continue;
    Finding finding = describe(measurement, heat, context);
    finding.places = places_of(heat.affected, measurement, result);
    candidates.push_back({std::max(heat.share, heat.rounds), measurement.conditions, std::move(finding)});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
