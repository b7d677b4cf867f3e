// Bursts whose level moves over the record: the median then depends on when one stops.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/places.hpp"
#include "finding/series.hpp"

namespace jitterscope {

std::vector<Finding> find_drift(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.conditions.load != Load::burst) continue;
    const std::optional<double> change = drift_of(measurement);
    if (!change) continue;
    Finding finding;
    finding.id = "drift";
    finding.headline = fmt::format("the time moved by {} in the course of the rounds", change_text(*change));
    finding.sentence = fmt::format("The time moved by {} from the first to the last third of the rounds ({})",
                                   change_text(*change), conditions_text(measurement.conditions));
    finding.evidence = {evidence_ratio("time_change", *change), evidence("time", measurement.time.median)};
    if (const auto clocks = round_clocks(measurement.rounds)) {
      const double clock_change = change_over_record(*clocks);
      finding.sentence +=
          fmt::format("; the {} moved by {}", clock_word(context.on_gpu), change_text(clock_change));
      finding.evidence.push_back(evidence_ratio("clock_change", clock_change));
    }
    finding.sentence += ".";
    finding.remedy =
        "Measure for longer, until the level holds, or compare only by alternating the two things.";
    finding.places = places_of(outer_thirds(measurement), measurement, result);
    candidates.push_back({std::abs(*change), measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
