// The host needs longer to launch than the device to run: in a program that launches eagerly, the GPU waits.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {

std::vector<Finding> find_launch_bound(const Result& result, const FindingContext& context) {
  // On a CPU the launch call is the work itself.
  if (!context.on_gpu || result.launch_cost <= Nanoseconds(0)) return {};
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    const Nanoseconds time = measurement.time.median;
    // An eager time holds the launch cost already, and says nothing of how long the GPU works.
    if (measurement.conditions.queue == QueueMode::eager || time <= Nanoseconds(0)) continue;
    const double factor = result.launch_cost / time;
    if (!(factor > 1.0)) continue;
    Finding finding;
    finding.id = "launch_bound";
    finding.headline =
        fmt::format("the host needs {} to launch {} of work", time_text(result.launch_cost), time_text(time));
    finding.sentence = fmt::format(
        "Launching takes the host {}, {:.2f} times the {} that the GPU works ({}): in a program that "
        "launches eagerly the GPU waits.",
        time_text(result.launch_cost), factor, time_text(time), conditions_text(measurement.conditions));
    finding.remedy = "Replay it from a CUDA graph, or do more per launch: a larger batch, fused operations.";
    finding.evidence = {evidence("launch_cost", result.launch_cost), evidence("time", time),
                        evidence_ratio("launch_cost_over_time", factor)};
    candidates.push_back({factor - 1.0, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
