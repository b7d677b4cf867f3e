// Launches that no gate can hold: they wait for the GPU before they return, or are of more kernels than its
// queue holds. And single rounds that were lost, since a launch held the host only once.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {

std::vector<Finding> find_waits_for_gpu(const Result& result, const FindingContext& context) {
  if (!result.waits_for_device || result.measurements.empty()) return {};
  // Of a copy from pageable memory the cause is known better.
  if (!find_pageable(result, context).empty()) return {};
  const Nanoseconds time = result.measurements.front().time.median;
  Finding finding;
  finding.id = "waits_for_gpu";
  finding.headline = "each launch waits for the GPU: the host's work is in these times";
  finding.sentence = fmt::format(
      "A launch waits for the GPU before it returns, or fills its queue (the call takes {}), so no gate could hold it and the queue "
      "was not saturated: what the host does within a launch is in its time of {}.",
      time_text(result.launch_cost), time_text(time));
  finding.remedy =
      "Quote it as what a program sees; --kernels shows what the GPU itself works at, and --instrument cupti "
      "times from the first kernel to the last.";
  finding.evidence = {evidence("launch_cost", result.launch_cost), evidence("time", time)};
  return {finding};
}

std::vector<Finding> find_lost_rounds(const Result& result, const FindingContext& /*context*/) {
  std::int64_t lost = 0, kept = 0;
  for (const Measurement& measurement : result.measurements) {
    lost += measurement.lost_rounds;
    kept += std::ssize(measurement.rounds);
  }
  if (lost == 0) return {};
  Finding finding;
  finding.id = "lost_rounds";
  finding.headline = fmt::format("{} of {} rounds were lost", lost, lost + kept);
  finding.sentence = fmt::format(
      "{} of {} rounds are not in the times: a launch did not return while the queue was held, as one does that "
      "loads a kernel, compiles, tunes or allocates, or the host was stopped.",
      lost, lost + kept);
  finding.remedy = "Call the function more often before it is measured, so that nothing is left to load.";
  finding.evidence = {{"lost", lost}, {"rounds", kept}};
  return {finding};
}

}  // namespace jitterscope
