// Somebody else on the device takes time, cache, memory bandwidth and watts: as the device says it, and as
// slopes show it.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/places.hpp"
#include "finding/series.hpp"

namespace jitterscope {
namespace {

struct NegativeSlopes {
  std::int64_t slopes = 0, negative = 0, negative_rounds = 0;
  Nanoseconds lowest = {};
  std::vector<std::size_t> rounds = {};  // that have one
};

// Further below zero than the instrument itself may be off: of a slice of 2 ms each of 80 to 800 launches has
// 2.5 to 25 µs.
NegativeSlopes negative_slopes(const Measurement& measurement) {
  const Nanoseconds off = std::max(measurement.constant.uncertainty, microseconds(1));
  const std::span<const Round> settled = settled_rounds(measurement);
  const std::size_t first = measurement.rounds.size() - settled.size();
  NegativeSlopes found;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const std::vector<Nanoseconds>& slopes = settled[i].launches;
    const auto negative =
        std::ranges::count_if(slopes, [&](Nanoseconds slope) { return slope < Nanoseconds(0) - off; });
    found.slopes += std::ssize(slopes);
    found.negative += negative;
    if (negative == 0) continue;
    found.rounds.push_back(first + i);
    found.lowest = std::min(found.lowest, std::ranges::min(slopes));
    if (settled[i].time() <= Nanoseconds(0)) ++found.negative_rounds;
  }
  return found;
}

std::string rounds_text(std::int64_t rounds) {
  if (rounds == 0) return {};
  return fmt::format(" {} even in {} median.",
                     rounds == 1 ? "1 round is below zero" : fmt::format("{} rounds are below zero", rounds),
                     rounds == 1 ? "its" : "their");
}

}  // namespace

std::vector<Finding> find_device_taken(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.instrument != Instrument::graph) continue;
    const NegativeSlopes found = negative_slopes(measurement);
    if (found.negative == 0) continue;
    const double share = static_cast<double>(found.negative) / static_cast<double>(found.slopes);
    Finding finding;
    finding.id = "other_process";
    finding.headline =
        fmt::format("something else took the device within rounds: {} of {} slopes are below zero",
                    found.negative, found.slopes);
    finding.sentence = fmt::format(
        "{} of {} slopes between two recordings are below zero, down to {} ({}): something else took the device "
        "while the shorter recording ran, and where it did while the longer one ran, a slope is too long.{} The "
        "median is of all of them; percentiles and modes are without those below zero.",
        found.negative, found.slopes, time_text(found.lowest), conditions_text(measurement.conditions),
        rounds_text(found.negative_rounds));
    finding.remedy =
        "Measure when the device is free; until then take no number but the median, and that as an upper bound.";
    finding.evidence = {
        evidence_count("negative_slopes", found.negative), evidence_count("slopes", found.slopes),
        evidence_count("negative_rounds", found.negative_rounds), evidence("lowest", found.lowest)};
    finding.places = places_of(found.rounds, measurement, result);
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

std::vector<Finding> find_other_process(const FindingContext& context) {
  if (!context.on_gpu || !context.other_processes || context.other_processes->empty()) return {};
  const std::vector<std::string>& processes = *context.other_processes;
  Finding finding;
  finding.id = "other_process";
  finding.headline = fmt::format("other processes use {}: {}", context.device.id, processes.size());
  finding.sentence = fmt::format(
      "{} other {} {} use of {}: {}.", processes.size(), processes.size() == 1 ? "process" : "processes",
      processes.size() == 1 ? "makes" : "make", context.device.id, joined(processes));
  finding.remedy =
      "Measure when they are done or on another device; until then take all times as upper bounds.";
  finding.evidence = {evidence_count("processes", static_cast<std::int64_t>(processes.size())),
                      {"process_list", joined(processes)}};
  return {finding};
}

}  // namespace jitterscope
