// Host scheduling. Intervention: the launching thread stays on one core, then shares it with a thread of ours
// that computes for a part of the time; both end behind the loop. Signature: launches that the host makes too
// late, so that the queue runs empty; none where launches are made far ahead. Confused with: a slower host.
#include <fmt/format.h>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor host_scheduling(const FactorContext& context) {
  Factor factor{
      .id = "host_scheduling",
      .cause = "another thread on the core that launches",
      .usual = "any core, no neighbour",
      .doses_grow = true,
      .remedy = "Give the launching thread a core of its own (taskset), and keep other threads off it.",
      .when_time_is_short = WhenShort::leave_out};
  for (const double share : {0.0, 0.25, 0.5, 1.0}) {
    const std::string text =
        share == 0.0 ? "on one core" : fmt::format("shared core, {:.0f} % busy", share * 100.0);
    factor.doses.push_back({text, [share](Treatment& treatment) { treatment.core_shared = share; }});
  }
  if (context.device.capabilities.is_simulated) factor.not_available = "a simulated host has no scheduler";
  return factor;
}

}  // namespace jitterscope::explain::factors
