// An instrument whose own uncertainty is not small against the time: a narrow interval then says how well the
// time repeats, not how near it is to the truth.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

std::vector<Finding> find_instrument(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.time.median <= Nanoseconds(0)) continue;
    const Nanoseconds uncertainty = instrument_error(measurement);
    const double share = uncertainty / measurement.time.median;
    if (!(share > measurement.precision_asked)) continue;
    Finding finding;
    finding.id = "instrument";
    finding.headline = fmt::format("the instrument is good to ±{}, {} of the time",
                                   time_text(uncertainty, 0.05), percent_text(share));
    finding.sentence = fmt::format(
        "The instrument itself ({}) is known to ±{}, {} of the {} measured ({}): the interval says how well "
        "the time repeats, not how near it is to the truth.",
        to_string(measurement.instrument), time_text(uncertainty, 0.05), percent_text(share),
        time_text(measurement.time.median), conditions_text(measurement.conditions));
    finding.remedy =
        "Compare times this short only where the same instrument read them; 'jitterscope methods' shows what "
        "others read.";
    finding.evidence = {evidence("uncertainty", uncertainty), evidence("time", measurement.time.median),
                        evidence_ratio("uncertainty_share", share)};
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
