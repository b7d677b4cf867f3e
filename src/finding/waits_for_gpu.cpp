// A launch that waits for the GPU before it returns, or of more kernels than its queue holds: no gate can
// hold it.
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

}  // namespace jitterscope
